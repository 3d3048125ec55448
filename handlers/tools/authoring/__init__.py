"""The API for writing tools, and their validation before a model sees them."""
