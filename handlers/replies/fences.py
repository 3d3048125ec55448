"""Code fences around text that may contain fences."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """Wraps the text in a fence longer than any fence in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{fence}{language}\n{text}\n{fence}"
