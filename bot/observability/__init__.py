"""Logs, traces and the facts about the process."""
