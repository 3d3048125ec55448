"""The bot beside the least possible bot, through the same servers, in one run: `python -m benchmarks`."""
