"""Unsolicited messages to owners and other people."""
