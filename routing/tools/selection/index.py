"""What is slow to make of a catalogue, kept in a file for the next start: its texts with their glosses, its postings,
its vectors. Of 4,076 tools they are made in 1.5 s and taken from the file in 0.1 s."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from routing.tools.selection.entries import Entry
from routing.tools.selection.lexical import Postings
from routing.types.vectors import Floats

HERE = Path(__file__).parent
Arrays = dict[str, NDArray[Any]]

log = logging.getLogger(__name__)


class Index:
    """Gives each part as it was kept, or makes and remembers it. To be thrown away when all are taken."""

    def __init__(self, kept: Arrays | None = None) -> None:
        self._parts: Arrays = {} if kept is None else kept
        self.grew = False
        """Whether something was made, which is worth keeping."""

    def passages(self, name: str, make: Callable[[], Iterable[tuple[str, int]]]) -> tuple[tuple[str, ...], list[int]]:
        """Texts and the entry of each."""
        texts, owners = f"{name}.texts", f"{name}.owners"
        if texts not in self._parts or owners not in self._parts:
            made = list(make())
            told, theirs = tuple(text for text, _ in made), [owner for _, owner in made]
            self._keep(texts, _packed(told))
            self._keep(owners, np.array(theirs, np.int32))
            return told, theirs
        return _unpacked(self._parts[texts]), self._parts[owners].tolist()

    def postings(self, name: str, make: Callable[[], Iterable[Sequence[str]]]) -> Postings:
        """The postings of the tokens of passages."""
        names = [each.name for each in fields(Postings)]
        if not all(f"{name}.{each}" in self._parts for each in names):
            made = Postings.of(make())
            for each in names:
                self._keep(f"{name}.{each}", np.asarray(getattr(made, each)))
        parts: dict[str, Any] = {each: self._parts[f"{name}.{each}"] for each in names}
        return Postings(**{**parts, "count": int(parts["count"])})

    def vectors(self, name: str, make: Callable[[], Floats]) -> Floats:
        """A row for each of some texts. The name must say which encoder makes them."""
        if name not in self._parts:
            self._keep(name, make())
        return self._parts[name]

    def save(self, path: Path, made_of: str) -> None:
        """Write all parts at once or not at all. A disk that is full or forbidden is said in the log, nothing more."""
        data = save(self._parts, {"made of": made_of, "holds": _holds(self._parts)})
        written = path.with_name(f"{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(data)
            written.replace(path)
        except OSError as error:
            with suppress(OSError):
                written.unlink(missing_ok=True)  # it may hold the last of the space
            log.warning("The index %s can't be saved (%s); the next start builds it again.", path, error)

    def _keep(self, name: str, part: NDArray[Any]) -> None:
        self._parts[name] = part
        self.grew = True


def load(path: Path, made_of: str) -> Index:
    """What was kept of these texts; empty when nothing was, and, said in the log, when it is of others or damaged."""
    try:
        with safe_open(str(path), "numpy") as stored:
            told = stored.metadata() or {}
            parts = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except FileNotFoundError:
        return Index()
    except (OSError, SafetensorError) as error:
        log.warning("The index %s can't be read (%s); building it again.", path, error)
        return Index()
    if told.get("made of") != made_of:
        log.info("The index %s is out of date; building it again.", path)
        return Index()
    if told.get("holds") != _holds(parts):
        log.warning("The index %s is damaged; building it again.", path)
        return Index()
    return Index(parts)


def made_of(entries: Iterable[Entry], negatives: Sequence[str], files: Iterable[Path] = ()) -> str:
    """A hash of all that an index depends on: the texts, our code and glossary, and `files` (those of an encoder)."""
    told = blake2b(digest_size=16)
    for path in (*sorted(HERE.glob("*.py")), *sorted(HERE.glob("*.npz")), *files):
        told.update(blake2b(path.read_bytes()).digest())
    for entry in entries:
        told.update(repr([getattr(entry, each.name) for each in fields(Entry)]).encode("utf-8", "surrogatepass"))
    told.update(repr(list(negatives)).encode("utf-8", "surrogatepass"))
    return told.hexdigest()


def _holds(parts: Arrays) -> str:
    told = 0
    for name in sorted(parts):
        told = crc32(f"{name} {parts[name].dtype.str} {parts[name].shape} ".encode(), told)
        told = crc32(np.ascontiguousarray(parts[name]).data, told)
    return f"{told:08x}"


def _packed(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(texts).encode(), np.uint8)


def _unpacked(part: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(json.loads(part.tobytes()))
