"""The command line as a process of its own, and a provider that says one thing."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web

from tests.stories import preloaded

ROOT = Path(__file__).resolve().parents[2]


async def tierbot(workspace: Path, *arguments: str, **environ: str) -> tuple[int, str, str]:
    """Run it in a process of its own, with an environment of its own; exit code, output, complaints."""
    environment = {"PATH": "/usr/bin:/bin", "WORKSPACE": str(workspace), **environ}
    with TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        given = (arguments, environment, 0o022, (Path(os.devnull), output, errors))
        process = preloaded.forking.Process(target=preloaded.run, args=given)
        await asyncio.to_thread(process.start)
        await asyncio.to_thread(process.join, 60)
        assert process.exitcode is not None
        said, complaint = [await asyncio.to_thread(file.read_text, "utf-8") for file in (output, errors)]
    assert "Traceback" not in complaint
    return process.exitcode, said, complaint


def configured(workspace: Path, base: str, provider: str = "openai") -> Path:
    """A workspace whose provider is at `base`."""
    file = workspace / "preferences" / "runtime-config.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"llm": {"providers": {provider: {"baseUrl": base}}}}), encoding="utf-8")
    return workspace


@asynccontextmanager
async def always(status: int) -> AsyncIterator[str]:
    """A provider that answers everything with `status`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
