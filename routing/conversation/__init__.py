"""What a model is told of a conversation, and how it is kept inside a context window."""
