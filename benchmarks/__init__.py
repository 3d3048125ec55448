"""Compares the bot with a minimal bot through the same servers in one run: `python -m benchmarks`."""
