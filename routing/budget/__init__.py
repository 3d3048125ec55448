"""Spending limits, checked before each call. US dollars as Decimal."""
