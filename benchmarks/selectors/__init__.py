"""Our tool selector compared with simpler ones, on the same queries in one run: `python -m benchmarks.selectors`."""
