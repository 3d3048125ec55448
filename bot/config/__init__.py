"""Settings, environment variables and the workspace."""
