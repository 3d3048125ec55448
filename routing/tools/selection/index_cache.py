"""Stores the slow parts of an index (glossed texts, postings, vectors) in a file for the next start. For 4,076 tools
they take 1.5 s to make and 0.1 s to load."""

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

from routing.tools.selection.lexical import Postings
from routing.types.vectors import Floats

HERE = Path(__file__).parent
Arrays = dict[str, NDArray[Any]]

log = logging.getLogger(__name__)


class IndexCache:
    """Returns each part from the file, or makes and remembers it. Drop it when all parts are read."""

    def __init__(self, parts: Arrays | None = None) -> None:
        self._parts: Arrays = {} if parts is None else parts
        self.grew = False
        """Whether a part was made that is not in the file."""

    @classmethod
    def load(cls, path: Path, source: str) -> IndexCache:
        """The parts stored for the fingerprint `source`. Empty if there is no file, or, with a log line, if it is out
        of date or damaged."""
        try:
            with safe_open(str(path), "numpy") as stored:
                metadata = stored.metadata() or {}
                parts = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - no mapping
        except FileNotFoundError:
            return cls()
        except (OSError, SafetensorError) as error:
            log.warning("The index %s can't be read (%s); building it again.", path, error)
            return cls()
        if metadata.get("source") != source:
            log.info("The index %s is out of date; building it again.", path)
            return cls()
        if metadata.get("checksum") != _checksum(parts):
            log.warning("The index %s is damaged; building it again.", path)
            return cls()
        return cls(parts)

    def passages(self, name: str, make: Callable[[], Iterable[tuple[str, int]]]) -> tuple[tuple[str, ...], list[int]]:
        texts, owners = f"{name}.texts", f"{name}.owners"
        if texts not in self._parts or owners not in self._parts:
            made = list(make())
            self._keep(texts, np.frombuffer(json.dumps([text for text, _ in made]).encode(), np.uint8))
            self._keep(owners, np.array([owner for _, owner in made], np.int32))
        return tuple(json.loads(self._parts[texts].tobytes())), self._parts[owners].tolist()

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
        """A row per text. The name must identify the encoder."""
        if name not in self._parts:
            self._keep(name, make())
        return self._parts[name]

    def save(self, path: Path, source: str) -> None:
        """Write all parts atomically. A full or read-only disk is only logged."""
        data = save(self._parts, {"source": source, "checksum": _checksum(self._parts)})
        written = path.with_name(f"{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(data)
            written.replace(path)
        except OSError as error:
            with suppress(OSError):
                written.unlink(missing_ok=True)
            log.warning("The index %s can't be saved (%s); the next start builds it again.", path, error)

    def _keep(self, name: str, part: NDArray[Any]) -> None:
        self._parts[name] = part
        self.grew = True


def fingerprint(entries: Iterable[Any], negatives: Sequence[str], files: Iterable[Path] = ()) -> str:
    """A hash of everything that an index depends on: texts, code, glossary, and `files` (those of an encoder)."""
    digest = blake2b(digest_size=16)
    for path in (*sorted(HERE.glob("*.py")), *sorted(HERE.glob("*.npz")), *files):
        digest.update(blake2b(path.read_bytes()).digest())
    for entry in entries:
        digest.update(repr([getattr(entry, each.name) for each in fields(entry)]).encode("utf-8", "surrogatepass"))
    digest.update(repr(list(negatives)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _checksum(parts: Arrays) -> str:
    checksum = 0
    for name in sorted(parts):
        checksum = crc32(f"{name} {parts[name].dtype.str} {parts[name].shape} ".encode(), checksum)
        checksum = crc32(np.ascontiguousarray(parts[name]).data, checksum)
    return f"{checksum:08x}"
