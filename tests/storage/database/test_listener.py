"""The connection that hears notifications."""

from __future__ import annotations

import socket

import pytest

from storage.database import parse_url
from storage.database.listener import Listener
from tests.polling import until

pytest.importorskip("asyncpg")


async def test_a_failing_connection_is_logged_without_the_password(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without it there are no heartbeats, so nothing would be sent, although the pool works."""
    monkeypatch.setattr("storage.database.listener.PAUSE_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    listener = Listener(parse_url(f"postgresql://ann:hidden@127.0.0.1:{port}/name"), lambda: None)
    listener.start()
    await until(lambda: "No connection for notifications and heartbeats" in caplog.text)
    await listener.close()
    assert "hidden" not in caplog.text
