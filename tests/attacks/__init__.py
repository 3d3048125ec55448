"""Attacks through the whole bot. `.ci/run` runs them as a separate suite."""
