"""Writes every figure as a line of JSON at once, so an interrupted run keeps its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import IO, Any, Self

from benchmarks.bench_tools.calls import ModelAnswer
from benchmarks.bench_tools.ranking import Ranking
from benchmarks.bench_tools.recall import Showing


class Lines:
    """`with Lines(path) as out`; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            self._file = self._path.open("w", encoding="utf-8")
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, kind: str, figures: Mapping[str, Any]) -> None:
        """Write one line; `kind` names the type of its figures."""
        if self._file is not None:
            self._file.write(json.dumps({"kind": kind, **figures}, ensure_ascii=False, default=_plain) + "\n")
            self._file.flush()


def rank(form: str, found: Ranking) -> dict[str, Any]:
    """The rank of a prompt's right tool."""
    return {
        **{"catalogue": form, "prompt": found.prompt.text, "tool": found.prompt.tool, "rank": found.rank()},
        "selected": sorted(found.chosen),
    }


def showing(found: Showing) -> dict[str, Any]:
    """What a model would be shown for a prompt."""
    return {
        **{"class": found.size, "way": found.way, "prompt": found.prompt.text, "tool": found.prompt.tool},
        **{"definitions": len(found.presented.shown.specs), "estimate": found.estimate, "tokens": found.tokens},
        **{"shown": found.shown, "reachable": found.reachable},
    }


def answer(model: str, found: ModelAnswer) -> dict[str, Any]:
    """What the model called."""
    given = found.answer
    return {
        **{"model": model, **showing(found.showing), "called": given.called, "right": found.right},
        **{"tokens_read": given.tokens, "seconds": round(given.seconds, 3)},
    }


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is no figure")
