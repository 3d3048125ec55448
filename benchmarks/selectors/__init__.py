"""Ours beside simpler ways to choose tools, on the same queries in one run: `python -m benchmarks.selectors`."""
