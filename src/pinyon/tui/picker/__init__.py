"""Lists that choose and change things: models, sessions, places in a tree, settings, themes, resources."""
