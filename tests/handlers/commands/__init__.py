"""Tests of commands beyond the stories."""
