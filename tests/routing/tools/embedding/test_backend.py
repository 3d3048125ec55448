"""The setting EMBEDDINGS, and what it builds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from routing.errors import ConfigError, EmbedderFailed
from routing.ports import Embedder
from routing.tools.embedding.backend import Backend, read_backend
from routing.tools.embedding.builder import build_embedder
from routing.tools.embedding.texts import FEW_TEXTS
from routing.tools.embedding.worker import Launch
from routing.types.llm import ProviderProfile
from tests.routing.tools.embedding.loaders import HERE
from tests.routing.tools.embedding.test_remote import FakeEmbeddings, profile
from tests.test_imports import LATE

ROOT = Path(__file__).resolve().parents[4]
TAKES = "static, off, e5, sentence-transformers:<model or folder> or litellm:<provider>/<model>"


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("", Backend("static")),
        (" static ", Backend("static")),
        ("OFF", Backend("off")),
        (" E5 ", Backend("e5")),
        ("sentence-transformers:all-MiniLM-L6-v2", Backend("sentence-transformers", "all-MiniLM-L6-v2")),
        ("sentence-transformers: /models/a b:c ", Backend("sentence-transformers", "/models/a b:c")),
        ("Litellm:ollama/bge-m3:567m", Backend("litellm", "ollama/bge-m3:567m")),
        ("litellm:openrouter/qwen/embed", Backend("litellm", "openrouter/qwen/embed")),
    ],
)
def test_valid_backends(text: str, backend: Backend) -> None:
    assert read_backend(text) == backend


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sttic", f"EMBEDDINGS=sttic is not a known encoder. Did you mean static? Use {TAKES}."),
        ("sentence_transformer:x", "Did you mean sentence-transformers?"),
        ("lite-llm:openai/x", "Did you mean litellm?"),
        ("all-MiniLM-L6-v2", f"EMBEDDINGS=all-MiniLM-L6-v2 is not a known encoder. Use {TAKES}."),
        ("foo", f"EMBEDDINGS=foo is not a known encoder. Use {TAKES}."),
        (":x", "is not a known encoder"),
        ("static:x", "static takes no model"),
        ("off:", "off takes no model"),
        ("e5:small", f"EMBEDDINGS=e5:small: e5 takes no model. EMBEDDINGS takes {TAKES}."),
        ("e5-small", "Did you mean e5?"),
        ("intfloat/multilingual-e5-small", "Did you mean e5?"),
        ("e5base", f"EMBEDDINGS=e5base is not a known encoder. Use {TAKES}."),
        ("sentence-transformers", "lacks a model"),
        ("litellm: ", "lacks a model"),
        ("litellm:bge-m3", "bge-m3 must look like provider/model"),
        ("litellm:/bge-m3", "must look like provider/model"),
        ("litellm:ollama/", "must look like provider/model"),
        ("litellm:local/smollm2", "the local models make no vectors"),
        ("sentence-transformers:~nosuchuser/x", "~nosuchuser/x names no model: there is no home folder ~nosuchuser."),
        (f"sentence-transformers:{'x' * 256}", f"{'x' * 80}… names no model: it can't be looked for (File name too"),
        (f"sentence-transformers:{'x/' * 2100}", "names no model: it can't be looked for (File name too long). Give a"),
    ],
)
def test_invalid_backends(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_backend(text)
    assert str(refused.value).startswith("EMBEDDINGS=")
    assert reason in str(refused.value)


def built(text: str) -> Embedder | None:
    return build_embedder(read_backend(text), FakeEmbeddings(), profile, lambda: 0.0)


async def test_each_kind_is_built_without_anything_being_started() -> None:
    assert built("off") is None
    names = {}
    for text in ("static", "e5", "sentence-transformers:all-MiniLM-L6-v2", "litellm:ollama/bge-m3"):
        embedder = built(text)
        assert embedder is not None
        names[text] = embedder.name
        await embedder.close()
    for text in ("static", "e5"):
        assert re.fullmatch(rf"{text}:[0-9a-f]{{12}}", names.pop(text))
    assert all(name == text for text, name in names.items())


def test_the_longest_valid_hub_name() -> None:
    longest = "x" * 255
    embedder = built(f"sentence-transformers:{longest}")
    assert embedder is not None
    assert embedder.name == f"sentence-transformers:{longest}"


def test_an_unknown_backend_is_refused_when_it_is_built() -> None:
    with pytest.raises(ConfigError, match=r"^EMBEDDINGS=sentence-transformers:~nosuchuser names no model"):
        build_embedder(Backend("sentence-transformers", "~nosuchuser"), FakeEmbeddings(), profile, lambda: 0.0)


async def test_vectors_of_a_folder_are_kept_under_its_files(tmp_path: Path) -> None:
    def name() -> str:
        embedder = built(f"sentence-transformers:{tmp_path}")
        assert embedder is not None
        return embedder.name

    (tmp_path / "0_Static").mkdir()
    weights = tmp_path / "0_Static" / "model.safetensors"
    weights.write_bytes(b"one")
    first = name()
    assert first.startswith(f"sentence-transformers:{tmp_path}@")
    assert name() == first
    weights.write_bytes(b"three")
    longer = name()
    weights.write_bytes(b"other")
    os.utime(weights, ns=(1, 1))
    assert len({first, longer, name()}) == 3


async def test_a_folder_is_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("routing.tools.embedding.builder.Launch", partial(Launch, loader=f"{HERE}:load_badly"))
    from_here, in_full = built("sentence-transformers:model"), built(f"sentence-transformers:{tmp_path}/model")
    assert from_here is not None
    assert in_full is not None
    assert from_here.name.partition("@")[2] == in_full.name.partition("@")[2] != ""
    with pytest.raises(EmbedderFailed, match=f"^{tmp_path}/model: .*Is a directory: '{tmp_path}/model'"):
        await from_here.embed(["a text"] * (FEW_TEXTS + 1))
    await from_here.close()


def test_an_unused_profile_is_not_looked_up() -> None:
    def never(provider: str) -> ProviderProfile:
        raise AssertionError(provider)

    assert build_embedder(Backend("litellm", "ollama/x"), FakeEmbeddings(), never, lambda: 0.0) is not None


def test_importing_it_loads_no_heavy_library() -> None:
    code = f"import sys, routing.tools.embedding.builder; print(*[name for name in {LATE!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []


@pytest.mark.parametrize(
    ("setting", "seconds"),
    [
        ("static", 0.05),
        ("off", 0.05),
        ("e5", 0.5),
        ("sentence-transformers:some/model", 0.5),
        ("litellm:ollama/bge-m3", 1.0),
    ],
)
def test_the_wait_depends_on_where_vectors_are_made(setting: str, seconds: float) -> None:
    assert read_backend(setting).wait_seconds == seconds
