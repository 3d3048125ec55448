"""Alembic revisions, run at start after an automatic backup."""
