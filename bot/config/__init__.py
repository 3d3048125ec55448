"""The settings, the configuration and the workspace."""
