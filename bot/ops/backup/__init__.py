"""Backups: one archive of the database and the workspace, and their restoration."""
