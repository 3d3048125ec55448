"""`tierbot setup`: asks for tokens, keys and the owner, checks each, and saves them."""
