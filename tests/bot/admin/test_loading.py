"""What is imported at the first use."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from types import ModuleType

import httpx
import pytest

from bot.admin import app, listener
from bot.admin.loading import Loading
from tests.bot.admin.conftest import serving


async def test_it_is_made_once_for_all_who_wait() -> None:
    numbers = count(1)
    loading = Loading(lambda: next(numbers))
    first, second = await asyncio.gather(loading.get(), loading.get())
    assert (first, second) == (1, 1)
    assert await loading.get() == 1


async def test_after_an_error_the_next_use_tries_again() -> None:
    tries: list[int] = []

    def make() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return "made"

    loading = Loading(make)
    failed = await asyncio.gather(loading.get(), loading.get(), return_exceptions=True)
    assert [type(each) for each in failed] == [OSError, OSError]
    assert await loading.get() == "made"


@pytest.mark.parametrize(("module", "name", "path"), [(listener, "_load", "/healthz"), (app, "_build", "/sign-in")])
async def test_a_failed_import_is_tried_again(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, path: str
) -> None:
    right = getattr(module, name)
    tries: list[int] = []

    def fails_once(*given: object) -> object:
        tries.append(1)
        if len(tries) == 1:
            raise ImportError("no memory left")
        return right(*given)

    monkeypatch.setattr(module, name, fails_once)
    async with serving(in_memory / "workspace") as served:
        try:
            failed = await served.http.get(path)
            assert (failed.status_code, "Try again." in failed.text) == (500, True)
        except httpx.TransportError:
            assert module is listener
        assert (await served.http.get(path)).status_code == 200
