"""What is learned from how people use tools and tiers."""
