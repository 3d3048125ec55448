"""Pages of long lists."""

from __future__ import annotations

import pytest

from bot.admin.paging import Pager


@pytest.mark.parametrize(("total", "pages"), [(0, 0), (1, 1), (25, 1), (26, 2), (10_000, 400)])
def test_the_last_page_may_be_short(total: int, pages: int) -> None:
    assert Pager(1, 25).of(total).pages == pages


def test_a_page_begins_after_those_before_it() -> None:
    assert (Pager(1, 25).offset, Pager(3, 25).offset) == (0, 50)
