"""When a model fails: who is left alone, who is asked next, how many at a time, and what of it survives a restart."""
