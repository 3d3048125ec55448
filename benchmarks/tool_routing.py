"""How well tools are chosen: `python -m benchmarks.tool_routing --catalog F --queries F [--examples F] [--json]`.

Prints one object: recall (all the right entries are shown), gold_fraction, shown (share of the catalogue), payload
(share of its characters), false_activation (something is shown for queries that need no tool), oos_activation (the same
out of scope), milliseconds, resident memory in MB, and recall by language and kind. The exit code is 0 whatever the
figures are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from routing.tools.selection import build_selector
from routing.tools.selection.entries import NO_TOOL

WARM_UP = 3
MAX_EXAMPLES = 5
"""Maximum number of examples per tool."""


class Selects(Protocol):
    """Anything that selects names from a catalogue."""

    def select(self, query: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Query:
    """`gold` are the names that must be shown; `kind` is single, multi, none, oos or base."""

    text: str
    language: str
    gold: frozenset[str]
    kind: str


def read_catalogue(path: Path) -> list[dict[str, Any]]:
    """The entries of a catalogue. Raises ValueError for another format."""
    entries = _json(path)
    if not isinstance(entries, list) or not all(map(_is_named, entries)):
        raise ValueError(f"{path} is not a list of named entries")
    if not entries:
        raise ValueError(f"{path} holds no entry")
    for entry in entries:
        tools = entry.get("tools") or []
        if not isinstance(tools, list) or not all(map(_is_named, tools)):
            raise ValueError(f"{path}: the tools of {entry['name']} are not a list of named tools")
        for row in (entry, *tools):
            _check_texts(path, row)
    return entries


def read_examples(path: Path | None, most: int = MAX_EXAMPLES) -> dict[str, list[str]]:
    """At most `most` queries for each tool, and all queries that need no tool."""
    if path is None:
        return {}
    stored = _json(path)
    if not isinstance(stored, dict) or not all(map(_is_texts, stored.values())):
        raise ValueError(f"{path} is no object of examples by name")
    return {name: texts if name == NO_TOOL else texts[:most] for name, texts in stored.items()}


def read_queries(path: Path) -> list[Query]:
    """Reads one object per line: query, lang, gold, kind."""
    found = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _parsed(line)
            if not isinstance(row["query"], str) or not _is_texts(row["gold"]):
                raise TypeError("query is not a string, or gold is not a list of names")
            query = Query(row["query"], row.get("lang") or "en", frozenset(row["gold"]), row.get("kind") or "single")
            if not _is_texts([query.language, query.kind]):
                raise TypeError("lang or kind is not a string")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number} is no query ({type(error).__name__}: {error})") from None
        if query.kind != "irrelevant_own":
            found.append(query)
    return found


def measure(selector: Selects, catalogue: Sequence[Mapping[str, Any]], queries: Sequence[Query]) -> dict[str, Any]:
    """The figures for one selector."""
    sizes = {each["name"]: len(json.dumps(each.get("tools") or each, ensure_ascii=False)) for each in catalogue}
    whole = sum(sizes.values())
    seen: defaultdict[str, list[float]] = defaultdict(list)
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    milliseconds = []
    for query in queries[:WARM_UP]:
        selector.select(query.text)
    for query in queries:
        began = time.perf_counter()
        shown = frozenset(selector.select(query.text))
        milliseconds.append((time.perf_counter() - began) * 1e3)
        if query.gold:
            seen["recall"].append(query.gold <= shown)
            seen["gold_fraction"].append(len(query.gold & shown) / len(query.gold))
            seen["shown"].append(len(shown) / len(catalogue))
            seen["payload"].append(sum(sizes[name] for name in shown) / whole)
            groups[query.language].append(query.gold <= shown)
            groups[f"kind:{query.kind}"].append(query.gold <= shown)
        elif query.kind in ("none", "oos"):
            seen["false_activation" if query.kind == "none" else "oos_activation"].append(bool(shown))
    milliseconds.sort()
    quantiles = {f"p{share}_ms": milliseconds[int(len(milliseconds) * share / 100)] for share in (50, 95, 99)}
    return {
        **{name: round(sum(values) / len(values), 4) for name, values in seen.items()},
        "n": len(queries),
        **{name: round(value, 3) for name, value in quantiles.items()},
        "by": {
            name: [round(sum(hits) / len(hits), 3), len(hits)]
            for name, hits in sorted(groups.items(), key=lambda group: -len(group[1]))
        },
    }


def resident_megabytes() -> int | None:
    """Resident memory of this process; None if the system does not report it."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    return next((round(int(line.split()[1]) / 1024) for line in lines if line.startswith("VmRSS")), None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one set and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tool_routing", description=__doc__)
    parser.add_argument("--catalog", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--most-examples", type=int, default=MAX_EXAMPLES, help="for each tool")
    parser.add_argument("--language", help="only queries in this one")
    parser.add_argument("--json", action="store_true", help="one line instead of a readable object")
    given = parser.parse_args(arguments)
    try:
        catalogue, queries = read_catalogue(given.catalog), read_queries(given.queries)
        examples = read_examples(given.examples, given.most_examples)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    queries = [query for query in queries if given.language in (None, query.language)]
    if not queries:
        print(f"{given.queries} holds no query to measure.", file=sys.stderr)
        return 2
    began = time.perf_counter()
    selector = build_selector(catalogue, examples)
    figures = {"load_s": round(time.perf_counter() - began, 2), **measure(selector, catalogue, queries)}
    figures["rss_mb"] = resident_megabytes()
    print(json.dumps(figures, ensure_ascii=False, indent=None if given.json else 1))
    return 0


def _is_named(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str)


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _check_texts(path: Path, row: Mapping[str, Any]) -> None:
    """Optional keys may also be null. Raises ValueError."""
    for key in ("description", "category"):
        if not isinstance(row.get(key) or "", str):
            raise ValueError(f"{path}: the {key} of {row['name']!r} is not a string")
    if not _is_texts(row.get("keywords") or []):
        raise ValueError(f"{path}: the keywords of {row['name']!r} are not a list of strings")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 ({error.reason})") from None


def _json(path: Path) -> Any:
    try:
        return _parsed(path.read_bytes())
    except RecursionError:
        raise ValueError(f"{path} is not JSON that can be read (nested too deeply)") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error})") from None


def _parsed(written: str | bytes) -> Any:
    """Parses JSON and replaces lone surrogates, which tokenizers and terminals can't handle."""
    return json.loads(json.dumps(json.loads(written), ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
