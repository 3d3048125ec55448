"""Access control: roles, pairing and account linking."""
