"""Exact arithmetic with units of measurement, bounded in time and size."""
