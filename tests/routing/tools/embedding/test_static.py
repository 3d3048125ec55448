"""The shipped encoder as an `Embedder`."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.tools.embedding.static import FOLDER, StaticEmbedder
from routing.tools.selection.encoder import StaticEncoder

TEXTS = ["set an alarm", "", "내일 날씨 어때", "नमस्ते", "play \ud83d a song"]
CLEAN = [*TEXTS[:4], "play � a song"]


async def test_single_and_bulk_results_match_the_encoder() -> None:
    embedder, encoder = StaticEmbedder(), StaticEncoder.load()
    assert np.array_equal(await embedder.embed(TEXTS), encoder.encode(CLEAN))
    many = [f"{text} {number}" for number in range(300) for text in CLEAN]
    rows = await embedder.embed(many)
    assert rows.dtype == np.float32
    assert np.array_equal(rows, encoder.encode(many))
    long = ["rain " * 2_000, "song"]
    assert np.array_equal(await embedder.embed(long), encoder.encode(long))
    assert len(await embedder.embed([])) == 0
    await embedder.close()
    with pytest.raises(EmbedderFailed, match="the program is ending"):
        await embedder.embed(TEXTS)


async def test_bulk_does_not_block_the_event_loop() -> None:
    embedder = StaticEmbedder()
    await embedder.embed(TEXTS)
    running = asyncio.create_task(embedder.embed(TEXTS * 1_000))
    turns = 0
    while not running.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 20
    await embedder.close()


async def test_cancelling_one_caller_while_loading_does_not_affect_others() -> None:
    embedder = StaticEmbedder()
    first, second = (asyncio.create_task(embedder.embed(TEXTS)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)[0].any()
    assert first.cancelled()
    await embedder.close()


def test_its_name_changes_with_one_byte_of_the_weights_or_the_words(tmp_path: Path) -> None:
    shipped = StaticEmbedder().name
    names = {shipped}
    for file, place in (("model.safetensors", -1), ("tokenizer.json", 1)):
        folder = tmp_path / file
        shutil.copytree(FOLDER, folder)
        assert StaticEmbedder(folder).name == shipped
        data = bytearray((folder / file).read_bytes())
        data[place] ^= 1
        (folder / file).write_bytes(data)
        names.add(StaticEmbedder(folder).name)
    assert len(names) == 3
    assert all(name.startswith("static:") and len(name) == 19 for name in names)


@pytest.mark.parametrize("broken", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("cut", [True, False])
async def test_a_missing_or_damaged_file_is_reported_and_reread_when_fixed(
    tmp_path: Path, broken: str, cut: bool
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(FOLDER, folder)
    (folder / broken).write_bytes((FOLDER / broken).read_bytes()[:5_000]) if cut else (folder / broken).unlink()
    embedder = StaticEmbedder(folder)
    for _ in range(2):
        with pytest.raises(EmbedderFailed, match=r"^the shipped encoder can't be read \(.+\); install tierbot again$"):
            await embedder.embed(TEXTS)
    shutil.copy(FOLDER / broken, folder / broken)
    assert (await embedder.embed(TEXTS))[0].any()
    await embedder.close()
