"""Alembic revisions. They run at start, after an automatic backup."""
