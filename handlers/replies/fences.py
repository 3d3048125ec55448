"""Markdown's fences around text that may have fences of its own."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """In a fence longer than any of its own."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{fence}{language}\n{text}\n{fence}"
