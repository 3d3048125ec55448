"""The tools, one test module each."""
