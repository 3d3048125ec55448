"""Which name is meant by a misspelled one."""

import pytest

from handlers.commands import COMMANDS
from routing.text import nearest

NAMES = [spec.name for spec in COMMANDS]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(("teir", "tier"), ("STATS", "status"), ("hlep", "help"), ("hist", "history"), ("budgt", "budget")),
        *(("setings", "settings"), ("tool", "tools"), ("modle", "model"), ("restry", "retry"), ("usages", "usage")),
        *((name, None) for name in ("exit", "foo", "quit", "t", "", "qqqqqqq", "reset", "weather", "x" * 5_000)),
    ],
)
def test_suggestions_are_only_near_names(typed: str, meant: str | None) -> None:
    assert nearest(typed, NAMES) == meant
