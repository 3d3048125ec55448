"""The bot as a systemd service: its unit, installing it, and its state in words."""
