"""Chat platforms, one package each: SDK objects to and from our messages."""
