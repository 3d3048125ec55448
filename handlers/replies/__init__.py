"""Texts for people: answers, footers, buttons, reports."""
