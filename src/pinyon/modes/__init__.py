"""Ways to run an agent without a screen: print, JSON stream."""
