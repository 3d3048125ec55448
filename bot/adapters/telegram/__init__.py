"""Telegram: the Bot API through python-telegram-bot's `Bot`, by polling or webhook."""
