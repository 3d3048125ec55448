"""The process and the chat platforms: the outside."""
