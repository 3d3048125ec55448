"""A second look at answers of the balanced tier."""
