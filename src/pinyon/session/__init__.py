"""Conversations as trees of entries in plain JSONL files."""
