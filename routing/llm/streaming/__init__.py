"""Reads the stream of a model: text, thoughts and tool calls, as they come."""
