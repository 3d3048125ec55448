"""Known models: names, sizes, context windows, discovery."""
