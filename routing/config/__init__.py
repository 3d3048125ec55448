"""The owner's configuration: `runtime-config.json`, skills, and their checks."""
