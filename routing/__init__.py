"""The inside: decides which model answers and why, then does it. Imports nothing else of ours."""
