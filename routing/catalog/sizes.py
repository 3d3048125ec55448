"""Derives the size class of a model from its name; it limits the tools that the model is shown.

`sizes.json` lists families whose names don't tell the size, and misleading names, which are checked before digits. The
first matching row counts. Names are compared token by token, so `claude-3.5-haiku`, `claude-3-5-haiku` and
`Claude 3.5 Haiku` are equal. ` * ` matches any tokens, a leading `=` anchors the start, a trailing ` =` the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from routing.types.decisions import SIZES, Size, SizeDecision

UNKNOWN: Size = "M"

_TABLE = Path(__file__).with_name("sizes.json")
_REMEMBERED = 2048
# Upper bounds of the classes, in billions of parameters.
_BOUNDS: tuple[tuple[float, Size], ...] = ((4, "S"), (14, "M"), (35, "L"))
# The share that experts don't have in common: two of Llama 3 8B make 13.7B, eight of Mistral 7B 46.7B.
_OWN = 0.7
# Smaller numbers of millions are context windows: "Qwen2.5-7B-Instruct-1M".
_MIN_MILLIONS = 14
_BILLIONS = {"b": 1.0, "m": 1e-3, "t": 1e3}
_ACTIVE, _VERSION = "a", "v"

_FILE = re.compile(r"\.(gguf|ggml|safetensors|bin|llamafile)$")
_COUNT = re.compile(
    r"(?<![a-z0-9.])(?P<letters>[a-z]*)(?:(?P<experts>\d{1,3})x)?"
    r"(?P<number>(?<=-)\d_\d|\d{1,4}(?:[.p]\d+)?)"
    r"(?P<unit>[bmt]|(?<=\.\d)[-_ ]b)(?:-(?P<more>\d{1,3})e)?(?![a-z0-9])"
)
_POINT = re.compile(r"(?<=\d)p(?=\d)")
_VERSION_LETTER = re.compile(r"(?<=[^a-z0-9])v(?=\d)")
_TOKEN = re.compile(r"[a-z]+|\d+")
_STATED = re.compile(r"\s*(\d{1,15}(?:\.\d+)?)\s*+([kmbt]?)\s*", re.IGNORECASE)
_STATED_UNITS = {"": 1e-9, "k": 1e-6, "m": 1e-3, "b": 1.0, "t": 1e3}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the table: a name must contain all `runs` of tokens, in order. The lowest `rank` wins."""

    rank: int
    runs: tuple[str, ...]
    size: Size
    evidence: str


Families = Mapping[str, Sequence[Family]]
"""Rows by the first token of their first run."""


@lru_cache(maxsize=_REMEMBERED)
def size_of(model: str, owner: Size | None = None, metadata: str | int | None = None) -> SizeDecision:
    """The size class from, in order: the owner, the table, digits in the name, the provider's `metadata`; else M.

    `metadata` is a number of parameters or a text such as "8.0B"; unreadable text is ignored. Digits in a name override
    table rows that only state the usual size.
    """
    if owner is not None:
        return SizeDecision(owner, "owner", "sizeClass in models.json")
    misleading, families = _table()
    for part in _parts(model):
        tokens = _tokens(part)
        found = _row(tokens, misleading) or _by_digits(part) or _row(tokens, families)
        if found is not None:
            return found
    stated = _stated(metadata)
    if stated is not None:
        return SizeDecision(_class(stated), "metadata", f"{stated:.3g}B, says the provider")
    return SizeDecision(UNKNOWN, "default", "neither the name nor the provider tells")


def _class(billions: float) -> Size:
    return next((size for bound, size in _BOUNDS if billions < bound), "XL")


def _parts(model: str) -> Iterator[str]:
    """Yield the name without file type, then its folder unless that is the provider.

    A name gets the prefix "ollama" if it means Ollama's default tag, which may be another size than the vendor's
    default.
    """
    *folders, name = model.lower().strip().rstrip("/").split("/")
    bare, _, tag = name.partition(":")
    if tag == "latest" or (not tag and folders[:1] in (["ollama"], ["ollama_chat"])):
        name = f"ollama {bare}"
    yield _FILE.sub("", name)
    yield from folders[1:][-1:]


def _tokens(name: str) -> list[str]:
    return _TOKEN.findall(_VERSION_LETTER.sub("", _POINT.sub(".", name)))


def _row(tokens: Sequence[str], families: Families) -> SizeDecision | None:
    text = f"^-{'-'.join(tokens)}-$"
    rows = (row for token in set(tokens) for row in families.get(token, ()) if _holds(text, row.runs))
    first = min(rows, key=lambda row: row.rank, default=None)
    return None if first is None else SizeDecision(first.size, "family", first.evidence)


def _holds(text: str, runs: Sequence[str]) -> bool:
    at = 0
    for run in runs:
        found = text.find(run, at)
        if found < 0:
            return False
        at = found + len(run) - 1  # the next run may start with the hyphen that ends this one
    return True


@cache
def _table() -> tuple[Families, Families]:
    document = json.loads(_TABLE.read_text(encoding="utf-8"))
    return _families(document["misleading"]), _families(document["families"])


def _families(rows: Sequence[Mapping[str, str]]) -> Families:
    found: dict[str, list[Family]] = {}
    for rank, row in enumerate(rows):
        for name in row["names"].split(", "):
            first, *others = [_tokens(run) for run in name.strip("= ").split(" * ")]
            runs = [f"-{'-'.join(run)}-" for run in (first, *others)]
            runs[0] = f"^{runs[0]}" if name.startswith("=") else runs[0]
            runs[-1] = f"{runs[-1]}$" if name.endswith("=") else runs[-1]
            found.setdefault(first[0], []).append(Family(rank, tuple(runs), _size(row["size"]), row["evidence"]))
    return found


def _size(text: str) -> Size:
    return next(size for size in SIZES if size == text)


def _by_digits(name: str) -> SizeDecision | None:
    """The first count in the most likely unit: billions, else millions, else trillions."""
    counts = tuple(_counts(name))
    for unit in _BILLIONS:
        for written, found, billions in counts:
            if found == unit:
                return SizeDecision(_class(billions), "name", f"{written} in its name")
    return None


def _counts(name: str) -> Iterator[tuple[str, str, float]]:
    """Yield each parameter count: text, unit, billions. Skips active parameters ("a3b")."""
    for match in _COUNT.finditer(name):
        letters, unit = match["letters"], match["unit"][-1]
        number = float(re.sub("[p_]", ".", match["number"]))
        if letters in (_ACTIVE, _VERSION) or (unit == "t" and letters) or (unit == "m" and number < _MIN_MILLIONS):
            continue
        experts = int(match["experts"] or match["more"] or 1)
        yield match[0].removeprefix(letters), unit, number * _BILLIONS[unit] * (1 + (experts - 1) * _OWN)


def _stated(metadata: str | int | None) -> float | None:
    """Parse billions of parameters."""
    match = _STATED.fullmatch(str(metadata)) if metadata is not None else None
    billions = float(match[1]) * _STATED_UNITS[match[2].lower()] if match else 0.0
    return billions or None
