"""What the owner runs beside the bot."""
