"""Tools as the texts that a message is compared with. What is chosen is the group of a tool: its toolkit, or itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.text import spaced

NEITHER = "__none__"
"""Among the examples: what people say when they want no tool at all."""
_SILENT = frozenset({"type", "default", "required", "format", "enum_type"})
_STRUCTURE = frozenset({"properties", "items", "anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool of a catalogue. `group` is what is shown when it fits, `description` the group's; `texts` describe tool
    and group, one passage each; `parameters` is the text of its schema."""

    name: str
    group: str
    description: str
    texts: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    parameters: str = ""
    category: str = ""
    examples: tuple[str, ...] = ()


def entries(catalog: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> tuple[Entry, ...]:
    """From a catalogue of toolkits (`name description keywords category tools`) or of tools (`… parameters`), and what
    people say for each: by name, or by `toolkit/tool`."""
    return tuple(entry for row in catalog for entry in _entries(row, examples))


def _entries(row: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> Iterator[Entry]:
    group = row["name"]
    said = tuple(map(_whole, examples.get(group, ())))
    for tool in row.get("tools") or (row,):
        alone = tool is row
        yield Entry(
            name=tool["name"],
            group=group,
            description=_whole(row.get("description") or spaced(group)),
            texts=_texts_of_one(row) if alone else (_described(tool), _described(row)),
            keywords=tuple(map(_whole, row.get("keywords") or ())),
            parameters=_whole(" ".join(_texts(tool.get("parameters", {})))),
            category=_whole(row.get("category") or ""),
            examples=said if alone else (*said, *map(_whole, examples.get(f"{group}/{tool['name']}", ()))),
        )


def _texts_of_one(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What describes it, and its name alone: the name often says it all, and a long description drowns it."""
    return tuple(dict.fromkeys((_described(row), _whole(spaced(row["name"])))))


def _described(row: Mapping[str, Any]) -> str:
    return _whole(f"{spaced(row['name'])}. {row.get('description') or ''}".strip())


def _whole(text: str) -> str:
    """Without lone surrogates: JSON can hold them, and no tokenizer takes them."""
    return text.encode("utf-8", "replace").decode()


def _texts(schema: Any) -> Iterator[str]:
    """Names and descriptions of parameters, and the values they may have, in whatever form a schema takes."""
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name in _SILENT:
                continue
            if name == "description" and isinstance(value, str):
                yield value
            elif name == "enum" and isinstance(value, Sequence):
                yield from map(str, value)
            elif isinstance(value, Mapping | list):
                if name not in _STRUCTURE:
                    yield spaced(name)
                yield from _texts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _texts(value)
