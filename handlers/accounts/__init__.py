"""Accounts with other services that a person connects with /connect."""
