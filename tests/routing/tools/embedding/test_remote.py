"""Vectors from a provider, with a scripted adapter."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from routing.errors import EmbedderFailed, KeyRejected, ModelError, RateLimited, Unreachable
from routing.tools.embedding.remote import RemoteEmbedder
from routing.tools.embedding.texts import FEW_TEXTS
from routing.types.llm import ProviderProfile
from routing.types.vectors import Vectors
from tests.routing.tools.embedding.loaders import expected, row

MODEL = "house/bge-m3"
MANY = [f"text {number}" for number in range(300)]


def profile(provider: str) -> ProviderProfile:
    return ProviderProfile(provider, "openai", "http://h/v1", "sk-x", 30.0, "HOUSE_API_KEY")


class FakeEmbeddings:
    """Answers with the fake's rows, each request after `gate`; `instead` may change or refuse an answer."""

    def __init__(self, instead: Callable[[int, Vectors], Vectors] = lambda _, rows: rows) -> None:
        self.asked: list[list[str]] = []
        self.profiles: list[ProviderProfile] = []
        self.gate: asyncio.Event | None = None
        self.under_way = self.most = 0
        self._instead = instead
        self._arrivals = asyncio.Queue[int]()

    async def arrivals(self, count: int) -> None:
        """Waits for `count` more requests."""
        for _ in range(count):
            await self._arrivals.get()

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Vectors:
        assert model == MODEL
        self.asked.append(list(texts))
        self.profiles.append(profile)
        number = len(self.asked)
        self._arrivals.put_nowait(number)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            return self._instead(number, tuple(tuple(row(text)) for text in texts))
        finally:
            self.under_way -= 1


def remote(provider: FakeEmbeddings) -> RemoteEmbedder:
    return RemoteEmbedder(MODEL, provider, profile, retry_seconds=(0.0, 0.0))


def refusing(*errors: ModelError) -> FakeEmbeddings:
    """Refuses the first requests."""

    def instead(number: int, rows: Vectors) -> Vectors:
        if number <= len(errors):
            raise errors[number - 1]
        return rows

    return FakeEmbeddings(instead)


async def test_rows_have_length_one_and_blank_texts_are_not_sent() -> None:
    provider = FakeEmbeddings()
    rows = await remote(provider).embed(["tea", "", "half \ud83d pair", "\n"])
    assert provider.asked == [["tea", "half � pair"]]
    assert provider.profiles == [profile("house")]
    assert rows.dtype == np.float32
    assert not rows[[1, 3]].any()
    assert np.allclose(rows[[0, 2]], expected(["tea", "half � pair"]), atol=1e-7)
    assert (await remote(provider).embed([" "])).shape == rows[:1].shape
    assert len(await remote(provider).embed([])) == 0


async def test_bulk_runs_two_batches_at_a_time_in_order() -> None:
    provider = FakeEmbeddings()
    rows = await remote(provider).embed(MANY)
    assert np.allclose(rows, expected(MANY), atol=1e-7)
    assert [len(texts) for texts in provider.asked] == [64, 64, 64, 64, 44]
    assert provider.most == 2


async def test_a_message_does_not_wait_for_bulk() -> None:
    provider = FakeEmbeddings()
    provider.gate = asyncio.Event()
    embedder = remote(provider)
    bulk = asyncio.create_task(embedder.embed(MANY))
    await provider.arrivals(2)
    message = asyncio.create_task(embedder.embed(["tea"] * FEW_TEXTS))
    await provider.arrivals(1)
    provider.gate.set()
    assert len(await message) == FEW_TEXTS
    assert len(await bulk) == len(MANY)


async def test_a_cancelled_call_frees_its_slot() -> None:
    provider = FakeEmbeddings()
    provider.gate = asyncio.Event()
    embedder = remote(provider)
    bulk = asyncio.create_task(embedder.embed(MANY))
    await provider.arrivals(2)
    bulk.cancel()
    await asyncio.wait([bulk])
    assert bulk.cancelled()
    assert provider.under_way == 0
    provider.gate.set()
    assert np.allclose(await embedder.embed(MANY), expected(MANY), atol=1e-7)


@pytest.mark.parametrize(
    ("errors", "requests"),
    [
        ([Unreachable(MODEL, "no connection")], 2),
        ([RateLimited(MODEL, "too many requests", 0.0)], 2),
        ([Unreachable(MODEL, "no connection", 0.01)], 2),
    ],
)
async def test_transient_errors_are_retried_once(errors: list[ModelError], requests: int) -> None:
    provider = refusing(*errors)
    assert np.allclose(await remote(provider).embed(["tea"]), expected(["tea"]), atol=1e-7)
    assert len(provider.asked) == requests


@pytest.mark.parametrize(
    ("errors", "requests"),
    [
        ([KeyRejected(MODEL, "house refused the key")], 1),
        ([RateLimited(MODEL, "too many requests")], 1),
        ([RateLimited(MODEL, "try again in 40 s", 40.0)], 1),
        ([Unreachable(MODEL, "no connection"), Unreachable(MODEL, "still none")], 2),
    ],
)
async def test_permanent_errors_are_raised(errors: list[ModelError], requests: int) -> None:
    provider = refusing(*errors)
    with pytest.raises(EmbedderFailed) as failed:
        await remote(provider).embed(["tea"])
    assert str(failed.value) == str(errors[-1])
    assert len(provider.asked) == requests
    assert np.allclose(await remote(provider).embed(["tea"]), expected(["tea"]), atol=1e-7)


async def test_one_refused_batch_of_many_is_one_failure() -> None:
    with pytest.raises(EmbedderFailed, match="house refused the key"):
        await remote(refusing(KeyRejected(MODEL, "house refused the key"))).embed(MANY)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda rows: rows[:-1], "1 vectors for 2 texts"),
        (lambda rows: (*rows, rows[0]), "3 vectors for 2 texts"),
        (lambda rows: (), "0 vectors for 2 texts"),
        (lambda rows: ((), ()), "vectors for 2 texts"),
        (lambda rows: (rows[0], rows[0][:-1]), "vectors of different lengths"),
        (lambda rows: ((math.nan, 1.0), (1.0, 1.0)), "values that are not numbers"),
        (lambda rows: ((math.inf, 1.0), (1.0, 1.0)), "values that are not numbers"),
        (lambda rows: ((None, 1.0), (1.0, 1.0)), "answered with"),
        (lambda rows: (("x", 1.0), (1.0, 1.0)), "answered with"),
    ],
)
async def test_invalid_vectors_are_refused(broken: Callable[[Vectors], Vectors], reason: str) -> None:
    with pytest.raises(EmbedderFailed, match=f"^{MODEL} answered with .*{reason}|{reason}"):
        await remote(FakeEmbeddings(lambda _, rows: broken(rows))).embed(["tea", "milk"])


async def test_batches_of_different_widths_are_refused() -> None:
    with pytest.raises(EmbedderFailed, match=f"^{MODEL} answered with vectors of different lengths"):
        await remote(
            FakeEmbeddings(lambda number, rows: rows if number == 1 else tuple(row[:-1] for row in rows))
        ).embed(MANY)


async def test_a_zero_vector_stays_zero() -> None:
    rows = await remote(FakeEmbeddings(lambda _, rows: ((0.0, 0.0), (3.0, 4.0)))).embed(["tea", "milk"])
    assert np.allclose(rows, np.array([[0.0, 0.0], [0.6, 0.8]]))


async def test_after_close_nothing_is_sent() -> None:
    provider = FakeEmbeddings()
    embedder = remote(provider)
    assert embedder.name == "litellm:house/bge-m3"
    await embedder.close()
    with pytest.raises(EmbedderFailed, match="the program is ending"):
        await embedder.embed(["tea"])
    assert provider.asked == []
