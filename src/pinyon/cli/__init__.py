"""The command line: arguments, start-up and sub-commands."""
