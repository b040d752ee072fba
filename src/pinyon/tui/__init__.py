"""The interactive mode: what a user meets who types `pinyon`. Nothing outside of this room imports it at start."""
