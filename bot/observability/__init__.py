"""Logs, traces and the health of the process."""
