"""The README's table of what a tier promises says what the code does: each field, default, reader and story."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from routing.config import jsonfile
from routing.config.contracts import TierContract
from routing.config.runtime import read_config
from routing.types.tiers import TIERS

ROOT = Path(__file__).resolve().parents[1]
FIELDS = tuple(field.name for field in fields(TierContract) if field.name != "tier")
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| `([\w/]+\.py)` \| `([\w/]+\.py)::(\w+)` \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str, str, str]]:
    """By field: the defaults as written, the reader, the story's file and name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {name: (values, reader, file, story) for name, values, reader, file, story in ROW.findall(text)}


def as_written(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,.0f}"
        case tuple():
            return f"{len(value)} models"
    return str(value)


def test_every_field_has_a_row() -> None:
    assert tuple(rows()) == FIELDS


@pytest.mark.parametrize("name", FIELDS)
def test_the_defaults_are_those_of_an_empty_configuration(name: str) -> None:
    contracts = read_config(jsonfile.parse("{}", "x.json"), {}, {}, ()).contracts
    assert rows()[name][0] == " | ".join(as_written(getattr(contracts[tier], name)) for tier in TIERS)


@pytest.mark.parametrize("name", FIELDS)
def test_the_reader_reads_it_and_the_story_is_there(name: str) -> None:
    _, reader, file, story = rows()[name]
    read = [node.attr for node in ast.walk(parsed(reader)) if isinstance(node, ast.Attribute)]
    assert name in read
    told = [node.name for node in ast.walk(parsed(file)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert story in told


def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))
