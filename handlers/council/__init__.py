"""Councils for people and models: members, cost, progress and votes."""
