"""Run the server by hand: `python -m tests.servers.model --port 8082`, for demonstrations, benchmarks and other
clients."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from dataclasses import replace

from tests.servers.model.request import ModelRequest
from tests.servers.model.server import ModelServer


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.model", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8082, help="0 takes a free one (8082)")
    parser.add_argument("--text", help="what every answer says; left out, an echo")
    parser.add_argument("--chunks", type=int, default=8, help="pieces of a streamed answer (8)")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between them (0)")
    parser.add_argument("--first-delay", type=float, default=0.0, help="seconds before the answer (0)")
    parser.add_argument("--keep", type=int, default=1000, help="requests kept in the journal (1000)")
    parser.add_argument("--quiet", action="store_true", help="print no line for each request")
    return parser.parse_args(argv)


async def serve(given: argparse.Namespace) -> None:
    """Serves until interrupted; the first line printed is the root."""
    server = ModelServer(given.port, given.host, keep=given.keep)
    server.pace = replace(server.pace, chunks=given.chunks, delay=given.delay, first_delay=given.first_delay)
    if given.text is not None:
        server.default = lambda _: str(given.text)
    if not given.quiet:
        server.on_finish = tell
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stopped.set)
    async with server:
        print(server.root, flush=True)
        await stopped.wait()


def tell(request: ModelRequest) -> None:
    print(request.line(), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments()))
