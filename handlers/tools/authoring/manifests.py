"""Toolkit manifests: JSON files with the texts for models and, in the workspace, how each tool runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from handlers.tools.authoring.hints import NO_LABEL, is_label
from handlers.tools.authoring.json_fields import (
    category_in,
    check_known,
    did_you_mean,
    fault_at_name,
    objects,
    required_text,
    texts,
)
from handlers.tools.authoring.registration import legal_name
from handlers.tools.authoring.tasks import Implementation, card_in, examples_in, implementation_in
from routing.config import jsonfile
from routing.config.jsonfile import JsonFile, JsonObject
from routing.config.kinds import one_of
from routing.errors import ConfigError, Reason
from routing.types.people import ROLES, Role
from routing.types.toolkits import ToolCard, Toolkit, ToolkitSource

FOLDER = Path(__file__).parents[1] / "toolkits"
MAX_BYTES = 1_000_000
FREE = "free"
_TOOLKIT = ("name", "tier", "role", "description", "category", "keywords", "examples", "base", "tasks", "$schema")
_MAY: tuple[Role, ...] = tuple(role for role in ROLES if role != "blocked")
ROLE = one_of(_MAY)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A loaded manifest. `role` is the minimum role for calls. `ways` says how each tool runs, by name (built-in tools
    are functions with their own roles). `warnings` lists ignored hints."""

    toolkit: Toolkit
    role: Role = "user"
    implementations: Mapping[str, Implementation] = field(default_factory=dict)
    warnings: tuple[Reason, ...] = ()


@cache
def our_toolkit(name: str) -> Toolkit:
    """A built-in toolkit. The tests check its schemas, so the start does not."""
    return read_toolkit(FOLDER / f"{name}.json", "ours", proven=True).toolkit


def read_toolkit(path: Path, source: ToolkitSource = "workspace", proven: bool = False) -> Manifest:
    """Loads a toolkit file. Raises ConfigError with the file, the line and the reason. Reads files and, unless
    `proven`, imports a slow library, so don't call it on the event loop."""
    root = _load(path).root()
    check_known(root, _TOOLKIT)
    name, category, examples = required_text(root, "name"), category_in(root), examples_in(root)
    with fault_at_name(root):
        legal_name(name, Reason("the toolkit"))
    role = _role(root)
    tools: dict[str, ToolCard] = {}
    implementations: dict[str, Implementation] = {}
    warnings: list[Reason] = []
    if not is_label(category):
        warnings, category = [Reason("{file}: {reason}; it is ignored.", file=root.file.origin, reason=NO_LABEL)], ""
    for task in objects(root, "tasks"):
        card, ignored = card_in(task, category, examples, tools, proven)
        tools[card.name] = card
        warnings += ignored
        if source == "workspace":
            implementations[card.name] = implementation_in(task)
    for tool in examples if isinstance(examples, Mapping) else ():
        if tool not in tools:
            raise root.file.fault(
                ("examples", tool), "is for no tool of this toolkit{hint}", hint=did_you_mean(tool, tools)
            )
    toolkit = Toolkit(
        name=name,
        description=required_text(root, "description"),
        category=category,
        keywords=texts(root, "keywords"),
        tools=tuple(tools.values()),
        base=root.flag("base", False),
        source=source,
    )
    return Manifest(toolkit, role, implementations, tuple(warnings))


def _role(root: JsonObject) -> Role:
    """The minimum role; by default every admitted person."""
    if root.values.get("tier", FREE) != FREE:
        words = 'must be "{free}"; who may use it is said by "role": {roles}'
        raise root.file.fault(("tier",), words, free=FREE, roles=", ".join(_MAY))
    return root.value("role", ROLE, "user")


def _load(path: Path) -> JsonFile:
    """Reports the line of a JSON error and rejects unpaired surrogates."""
    try:
        file = jsonfile.load_bounded(path, MAX_BYTES)
        json.dumps(file.document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConfigError("{file}: the file contains half a character (a lone surrogate).", file=path.name) from None
    except ConfigError as error:
        fault = error.__cause__
        if not isinstance(fault, json.JSONDecodeError):
            raise
        place = {"file": path.name, "line": str(fault.lineno), "column": str(fault.colno)}
        words = "{file} line {line} column {column}: not valid JSON, {error}."
        raise ConfigError(words, **place, error=jsonfile.explained(fault)) from None
    return file
