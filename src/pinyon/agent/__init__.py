"""The agent: the loop that alternates model answers and tool calls, and what it needs to know of tools."""
