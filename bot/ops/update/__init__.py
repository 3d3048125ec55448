"""`tierbot update`: the newest version, or the old one again if it does not get healthy."""
