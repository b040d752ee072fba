"""Execution environments: where files are read and commands run."""
