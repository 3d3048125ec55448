"""Tests on each event loop."""
