"""The table in docs/contracts.md matches the code: each field of a contract, its default, and what reads it."""

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
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| `([\w/]+\.py)` \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str]]:
    """Defaults and readers as documented, by field."""
    text = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    return {name: (values, reader) for name, values, reader in ROW.findall(text)}


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
def test_each_fields_reader_reads_it(name: str) -> None:
    tree = ast.parse((ROOT / rows()[name][1]).read_text(encoding="utf-8"))
    assert name in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
