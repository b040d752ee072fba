"""RPC mode: commands as JSON lines on standard input, responses and events as JSON lines on standard output."""
