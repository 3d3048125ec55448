"""The commands, where a story is not enough."""
