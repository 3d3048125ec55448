"""Reminders and scheduled prompts: when they are due, and what people say about time."""
