"""Pictures and speech: models that make them, and those that transcribe."""
