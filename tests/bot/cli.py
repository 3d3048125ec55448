"""The command line in a separate process, and a provider with a fixed answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from tests.servers.listener import listening
from tests.stories.forked_cli import forked

ROOT = Path(__file__).resolve().parents[2]


async def tierbot(workspace: Path, *arguments: str, **environ: str) -> tuple[int, str, str]:
    """Runs the command line in a separate process and environment. Returns exit code, stdout and stderr."""
    async with forked(*arguments, env={"PATH": "/usr/bin:/bin", "WORKSPACE": str(workspace), **environ}) as process:
        code, stdout, stderr = await process.ended()
    assert "Traceback" not in stderr
    return code, stdout, stderr


def configured(workspace: Path, base: str, provider: str = "openai") -> Path:
    """A workspace with a provider at `base`."""
    file = workspace / "preferences" / "runtime-config.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"llm": {"providers": {provider: {"baseUrl": base}}}}), encoding="utf-8")
    return workspace


@asynccontextmanager
async def always(status: int) -> AsyncIterator[str]:
    """A provider that always answers with `status`."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status)

    async with listening(answer) as base:
        yield f"{base}/v1"
