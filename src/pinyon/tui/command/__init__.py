"""Slash commands of the interactive mode, a file for each group."""
