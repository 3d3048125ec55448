"""Toolkits as JSON files: what a model is told of each tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from routing.calls import ToolSpec

FOLDER = Path(__file__).parent / "toolkits"


def read_manifest(name: str) -> Mapping[str, ToolSpec]:
    """The tasks of one of our toolkits (OpenAI's function schemas), by name, in order."""
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    functions = [task["function"] for task in document["tasks"]]
    return {each["name"]: ToolSpec(each["name"], each["description"], each["parameters"]) for each in functions}
