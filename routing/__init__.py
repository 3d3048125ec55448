"""Decides which model answers and why, then calls it. Imports none of the project's other packages."""
