"""Colours: reading and mixing them, built-in tables, what the terminal tells, and which theme is used."""
