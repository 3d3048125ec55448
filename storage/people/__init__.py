"""What is kept of each person: role, preferences, linked platforms, pairings and accounts with other services."""
