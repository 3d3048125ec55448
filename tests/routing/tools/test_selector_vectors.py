"""Which vectors are stored, recomputed and deleted, even if the store fails."""

from __future__ import annotations

import pytest

from routing.errors import EmbedderFailed, StorageFault
from routing.tools.fallback_reasons import EMBEDDING
from tests.routing.tools.fakes import ALARM, MUSIC, OPEN, WEATHER, FakeEmbedder, FakeVectors, Made, card, toolkit


async def test_stored_vectors_are_reused(made: Made) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    assert first.embedder is not None
    assert len(first.store.rows) == len(first.embedder.texts)
    said = {each for kit in (WEATHER, ALARM, MUSIC) for tool in kit.tools for each in tool.examples}
    told = {"weather. All about weather.", "weather alerts. XL: List warnings of storms."}
    assert said | told <= {*first.embedder.texts}
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None
    assert len(second.embedder.texts) == 1, "one shows that the encoder works"
    for message in (OPEN, "hum a tune", "nobody knows"):
        assert await second.selector.match(message) == await first.selector.match(message)


async def test_only_changed_texts_are_embedded(made: Made) -> None:
    store = (await made(WEATHER, MUSIC, embedder=FakeEmbedder()).indexed()).store
    other = toolkit("music", card("play_music", "Play a song.", "something with drums"), keywords=("song", "music"))
    one = await made(WEATHER, other, embedder=FakeEmbedder(), store=store).indexed()
    assert one.embedder is not None
    assert one.embedder.texts == ["something with drums"]


async def test_each_encoder_has_its_own_vectors(made: Made) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    second = await made(embedder=FakeEmbedder(name="other:2"), store=first.store).indexed()
    assert first.embedder
    assert second.embedder
    assert sorted(first.embedder.texts) == sorted(second.embedder.texts)


@pytest.mark.parametrize("broken", [b"", b"123", b"12345", b"\0" * 12, b"\0" * 20])
async def test_broken_rows_are_rebuilt(made: Made, broken: bytes) -> None:
    first = await made(embedder=FakeEmbedder()).indexed()
    right, (key, *_) = dict(first.store.rows), first.store.rows
    first.store.rows[key] = broken
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None
    assert len(second.embedder.texts) == 1
    assert first.store.rows == right
    assert await second.found(OPEN) == {"weather": "embed"}


@pytest.mark.parametrize("more", [b"\0\0\0\0", b"\0"])
async def test_rows_of_another_width_are_rebuilt(made: Made, monkeypatch: pytest.MonkeyPatch, more: bytes) -> None:
    monkeypatch.setattr("routing.tools.selection.catalogue.BATCH", 2)
    first = await made(embedder=FakeEmbedder()).indexed()
    right = dict(first.store.rows)
    first.store.rows = {key: row + more for key, row in right.items()}
    second = await made(embedder=FakeEmbedder(), store=first.store).indexed()
    assert second.embedder is not None
    assert len(second.embedder.texts) == len(right)
    assert first.store.rows == right
    assert await second.found(OPEN) == {"weather": "embed"}


async def test_an_encoder_that_fails_half_way_resumes(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.tools.selection.catalogue.BATCH", 2)
    embedder = FakeEmbedder(None, None, EmbedderFailed("down"))
    await made(embedder=embedder).indexed()
    (once, *_) = embedder.asked
    assert embedder.texts.count(once[0]) == 1
    assert len(embedder.asked) > 4


async def test_a_failing_store_only_prevents_caching(
    made: Made, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("routing.tools.index_builder.SETTLED_SECONDS", 0.0)
    store = FakeVectors(StorageFault("The disk is full."))
    one = await made(embedder=FakeEmbedder(), store=store).indexed()
    assert await one.found(OPEN) == {"weather": "embed"}
    assert store.rows == {}
    await store.forgot.wait()
    for said in ("can't be read (The disk is full.)", "can't be saved (The disk", "can't be deleted (The disk"):
        assert said in caplog.text
    store.fault = None
    assert (await made(embedder=FakeEmbedder(), store=store).indexed()).selector.fallback_reason == ""
    assert store.rows


async def test_unused_vectors_are_deleted_after_a_delay(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FakeVectors()
    await made(embedder=FakeEmbedder(name="other:2"), store=store).indexed()
    await made(WEATHER, MUSIC, embedder=FakeEmbedder(), store=store).indexed()
    both = dict(store.rows)
    away = await made(WEATHER, embedder=FakeEmbedder(), store=store).indexed()
    assert store.rows == both, "a server that is away comes back"
    away.toolkits = (WEATHER, MUSIC)
    await away.indexed()
    assert away.embedder is not None
    assert len(away.embedder.texts) <= 2
    monkeypatch.setattr("routing.tools.index_builder.SETTLED_SECONDS", 0.0)
    await made(WEATHER, embedder=FakeEmbedder(), store=store).indexed()
    await store.forgot.wait()
    assert {encoder for encoder, _ in store.rows} == {"matters:1"}
    assert 0 < len(store.rows) < len(both) / 2


async def test_constantly_changing_toolkits_do_not_fill_the_database(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that puts a number into its descriptions, and changes it."""
    monkeypatch.setattr("routing.tools.index_builder.MAX_NEW_VECTORS", 20)
    store = FakeVectors()
    one = await made(embedder=FakeEmbedder(), store=store).indexed()
    first = len(store.rows)
    for number in range(30):
        one.toolkits = (toolkit(f"weather{number}", card("get_weather")), MUSIC)
        await one.indexed()
    await store.forgot.wait()
    assert len(store.rows) < first + 10


async def test_toolkits_that_change_often_are_embedded_together(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.tools.index_builder.PAUSE_SECONDS", 3600.0)
    one = await made(WEATHER, embedder=(embedder := FakeEmbedder())).indexed()
    asked = len(embedder.asked)
    for kits in ((WEATHER, MUSIC), (WEATHER, ALARM)):
        one.toolkits = kits
        await one.indexed(EMBEDDING)
    assert await one.found("alarm") == {"alarm": "keyword"}, "the words of the new ones are compared"
    assert len(embedder.asked) == asked


async def test_a_vector_that_is_known_is_not_computed_again(made: Made) -> None:
    one = await made(embedder=(embedder := FakeEmbedder())).indexed()
    assert one.messages is not None
    rows, reason = await one.messages.of([OPEN, "hum a tune"])
    assert (sorted(rows), reason) == (sorted([OPEN, "hum a tune"]), "")
    asked = len(embedder.asked)
    assert await one.found(OPEN) == {"weather": "embed"}
    assert len(embedder.asked) == asked
    one.messages.forget()
    await one.messages.of([OPEN])
    assert embedder.asked[asked:] == [(OPEN,)]
