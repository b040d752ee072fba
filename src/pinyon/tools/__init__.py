"""The built-in tools: read, bash, powershell, edit, write, grep, find, ls."""
