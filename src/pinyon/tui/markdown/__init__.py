"""Markdown as rows of cells, whole and while it is being written."""
