"""Long lists, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_PAGE = 1_000_000


@dataclass(frozen=True, slots=True)
class Pager:
    """Page `number`, from 1, of a list with `size` entries on each page and `total` entries in all."""

    number: int
    size: int
    total: int = 0

    @property
    def offset(self) -> int:
        """How many entries are on the pages before."""
        return self.size * (self.number - 1)

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return -(-self.total // self.size)

    def of(self, total: int) -> Pager:
        """The same page, once the length of the list is known."""
        return replace(self, total=total)
