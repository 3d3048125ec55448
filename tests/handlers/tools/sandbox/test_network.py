"""Attacks over the network and through sockets. Each is also tried where it must succeed, so that a broken attack can't
pass."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.handlers.tools.sandbox.outside import OPEN
from tests.handlers.tools.sandbox.test_sandbox import made, python

pytestmark = pytest.mark.system


@asynccontextmanager
async def listening(address: str | tuple[str, int]) -> AsyncIterator[tuple[socket.socket, list[str]]]:
    """A server on this machine, and the clients that reached it."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    listener, visits = socket.socket(family), list[str]()
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)

    async def answer() -> None:
        while True:
            visitor, _ = await asyncio.get_running_loop().sock_accept(listener)
            visits.append("visit")
            visitor.close()

    task = asyncio.create_task(answer())
    try:
        yield listener, visits
    finally:
        task.cancel()
        await asyncio.wait({task})
        listener.close()


CALL = """
import socket, sys
family = socket.AF_INET if sys.argv[1].isdigit() else socket.AF_UNIX
address = ("127.0.0.1", int(sys.argv[1])) if sys.argv[1].isdigit() else "\\0" + sys.argv[1]
try:
    caller = socket.socket(family)
    caller.connect(address)
    print("connected", caller.recv(1))
except OSError as error:
    print(error.strerror)
"""


async def test_host_servers_are_unreachable(tmp_path: Path) -> None:
    async with listening(("127.0.0.1", 0)) as (listener, visits):
        port = str(listener.getsockname()[1])
        assert (await python(await made(tmp_path), CALL, port)).output == "Connection refused\n"
        assert visits == []
        assert (await python(await made(tmp_path, OPEN), CALL, port)).output == "connected b''\n"
        assert visits == ["visit"]


async def test_abstract_sockets_are_unreachable(tmp_path: Path) -> None:
    name = f"tierbot-test-{os.getpid()}"
    async with listening("\0" + name) as (_, visits):
        assert (await python(await made(tmp_path), CALL, name)).output == "Connection refused\n"
        assert visits == []
        assert (await python(await made(tmp_path, OPEN), CALL, name)).output == "connected b''\n"


async def test_the_only_interface_is_a_private_loopback(tmp_path: Path) -> None:
    code = """
import socket
print([name for _, name in socket.if_nameindex()])
ear = socket.create_server(("127.0.0.1", 0)); print(bool(socket.create_connection(ear.getsockname())))
try:
    socket.create_connection(("1.1.1.1", 53), timeout=5)
except OSError as error:
    print(error.strerror)
for family in (40, 38, 17):
    try:
        socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        print(error.strerror)
"""
    ran = await python(await made(tmp_path), code)
    unsupported = "Address family not supported by protocol\n"
    assert ran.output == "['lo']\nTrue\nNetwork is unreachable\n" + 3 * unsupported
