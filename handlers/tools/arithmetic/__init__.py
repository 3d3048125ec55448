"""Arithmetic as people write it: exact, with units, and bounded before anything is carried out."""
