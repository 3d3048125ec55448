"""Markdown from a model to what a chat platform shows; pure functions."""
