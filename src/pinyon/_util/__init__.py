"""Small private building blocks that every room may use; each file holds one idea."""
