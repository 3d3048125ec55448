"""A model's size from Ollama: requested in the background, used only where nothing else is known, and never
blocking."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.catalog.ollama import (
    FAILED_SECONDS,
    KEPT_SECONDS,
    MAX_BYTES,
    MAX_SIZE_CHARACTERS,
    OLLAMA_DEFAULT,
    UNLOADED_SECONDS,
    KnownWindow,
    OllamaModels,
)
from routing.config import jsonfile
from routing.config.runtime import read_config, variable
from routing.policy.models import Models
from routing.types.llm import ProviderProfile
from routing.types.tiers import Tier
from tests.servers.model import ModelServer

KEY = "sk-ollama-1"
CATALOG = Catalog.load(BUNDLED)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Ollama:
    """Answers with `document` and records the requests."""

    def __init__(self, document: object = None, status: int = 200) -> None:
        self.document = {"details": {"parameter_size": "7.6B"}} if document is None else document
        self.status = status
        self.loaded = [{"name": "odd:latest", "context_length": 8192}]
        self.asked: list[httpx.Request] = []

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/api/ps"):
            return httpx.Response(200, json={"models": self.loaded})
        self.asked.append(request)
        content = self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()
        return httpx.Response(self.status, content=content, headers={"location": "http://elsewhere.test/"})


def direct() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False)


def profile(base: str | None = None, name: str = "ollama", key: str | None = None) -> ProviderProfile:
    return ProviderProfile(name, None, base, key, 60.0, variable(name))


async def stated_size(ollama: Ollama, base: str | None = None, model: str = "ollama/odd") -> str | None:
    """What is known after one request."""
    sizes = OllamaModels(Clock(), ollama.client)
    assert sizes.of(model, profile(base, key=KEY)) is None
    await sizes.ask()
    return sizes.of(model, profile(base, key=KEY))


def models_at(base: str, sizes: OllamaModels, pool: tuple[str, ...] = ("openai/gpt-5.1",)) -> Models:
    document = json.dumps({"llm": {"providers": {"ollama": {"baseUrl": base}}}})
    pools: dict[Tier, tuple[str, ...]] = {"balanced": pool}
    return Models(read_config(jsonfile.parse(document, "x.json"), {}, pools), CATALOG, sizes)


class Rounds(OllamaModels):
    """Sizes with rounds that a test can wait for."""

    def __init__(self) -> None:
        super().__init__(web=direct)
        self._ended = asyncio.Semaphore(0)

    async def ask(self) -> None:
        await super().ask()
        self._ended.release()

    async def ended(self) -> None:
        async with asyncio.timeout(60):
            await self._ended.acquire()


@pytest.mark.parametrize(
    ("base", "address"),
    [
        (None, "http://127.0.0.1:11434/api/show"),
        ("http://house:11434", "http://house:11434/api/show"),
        ("http://house:11434/v1", "http://house:11434/api/show"),
        ("http://house:11434/v1/", "http://house:11434/api/show"),
        ("https://house/ollama/v1", "https://house/ollama/api/show"),
    ],
)
async def test_ollama_is_called_at_its_root_url(base: str | None, address: str) -> None:
    ollama = Ollama()
    assert await stated_size(ollama, base, "ollama/hf.co/some/odd:latest") == "7.6B"
    (request,) = ollama.asked
    assert (request.method, str(request.url)) == ("POST", address)
    assert json.loads(request.content) == {"model": "hf.co/some/odd:latest"}


async def test_the_key_goes_to_the_configured_address_only() -> None:
    ollama = Ollama()
    await stated_size(ollama, "https://house")
    await stated_size(ollama)
    assert [request.headers.get("authorization") for request in ollama.asked] == [f"Bearer {KEY}", None]


@pytest.mark.parametrize(
    ("document", "size"),
    [
        ({"details": {"parameter_size": " 137M "}}, "137M"),
        ({"details": {"parameter_size": ""}, "model_info": {"general.parameter_count": 7615616512}}, "7615616512"),
        ({"details": None, "model_info": {"general.parameter_count": 5}}, "5"),
        ({"details": {"parameter_size": True}}, None),
        ({"details": {"parameter_size": "7" * (MAX_SIZE_CHARACTERS + 1)}}, None),
        ({"details": {"parameter_size": 10**400}}, None),
        ({"details": {}}, None),
        ({"details": [], "model_info": 5}, None),
        ([], None),
        (b"not json", None),
        (b"1" * 5000, None),
        (b"[" * 100_000, None),
        (b" " * MAX_BYTES + b'{"details": {"parameter_size": "7B"}}', None),
    ],
)
async def test_a_malformed_answer_is_none(document: object, size: str | None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "routing"):
        assert await stated_size(Ollama(document)) == size
    assert ("ollama/odd gives no size" in caplog.text) is (size is None)


@pytest.mark.parametrize("status", [301, 401, 404, 500])
async def test_an_error_answer_is_none(status: int) -> None:
    ollama = Ollama(status=status)
    assert await stated_size(ollama) is None
    assert len(ollama.asked) == 1


@pytest.mark.parametrize("base", ["ftp://house", "http://", "http://user:word@house", "http://house:port", "nonsense"])
async def test_an_invalid_url_does_not_affect_other_servers(base: str) -> None:
    ollama = Ollama()
    sizes = OllamaModels(Clock(), ollama.client)
    wrong, right = profile(base), profile()
    assert sizes.of("ollama/odd", wrong) is None is sizes.of("ollama/odd", right)
    await sizes.ask()
    assert (sizes.of("ollama/odd", wrong), sizes.of("ollama/odd", right)) == (None, "7.6B")


async def test_only_ollama_is_asked() -> None:
    ollama = Ollama()
    sizes = OllamaModels(Clock(), ollama.client)
    assert sizes.of("house/odd", profile("http://house", "house")) is None
    await sizes.ask()
    assert ollama.asked == []


async def test_failures_and_answers_are_cached_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock, ollama = Clock(), Ollama(status=404)
    sizes = OllamaModels(clock, ollama.client)

    async def after(seconds: float) -> tuple[str | None, int]:
        clock.now += seconds
        sizes.of("ollama/odd", profile())
        await sizes.ask()
        return sizes.of("ollama/odd", profile()), len(ollama.asked)

    with caplog.at_level(logging.INFO, "routing"):
        assert await after(0) == (None, 1)
        assert await after(FAILED_SECONDS - 1) == (None, 1)
        ollama.status = 200
        assert await after(1) == ("7.6B", 2)
        ollama.document = {"details": {"parameter_size": "70B"}}
        assert await after(KEPT_SECONDS - 1) == ("7.6B", 2)
        assert await after(1) == ("70B", 3)
        ollama.status = 500
        assert await after(KEPT_SECONDS) == ("70B", 4), "what was known stays until something else is"
    assert caplog.records == []


async def test_a_client_that_cannot_be_made_is_a_failure_as_well() -> None:
    def unmade() -> httpx.AsyncClient:
        made.append(1)
        raise ImportError("no socksio")

    made: list[int] = []
    sizes = OllamaModels(Clock(), unmade)
    for _ in range(2):
        assert sizes.of("ollama/odd", profile()) is None
        await sizes.ask()
    assert made == [1]


async def test_a_silent_server_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, asyncio.timeout(60):
        place = profile(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        sizes = OllamaModels(Clock(), direct, seconds=0.05)
        assert sizes.of("ollama/odd", place) is None
        await sizes.ask()
        assert sizes.of("ollama/odd", place) is None


async def test_tier_models_are_looked_up_at_once_and_others_on_use() -> None:
    async with ModelServer() as ms:
        ms.parameter_sizes |= {"odd": "1.2B", "strange": "32.8B"}
        rounds = Rounds()
        models = models_at(f"{ms.vendor('house')}/v1", rounds, ("ollama/odd", "ollama/qwen3:32b"))
        task = asyncio.create_task(models.learn_sizes())
        try:
            await rounds.ended()
            decision = models.size("ollama/odd")
            assert (decision.size, decision.source) == ("S", "metadata")
            assert not models.size("ollama/strange").known
            await rounds.ended()
            assert models.size("ollama/strange").size == "L"
        finally:
            task.cancel()
        assert sorted(request.model for request in ms.journal if request.model) == ["odd", "qwen3:32b", "strange"]
        assert not any(request.violations for request in ms.journal)
        assert ms.calls == []


async def test_the_window_is_the_smallest_known() -> None:
    clock, ollama = Clock(), Ollama()
    models = models_at("http://ollama.test", OllamaModels(clock, ollama.client))

    async def window_of(model: str = "ollama/odd") -> tuple[int, str]:
        models.window(model, None)
        await models.stated.ask()
        window = models.known_window(model, None)
        return window.tokens, window.source

    assert models.known_window("ollama/odd", None) == OLLAMA_DEFAULT  # nothing is known yet
    assert models.known_window("ollama/qwen3:4b", None).source == "catalogue"
    assert models.known_window("openai/odd", None) == KnownWindow(128_000, "assumed")
    ollama.loaded.clear()
    assert await window_of() == (4096, "default")
    ollama.loaded.append({"name": "odd:latest", "context_length": 16_384})
    assert await window_of() == (4096, "default")
    clock.now += UNLOADED_SECONDS
    assert await window_of() == (16_384, "loaded")
    ollama.loaded.clear()
    clock.now += KEPT_SECONDS
    assert await window_of() == (16_384, "loaded")  # it was unloaded, and will be loaded with as much
    assert await window_of("ollama/qwen3:4b") == (4096, "default")
    models.health.windows.refused("ollama/odd", 16_384, 12_000)
    assert await window_of() == (12_000, "refusal")


async def test_configured_values_are_not_looked_up() -> None:
    catalog = Catalog.parse(json.dumps({"models": {"ollama/odd": {"sizeClass": "XL"}}}), "models.json")
    ollama = Ollama()
    models = models_at("http://house", OllamaModels(Clock(), ollama.client))
    models.catalog = catalog
    assert models.size("ollama/odd").source == "owner"
    await models.stated.ask()
    assert ollama.asked == []
