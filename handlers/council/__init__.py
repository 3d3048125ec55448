"""Councils for people and for models: who sits, what it costs, its progress, its votes."""
