"""Handles one inbound message and produces the replies."""
