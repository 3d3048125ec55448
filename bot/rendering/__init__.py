"""Markdown to what a chat platform shows. Pure functions."""
