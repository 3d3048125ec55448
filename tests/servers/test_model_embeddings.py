"""Embeddings of the loopback provider, and the requests that it refuses."""

from __future__ import annotations

import array
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer
from tests.servers.model.client import answer_text, ask
from tests.servers.model.wire_embeddings import WIDTH, vector

KEY = {"authorization": "Bearer sk-test"}
TEXTS = ["tea", "milk"]
ILLEGAL: dict[str, list[tuple[dict[str, Any], str | None]]] = {
    "/v1/embeddings": [
        ({}, None),
        ({"input": "tea"}, None),
        ({"dimensions": 256, "user": "x", "encoding_format": "float"}, None),
        ({"model": ""}, "model: missing"),
        ({"input": []}, "input: empty"),
        ({"input": ""}, "input: an empty text"),
        ({"input": ["tea", ""]}, "input: an empty text"),
        ({"input": ["tea", 7]}, "input: neither"),
        ({"input": None}, "input: neither"),
        ({"input": ["x"] * 2049}, "input: 2049 texts"),
        ({"encoding_format": "int8"}, "encoding_format: 'int8'"),
        ({"dimensions": 0}, "dimensions: 0"),
        ({"stream": True}, "stream: unknown parameter"),
        ({"_skip_responses_api_bridge": True}, "_skip_responses_api_bridge: unknown parameter"),
    ],
    "/api/embed": [
        ({"truncate": True, "options": {}, "keep_alive": "5m", "input": ""}, None),
        ({"input": {}}, "input: neither"),
        ({"encoding_format": "float"}, "encoding_format: unknown parameter"),
        ({"model": None}, "model: missing"),
    ],
}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=60, headers=KEY) as http:
        yield http


async def embed(ms: ModelServer, client: httpx.AsyncClient, path: str, **more: Any) -> httpx.Response:
    return await client.post(ms.root + path, json={"model": "bge-m3", "input": TEXTS, **more})


async def test_each_text_has_its_own_vector(ms: ModelServer, client: httpx.AsyncClient) -> None:
    wanted = [list(vector(text)) for text in TEXTS]
    plain = (await embed(ms, client, "/v1/embeddings")).json()
    assert [row["embedding"] for row in plain["data"]] == wanted
    assert len(wanted[0]) == WIDTH
    assert [row["index"] for row in plain["data"]] == [0, 1]
    assert plain["usage"]["prompt_tokens"] > 0
    packed = (await embed(ms, client, "/house/v1/embeddings", encoding_format="base64")).json()
    assert [list(array.array("f", base64.b64decode(row["embedding"]))) for row in packed["data"]] == wanted
    assert ms.last.vendor == "house"
    assert ms.last.embeds
    local = (await embed(ms, client, "/api/embed")).json()
    assert local["embeddings"] == wanted
    assert (ms.last.provider, ms.last.model, ms.last.outcome) == ("ollama", "bge-m3", "completed")


@pytest.mark.parametrize("path", ILLEGAL)
async def test_each_invalid_request_is_refused_with_its_reason(
    ms: ModelServer, client: httpx.AsyncClient, path: str
) -> None:
    for change, reason in ILLEGAL[path]:
        answer = await embed(ms, client, path, **change)
        if reason is None:
            assert answer.status_code == 200, (change, answer.text)
        else:
            assert answer.status_code == 400, change
            assert any(reason in each for each in answer.json()["violations"]), (change, answer.text)


async def test_only_ollama_needs_no_key(ms: ModelServer) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await embed(ms, client, "/v1/embeddings")).status_code == 401
        assert (await embed(ms, client, "/api/embed")).status_code == 200
        ms.missing_models.add("bge-m3")
        missing = await embed(ms, client, "/api/embed")
        assert missing.status_code == 404
        assert isinstance(missing.json()["error"], str)


async def test_scripts_for_answers_and_for_vectors_do_not_mix(ms: ModelServer, client: httpx.AsyncClient) -> None:
    ms.reply("an answer")
    ms.vectors([[1.0], [2.0, 3.0]])
    ms.fail(429, when=lambda request: request.embeds)
    assert answer_text("chat", (await client.request(**ask(ms, "chat", stream=False))).json()) == "an answer"
    assert answer_text("chat", (await client.request(**ask(ms, "chat", stream=False))).json()) == "You said: hi"
    assert (await embed(ms, client, "/api/embed")).json()["embeddings"] == [[1.0], [2.0, 3.0]]
    ms.reply("for nobody")
    assert (await embed(ms, client, "/v1/embeddings")).status_code == 429
    assert len((await embed(ms, client, "/v1/embeddings")).json()["data"]) == 2
    assert len(ms.pending) == 1
