"""Which models there are, what is known of each, and which one serves a tier."""
