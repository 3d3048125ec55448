"""One test module per tool."""
