"""Who may talk to the bot, and how people get in."""
