"""The editor: the text being written and everything around it."""
