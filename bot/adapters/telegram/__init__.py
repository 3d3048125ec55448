"""Telegram: the Bot API through python-telegram-bot's `Bot`, polled or by webhook."""
