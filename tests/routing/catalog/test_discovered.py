"""The results of discovery are stored in a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from routing.catalog.discovery import DiscoveredModel, load_discovered, save_discovered
from routing.config import jsonfile
from routing.errors import ConfigError


def model(name: str) -> DiscoveredModel:
    return DiscoveredModel(name, name.title())


def test_discovered_models_are_stored_per_provider(tmp_path: Path) -> None:
    path = tmp_path / "models" / "discovered.json"
    assert load_discovered(path) == frozenset()
    save_discovered(path, "groq", [model("groq/a"), model("groq/b")])
    save_discovered(path, "mine", (model("mine/x/y"),))
    save_discovered(path, "groq", [model("groq/c")])
    assert load_discovered(path) == {"groq/c", "mine/x/y"}
    assert json.loads(path.read_text("utf-8"))["groq"] == [{"id": "groq/c", "displayName": "Groq/C"}]


async def test_concurrent_saves_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "discovered.json"
    saves = [asyncio.to_thread(save_discovered, path, f"p{n}", [model(f"p{n}/m")]) for n in range(12)]
    await asyncio.gather(*saves)
    assert load_discovered(path) == {f"p{n}/m" for n in range(12)}


@pytest.mark.parametrize(("text", "line"), [('{"a": [],\n"b": 5}', 2), ('{"a": [\n{"id": "a/b"},\n7]}', 3), ("{\n", 2)])
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "discovered.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=rf"^discovered\.json line {line}: "):
        load_discovered(path)


def test_a_failed_write_keeps_the_old_file_and_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "models.json"
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        jsonfile.write(target, {})
    assert [path.name for path in tmp_path.iterdir()] == ["models.json"]
