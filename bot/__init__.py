"""The process, the command line and the chat platforms."""
