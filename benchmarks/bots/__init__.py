"""The measured bots, and the loopback servers that they talk to."""
