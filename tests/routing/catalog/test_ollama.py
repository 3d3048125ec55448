"""OLLAMA_HOST in the forms that Ollama accepts, and which of its models is chosen."""

from __future__ import annotations

import httpx
import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.catalog.ollama import KnownWindow, address, loaded_window, running_ollama, shown_window
from routing.config.jsonfile import parse
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.types.model_names import OLLAMA_HOME
from tests.servers.model import ModelServer, OllamaModel


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("", OLLAMA_HOME),
        ("pi", "http://pi:11434"),
        ("pi:8080", "http://pi:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("192.168.1.5", "http://192.168.1.5:11434"),
        ("0.0.0.0", OLLAMA_HOME),
        ("0.0.0.0:11434", OLLAMA_HOME),
        ("http://0.0.0.0:11434", OLLAMA_HOME),
        ("http://pi", "http://pi:80"),
        ("https://pi", "https://pi:443"),
        ("https://pi:11434/ollama/", "https://pi:11434/ollama"),
        ("http://pi:8080/ollama", "http://pi:8080/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("[::]:8080", "http://[::1]:8080"),
        ('"pi:8080"', "http://pi:8080"),
        ("pi:port", "http://pi:11434"),
        ("pi:99999", "http://pi:11434"),
        ("  pi ", "http://pi:11434"),
    ],
)
def test_ollama_host(host: str, expected: str) -> None:
    assert address(host) == expected


CHAT, TOOLS = ("completion",), ("completion", "tools")


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({}, None),
        ({"bge-m3:latest": OllamaModel(("embedding",), size=9)}, None),
        ({"small:1b": OllamaModel(TOOLS, size=1), "large:3b": OllamaModel(TOOLS, size=3)}, "ollama/large:3b"),
        ({"gemma3:12b": OllamaModel(CHAT, size=12), "qwen2.5:3b": OllamaModel(TOOLS, size=3)}, "ollama/qwen2.5:3b"),
        ({"big:cloud": OllamaModel(TOOLS, size=1, remote=True), "own:1b": OllamaModel(CHAT, size=1)}, "ollama/own:1b"),
        ({"nomic-embed-text": OllamaModel((), size=9), "old:7b": OllamaModel((), size=4)}, "ollama/old:7b"),
    ],
)
async def test_the_best_chat_model(models: dict[str, OllamaModel], expected: str | None) -> None:
    async with ModelServer() as server, httpx.AsyncClient() as web:
        server.ollama = models
        found = await running_ollama(web, server.vendor("ollama"), 10)
        assert (found and found.best) == expected


async def test_no_ollama_is_no_model() -> None:
    async with ModelServer() as server, httpx.AsyncClient() as web:
        await server.go_down()
        assert await running_ollama(web, server.vendor("ollama"), 10) is None


async def test_ollamas_tool_support_overrides_the_catalogue() -> None:
    async with ModelServer() as server:
        server.ollama = {"gemma3:4b": OllamaModel(CHAT), "odd:3b": OllamaModel(TOOLS)}
        config = read_config(parse("{}", "test"), {}, {}, ollama=server.vendor("ollama"))
        models = Models(config, Catalog.load(BUNDLED))
        assert models.takes_tools("ollama/gemma3:4b")
        assert models.takes_tools("ollama/odd:3b")
        await models.stated.ask()
        assert not models.takes_tools("ollama/gemma3:4b")
        assert models.takes_tools("ollama/odd:3b")


@pytest.mark.parametrize(
    ("shown", "window"),
    [
        ({}, (4096, "default")),
        ({"model_info": {"llama.context_length": 131_072}}, (4096, "default")),
        ({"model_info": {"llama.context_length": 2048}}, (2048, "made for")),
        (
            {"parameters": "stop x\nnum_ctx   16384", "model_info": {"qwen2.context_length": 32_768}},
            (16_384, "num_ctx"),
        ),
        ({"parameters": "num_ctx 65536", "model_info": {"qwen2.context_length": 32_768}}, (32_768, "made for")),
        ({"parameters": "num_ctx -1\nnum_ctx", "model_info": []}, (4096, "default")),
        ({"parameters": 7, "model_info": {"x.context_length": "²"}}, (4096, "default")),
        (
            {"remote_host": "https://ollama.com", "model_info": {"gptoss.context_length": 131_072}},
            (131_072, "made for"),
        ),
        ({"remote_host": "https://ollama.com"}, None),
        ([], None),
    ],
)
def test_the_window_of_an_unloaded_model(shown: object, window: tuple[int, str] | None) -> None:
    found = shown_window(shown)
    assert (None if found is None else (found.tokens, found.source)) == window


def test_the_window_of_a_loaded_model() -> None:
    running = {
        "models": [None, {"name": "a:latest", "context_length": 32_768}, {"name": "b:1b", "context_length": "x"}]
    }
    loaded = KnownWindow(32_768, "loaded")
    assert [loaded_window(running, name) for name in ("a", "a:latest", "b:1b", "c")] == [loaded, loaded, None, None]
    assert loaded_window([], "a") is None
