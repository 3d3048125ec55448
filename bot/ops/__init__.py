"""Commands that the owner runs besides the bot."""
