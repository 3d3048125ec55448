"""Ports for servers that must be told theirs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from itertools import count

FIRST, NUMBER = 10_000, 20_000
"""Below the ports that systems hand out, so nobody takes one between the choice and the start of the server."""
_PER_PROCESS = 61
_numbers = count(os.getpid() * _PER_PROCESS)


def free_port() -> int:
    """A free port on 127.0.0.1, another one each time and in each process."""
    for number in _numbers:
        port = FIRST + number % NUMBER
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")
