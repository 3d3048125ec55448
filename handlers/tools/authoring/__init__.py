"""How a tool is written, and what it must be before a model is told of it."""
