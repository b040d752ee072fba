"""Pinyon: an AI coding agent for the terminal, for scripts and inside Python programs."""
