"""Converts a server's list of tools to a toolkit. A tool that can't be used is left out with a warning."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from handlers.tools.authoring.hints import HINTS, RAW, Hinted, read_hints, with_hints
from handlers.tools.mcp.config import Limits, Server
from handlers.tools.mcp.naming import NAMESPACE, tool_names
from handlers.tools.mcp.schemas import is_deeper, schema_fault
from handlers.tools.mcp.text import cleaned_schema, readable, shown
from routing.errors import Reason
from routing.types.toolkits import Toolkit, ToolText

_ABOUT_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool by its name at the server."""

    name: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's toolkit, and its tools by their names there. `warnings` are sentences. Equal digests mean equal
    offers."""

    toolkit: Toolkit
    tools: Mapping[str, ListedTool]
    warnings: tuple[Reason, ...]
    digest: bytes


def read_listing(
    server: Server,
    prefix: str,
    about: str,
    listed: Mapping[str, Mapping[str, Any]],
    taken: Collection[str],
    limits: Limits,
    warnings: Sequence[Reason] = (),
) -> Offer:
    """Build the offer. `listed` are the server's tools by name; `taken` are names that they can't have; `warnings` are
    earlier ones. Takes some milliseconds per tool, so call it in a thread."""
    reader, deadline = _Reader(limits, server.hidden, warnings), monotonic() + limits.reading_seconds
    texts: dict[str, tuple[ToolText, Hinted]] = {}
    for number, (name, tool) in enumerate(listed.items()):
        if monotonic() > deadline:
            late = "{n:,} of its tools are left out: reading took longer than {seconds:g} s"
            reader.warnings.append(Reason(late, n=len(listed) - number, seconds=limits.reading_seconds))
            break
        if text := reader.read(name, tool):
            texts[name] = text
    names = tool_names(prefix, list(texts), taken)
    for name in (each for each in texts if each not in names):
        taken_twice = "{tool} is left out: its name and what it could be called here are other tools'"
        reader.warnings.append(Reason(taken_twice, tool=shown(name)))
    cards = tuple(with_hints(names[name], *text) for name, text in texts.items() if name in names)
    categories = Counter(card.category for card in cards if card.category).most_common(1)
    toolkit = Toolkit(
        f"{NAMESPACE}{server.name}",
        readable(server.hidden(about), _ABOUT_CHARACTERS) or server.name,
        category=categories[0][0] if categories else "",
        tools=cards,
        source="mcp",
    )
    tools = {names[name]: ListedTool(name, _is_read_only(listed[name])) for name in texts if name in names}
    warnings = tuple(each.changed(server.hidden) for each in reader.warnings)
    digest = hashlib.sha256(repr((replace(toolkit, tools=()), tools, warnings)).encode())
    for card in cards:  # one by one, because `repr` keeps other threads waiting
        digest.update(repr(card).encode())
    return Offer(toolkit, tools, warnings, digest.digest())


class _Reader:
    """Reads the texts of tools, removes the server's secrets from them, and collects warnings."""

    def __init__(self, limits: Limits, hidden: Callable[[str], str], warnings: Sequence[Reason]) -> None:
        self._limits = limits
        self._hidden = hidden
        self.warnings = [*warnings]

    def read(self, name: str, tool: Mapping[str, Any]) -> tuple[ToolText, Hinted] | None:
        """The text of a tool and its hints; None if it can't be used."""
        schema, fault = self._schema(tool.get("inputSchema"))
        if fault:
            self.warnings.append(Reason("{tool} is left out: {reason}", tool=shown(name), reason=fault))
            return None
        about = next((each for key in ("description", "title") if isinstance(each := tool.get(key), str) and each), "")
        plain = ToolText(readable(self._hidden(about), self._limits.description_chars) or shown(name), schema)
        hinted = self._hinted(tool, plain)
        self.warnings += (
            Reason("{tool}: {reason}; it is ignored", tool=shown(name), reason=reason) for reason in hinted.ignored
        )
        return plain, hinted

    def _hinted(self, tool: Mapping[str, Any], plain: ToolText) -> Hinted:
        meta = tool.get("_meta")
        hints = (meta.get(HINTS) if isinstance(meta, Mapping) else None) or tool.get(RAW)
        if is_deeper(hints):
            return Hinted({}, ignored=(Reason("its hint object is nested too deeply"),))
        hinted = read_hints(cleaned_schema(hints, self._hidden), plain, self._schema)
        most = self._limits.description_chars
        texts = {
            size: replace(text, description=readable(text.description, most)) for size, text in hinted.texts.items()
        }
        return replace(hinted, texts=texts)

    def _schema(self, schema: object) -> tuple[Mapping[str, Any], Reason | None]:
        """The schema as models and providers get it, and why it can't be used."""
        if not isinstance(schema, Mapping):
            return {}, Reason("its schema is not one of an object")
        if is_deeper(schema):
            return {}, Reason("its schema is nested too deeply")
        clean: dict[str, Any] = cleaned_schema({"type": "object", **schema}, self._hidden)
        fault = schema_fault(clean, self._limits.schema_chars)
        return {"properties": {}, **{key: each for key, each in clean.items() if key != "$schema"}}, fault


def _is_read_only(tool: Mapping[str, Any]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
