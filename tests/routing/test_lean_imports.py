"""Libraries are imported without garbage collection, without parts that the bot does not use, and work as before."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from routing.lean_imports import import_lazily, without_collection

LITELLM_LATER = """
import sys
from pathlib import Path
from routing.catalog.catalog import BUNDLED, Catalog
from routing.llm.adapter import _OFFLINE, _import
from routing.llm.patches import COMPLETIONS

litellm = _import(Catalog.load(BUNDLED), _OFFLINE)
from litellm.litellm_core_utils.get_model_cost_map import GetModelCostMap
import litellm.utils
import openai
print(COMPLETIONS in sys.modules, "openai.resources.beta" in sys.modules)
print(litellm.utils.json_data, litellm.utils.claude_json_str, GetModelCostMap.loaded_model_cost_map())
print(len(litellm.model_cost) > 1000, litellm.disable_token_counter)
print(openai.resources.AsyncBatches.__name__, openai.AsyncOpenAI(api_key="key").beta.__class__.__name__)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an importable package `shelf`, which can be forgotten again."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "__init__.py").write_text("from shelf.heavy import WEIGHT\nNAME = 'shelf'\n", "utf-8")
    (folder / "heavy.py").write_text("WEIGHT = 100\n", "utf-8")
    (folder / "light.py").write_text("try:\n    import shelf.heavy\nexcept ImportError:\n    shelf = None\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shelf"]:
        del sys.modules[name]


@pytest.mark.parametrize("fails", [False, True])
def test_imported_objects_are_not_collected_repeatedly(fails: bool, library: Path) -> None:
    before, made = gc.get_freeze_count(), []
    with suppress(RuntimeError), without_collection():
        importlib.import_module("shelf")
        made += [[number] for number in range(10_000)]
        assert not gc.isenabled()
        if fails:
            raise RuntimeError
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


def test_without_a_new_module_nothing_is_excluded_from_collections() -> None:
    before = gc.get_freeze_count()
    with without_collection():
        importlib.import_module("json")
    assert gc.get_freeze_count() <= before


def test_a_module_that_is_left_out_can_be_imported_later(library: Path) -> None:
    import_lazily("shelf")
    with without_collection("shelf.heavy"):
        assert importlib.import_module("shelf.light").shelf is None
    assert importlib.import_module("shelf.heavy").WEIGHT == 100


def test_a_module_that_is_imported_already_is_not_left_out(library: Path) -> None:
    heavy = importlib.import_module("shelf.heavy")
    with without_collection("shelf.heavy"):
        assert importlib.import_module("shelf.heavy") is heavy
    assert sys.modules["shelf.heavy"] is heavy


def test_a_package_on_demand_runs_when_one_of_its_names_is_used(library: Path) -> None:
    (library / "light.py").write_text("", "utf-8")
    import_lazily("shelf")
    importlib.import_module("shelf.light")
    assert "shelf.heavy" not in sys.modules
    package = importlib.import_module("shelf")
    assert (package.NAME, package.WEIGHT, package.light.__name__) == ("shelf", 100, "shelf.light")
    assert not hasattr(package, "missing")


def test_an_imported_or_missing_package_is_left_alone(library: Path) -> None:
    package = importlib.import_module("shelf")
    import_lazily("shelf")
    import_lazily("no_such_package")
    assert sys.modules["shelf"] is package
    assert "no_such_package" not in sys.modules


def test_a_package_that_its_parent_imports_is_left_alone(library: Path) -> None:
    (library / "__init__.py").write_text("import shelf.heavy\nLOADED = shelf.heavy\n", "utf-8")
    import_lazily("shelf.heavy")
    assert sys.modules["shelf.heavy"] is importlib.import_module("shelf").LOADED


def test_litellm_is_imported_without_what_the_bot_does_not_use() -> None:
    shown = subprocess.run([sys.executable, "-c", LITELLM_LATER], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["True False", "{} {} {}", "True True", "AsyncBatches AsyncBeta"]
