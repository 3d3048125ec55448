"""The clock that waits and deadlines use."""

from __future__ import annotations

import time

import pytest

from routing.types.deadline import steady_clock


def test_the_steady_clock_ignores_clock_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = steady_clock()
    began = clock()
    assert abs(began - time.time()) < 60
    for jump in (-7200.0, 7200.0):
        monkeypatch.setattr("routing.types.deadline.time.time", lambda jump=jump: began + jump)
        assert 0 <= clock() - began < 3600
