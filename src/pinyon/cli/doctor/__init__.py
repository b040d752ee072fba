"""`pinyon doctor`: what of a user's files is used, ignored or broken. Everything here only reads."""
