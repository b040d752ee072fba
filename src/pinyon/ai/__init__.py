"""Models: messages, stream events, wire APIs, credentials, registry and cost."""
