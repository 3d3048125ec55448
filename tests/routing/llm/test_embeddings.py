"""Vectors through LiteLLM's real code, from the loopback server."""

from __future__ import annotations

import asyncio
import warnings

import numpy as np
import pytest

from routing.errors import (
    BadModelRequest,
    EmbedderFailed,
    KeyRejected,
    ModelError,
    ModelUnknown,
    RateLimited,
    Unreachable,
)
from routing.llm.adapter import LiteLlm
from routing.ports import EmbeddingModel
from routing.tools.embedding.remote import RemoteEmbedder
from routing.types.llm import ApiType, ProviderProfile
from tests.servers.model import ModelRequest, ModelServer
from tests.servers.model.wire_embeddings import vector

TEXTS = ["tea", "grüße 🙂", "tea"]
WAYS: list[tuple[str, ApiType | None, str]] = [
    ("openai/text-embedding-3-small", "openai", "/v1/embeddings"),
    ("house/bge-m3", "openai", "/house/v1/embeddings"),
    ("ollama/bge-m3", None, "/ollama/api/embed"),
    ("ollama/bge-m3", "openai", "/ollama/v1/embeddings"),
    ("mistral/mistral-embed", None, "/mistral/v1/embeddings"),
]
SECRET = "sk-mine-0123456789abcdef"


def at(ms: ModelServer, model: str, kind: ApiType | None, seconds: float = 30.0) -> ProviderProfile:
    """A vendor of the provider's name; Ollama's own protocol has no version in its address."""
    name = model.partition("/")[0]
    vendor = ms.root if name == "openai" else ms.vendor(name)
    base = vendor if (name, kind) == ("ollama", None) else f"{vendor}/v1"
    return ProviderProfile(name, kind, base, SECRET, seconds, f"{name.upper()}_KEY")


def vectors(texts: list[str]) -> tuple[tuple[float, ...], ...]:
    return tuple(vector(text) for text in texts)


def asks(request: ModelRequest) -> bool:
    return request.embeds


@pytest.mark.parametrize(("model", "kind", "path"), WAYS)
async def test_each_protocol_has_its_url(
    llm: LiteLlm, ms: ModelServer, model: str, kind: ApiType | None, path: str
) -> None:
    adapter: EmbeddingModel = llm
    found = await adapter.embed(model, at(ms, model, kind), TEXTS)
    assert np.allclose(found, vectors(TEXTS), atol=1e-6)
    assert (ms.last.path, ms.last.model) == (path, model.partition("/")[2])
    assert ms.last.body["input"] == TEXTS
    assert ms.last.key == ("" if path.endswith("embed") else SECRET)


async def test_openai_embeddings_use_base64_silently(llm: LiteLlm, ms: ModelServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await llm.embed("house/bge-m3", at(ms, "house/bge-m3", "openai"), TEXTS)
    assert ms.last.body["encoding_format"] == "base64"


async def test_a_server_without_base64_is_asked_for_floats(llm: LiteLlm, ms: ModelServer) -> None:
    said = "encoding_format: Extra inputs are not permitted"
    ms.fail(400, message=said, when=lambda request: "encoding_format" in request.body)
    found = await llm.embed("house/bge-m3", at(ms, "house/bge-m3", "openai"), TEXTS)
    assert np.allclose(found, vectors(TEXTS), atol=1e-6)
    assert ["encoding_format" in call.body for call in ms.calls] == [True, False]


async def test_rows_come_in_the_order_of_their_texts(llm: LiteLlm, ms: ModelServer) -> None:
    class Row(dict[str, object]):
        """As a library object may look."""

    from routing.llm.embeddings import _in_order

    rows = [Row(index=1, embedding=[2.0]), Row(index=0, embedding=[1.0])]
    assert _in_order(rows) == ((1.0,), (2.0,))
    assert _in_order([Row(embedding=[2.0]), Row(embedding=[1.0])]) == ((2.0,), (1.0,))


@pytest.mark.parametrize(("model", "kind", "path"), WAYS[:3])
async def test_errors_are_mapped_without_the_key(
    llm: LiteLlm, ms: ModelServer, model: str, kind: ApiType | None, path: str
) -> None:
    expected: list[tuple[int, type[ModelError]]] = [
        (401, KeyRejected), (404, ModelUnknown), (429, RateLimited), (400, BadModelRequest), (503, Unreachable),
    ]  # fmt: skip
    for status, error in expected:
        ms.fail(status, message=f"no, not with {SECRET} ({status})", when=asks)
        with pytest.raises(ModelError) as refused:
            await llm.embed(model, at(ms, model, kind), TEXTS)
        assert "0123456789abcdef" not in str(refused.value)
        assert refused.value.model == model
        if path.endswith("/embeddings"):
            assert type(refused.value) is error
        assert ms.pending == ()
    for broken in (ms.reset, ms.garbage):
        broken(when=asks)
        with pytest.raises(Unreachable):
            await llm.embed(model, at(ms, model, kind), TEXTS)


@pytest.mark.parametrize(("model", "kind", "path"), WAYS[1:3])
async def test_the_providers_timeout_applies(
    llm: LiteLlm, ms: ModelServer, model: str, kind: ApiType | None, path: str
) -> None:
    ms.hang(600.0, when=asks)
    with pytest.raises(Unreachable, match=r"no answer within 0\.3 s|[Tt]ime"):
        await llm.embed(model, at(ms, model, kind, 0.3), TEXTS)


async def test_a_cancelled_call_aborts_its_request(llm: LiteLlm, ms: ModelServer) -> None:
    gate = ms.gate(when=asks)
    where = at(ms, "house/bge-m3", "openai")
    asked = asyncio.create_task(llm.embed("house/bge-m3", where, TEXTS))
    waiting = await gate.reached()
    asked.cancel()
    await asyncio.wait([asked])
    assert asked.cancelled()
    assert await waiting.finished() == "cut"
    assert np.allclose(await llm.embed("house/bge-m3", where, TEXTS), vectors(TEXTS), atol=1e-6)


async def test_without_key_and_address_the_variable_is_named(llm: LiteLlm, ms: ModelServer) -> None:
    nowhere = ProviderProfile("openai", "openai", None, None, 30.0, "OPENAI_API_KEY")
    with pytest.raises(KeyRejected, match="OPENAI_API_KEY"):
        await llm.embed("openai/text-embedding-3-small", nowhere, TEXTS)
    assert ms.calls == []


@pytest.mark.parametrize("kind", ["openai", None])
async def test_the_embedder_with_the_real_adapter(llm: LiteLlm, ms: ModelServer, kind: ApiType | None) -> None:
    embedder = RemoteEmbedder("ollama/bge-m3", llm, lambda name: at(ms, f"{name}/x", kind), (0.0, 0.0))
    ms.fail(503, when=asks)
    rows = await embedder.embed([*TEXTS, " "])
    wanted = np.array(vectors(TEXTS))
    assert np.allclose(rows[:3], wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)
    assert not rows[3].any()
    assert len(ms.calls) == 2
    for rows_of, reason in (
        ([[1.0, 2.0]], "1 vectors for 3 texts"),
        ([[1.0, float("nan")]] * 3, "values that are not numbers"),
        ([[1.0, 2.0], [1.0], [1.0, 2.0]], "different lengths"),
        ([], "answered with|No embedding|0 vectors"),
    ):
        ms.vectors(rows_of)
        with pytest.raises(EmbedderFailed, match=reason):
            await embedder.embed(TEXTS)
    many = [f"text {number}" for number in range(200)]
    assert len(await embedder.embed(many)) == 200
    assert [len(call.body["input"]) for call in ms.calls[-4:]] == [64, 64, 64, 8]
