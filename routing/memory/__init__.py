"""Finds the remembered facts that a message is about."""
