"""What people see and say of a council: who would sit, what it takes, how it goes, how it voted."""
