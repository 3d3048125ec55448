"""Health, metrics and the admin page over HTTP."""
