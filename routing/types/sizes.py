"""Size classes of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Size = Literal["S", "M", "L", "XL"]


SizeSource = Literal["owner", "family", "name", "metadata", "default"]


SIZES: tuple[Size, ...] = get_args(Size)
"""Smallest first."""


@dataclass(frozen=True, slots=True)
class SizeDecision:
    """A size class with its source; `evidence` explains it to people."""

    size: Size
    source: SizeSource
    evidence: str

    @property
    def known(self) -> bool:
        """False if the size is unknown and the default applies."""
        return self.source != "default"
