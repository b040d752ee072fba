"""Sign-in flows, one module for each provider. A module that is left out takes its provider's sign-in with it."""
