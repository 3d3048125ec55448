"""Discord: the gateway and the API through discord.py."""
