"""What an error boundary logs, and what it lets through."""

from __future__ import annotations

import asyncio
import logging

import pytest

from routing.error_boundary import ErrorBoundary

log = logging.getLogger("test")


def test_an_error_is_logged_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    with ErrorBoundary(log, "Item %d failed", 3) as boundary:
        raise KeyError("a bug")
    assert isinstance(boundary.error, KeyError)
    assert caplog.messages == ["Item 3 failed"]
    assert "a bug" in caplog.text, "with its traceback"


def test_the_same_error_is_logged_again_only_after_a_success(caplog: pytest.LogCaptureFixture) -> None:
    boundary = ErrorBoundary(log, "Failed")
    for fault in ("a", "a", "b", "", "b"):
        with boundary:
            if fault:
                raise ValueError(fault)
        assert bool(boundary.error) == bool(fault)
    assert len(caplog.messages) == 3


async def test_a_cancelled_task_ends(caplog: pytest.LogCaptureFixture) -> None:
    async def wait() -> None:
        with ErrorBoundary(log, "Failed"):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert caplog.messages == []


async def test_the_cancellation_of_something_else_is_an_error() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    with ErrorBoundary(log, "Failed") as boundary:
        await gone
    assert isinstance(boundary.error, asyncio.CancelledError)


def test_shutdown_is_not_an_error() -> None:
    with pytest.raises(SystemExit), ErrorBoundary(log, "Failed"):
        raise SystemExit(1)
