"""`make model`: resumes, verifies, and sets the four tiers' pools."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops.download import WEIGHTS, Weights, fetch, fetch_model, set_tiers
from routing.errors import ConfigError

DATA = b"GGUF" + bytes(range(256)) * 20
SPEC = Weights("tiny", "Some/Tiny-GGUF", "abc", "tiny.gguf", len(DATA), hashlib.sha256(DATA).hexdigest(), "MIT")


class Hub:
    """Serves the file by ranges; `sends` is the content it has."""

    def __init__(self) -> None:
        self.sends = DATA
        self.ranges: list[str] = []

    async def __call__(self, request: web.Request) -> web.Response:
        asked = request.headers.get("Range", "")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-") or 0)
        return web.Response(body=self.sends[start:], status=206 if asked else 200)


@pytest.fixture
async def hub() -> AsyncIterator[tuple[Hub, str]]:
    made, app = Hub(), web.Application()
    app.router.add_get("/Some/Tiny-GGUF/resolve/abc/tiny.gguf", made)
    async with TestServer(app) as server:
        yield made, str(server.make_url("/"))


def quiet(done: int, size: int) -> None:
    assert 0 < done <= size


async def test_a_download_resumes(hub: tuple[Hub, str], tmp_path: Path) -> None:
    made, base = hub
    made.sends = DATA[:1000]
    with pytest.raises(ConfigError, match="it resumes where it stopped"):
        await fetch(SPEC, tmp_path, base, httpx.AsyncClient, quiet)
    made.sends = DATA
    shown: list[tuple[int, int]] = []
    fetched = await fetch(SPEC, tmp_path, base, httpx.AsyncClient, lambda done, size: shown.append((done, size)))
    assert fetched.read_bytes() == DATA
    assert shown[-1] == (len(DATA), len(DATA))
    assert made.ranges == ["", "bytes=1000-"]
    await fetch(SPEC, tmp_path, base, httpx.AsyncClient, quiet)
    assert len(made.ranges) == 2, "a complete file is not downloaded again"
    assert os.listdir(tmp_path) == ["tiny.gguf"]


async def test_a_wrong_checksum_is_refused(hub: tuple[Hub, str], tmp_path: Path) -> None:
    made, base = hub
    made.sends = b"x" * len(DATA)
    with pytest.raises(ConfigError, match="arrived damaged"):
        await fetch(SPEC, tmp_path, base, httpx.AsyncClient, quiet)
    assert os.listdir(tmp_path) == []


async def test_an_unreachable_hub_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="The download stopped"):
        await fetch(SPEC, tmp_path, "http://127.0.0.1:9", httpx.AsyncClient, quiet)


def test_pools_are_written_for_tiers_without_one(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("OPENAI_API_KEY=x\n# TIER_DEEP_POOL=no\nTIER_SMART_POOL=openai/gpt-5.1", "utf-8")
    lines = set_tiers(env, "local/tiny")
    assert lines[0] == "balanced: local/tiny"
    assert "unchanged in" in lines[1]
    pools = load({"WORKSPACE": str(tmp_path)}).settings.pools
    assert pools == {
        "balanced": ("local/tiny",), "smart": ("openai/gpt-5.1",), "coding": ("local/tiny",), "deep": ("local/tiny",),
    }  # fmt: skip
    assert env.stat().st_mode & 0o777 == 0o600
    assert "OPENAI_API_KEY=x" in env.read_text("utf-8")


def test_a_pool_is_read_as_the_bot_reads_it(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text(
        "A='\nTIER_DEEP_POOL=no/model\n'\nexport tier_smart_pool='${X}/model' # mine\nTIER_CODING_POOL=\n", "utf-8"
    )
    assert set_tiers(env, "local/tiny") == [
        "balanced: local/tiny",
        f"smart: ${{X}}/model (unchanged in {env})",
        "coding: local/tiny",
        "deep: local/tiny",
    ]


def test_an_unknown_model_lists_the_known_ones(tmp_path: Path) -> None:
    environment = load({"WORKSPACE": str(tmp_path)})
    with pytest.raises(ConfigError, match=WEIGHTS[0].name):
        fetch_model(environment, Workspace(environment), "huge")
