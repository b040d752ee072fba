"""Wire APIs, one module each, imported when a model needs it."""
