"""One module or package for each chat platform: the SDK's objects ⇄ our messages, nothing more."""
