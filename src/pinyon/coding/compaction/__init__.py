"""Compaction: when a context grows too large, earlier history is replaced by a summary of it."""
