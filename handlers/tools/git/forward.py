"""Runs a program in the sandbox beside a port of 127.0.0.1 that leads to the Unix socket of the bot.

git can't use Unix sockets. Only the standard library is available here."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading

_CHUNK = 65536


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _connect(visitor: socket.socket, path: str) -> None:
    with visitor, socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        back = threading.Thread(target=_copy, args=(server, visitor), daemon=True)
        back.start()
        _copy(visitor, server)
        back.join()


def _accept(listener: socket.socket, path: str) -> None:
    while True:
        visitor, _ = listener.accept()
        threading.Thread(target=_connect, args=(visitor, path), daemon=True).start()


def main(port: int, path: str, command: list[str]) -> int:
    """The exit code of `command`."""
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    return subprocess.call(command)


if __name__ == "__main__":
    code = main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    os._exit(code if code >= 0 else 128 - code)
