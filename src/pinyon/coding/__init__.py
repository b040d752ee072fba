"""The coding agent put together: sessions that prompt, retry, compact and remember."""
