"""The Agent Client Protocol over standard input and output: editors use a session as their agent (extra `acp`)."""
