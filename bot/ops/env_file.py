"""Changes variables in a `.env` file without touching the rest of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from routing.atomic_file import write_text
from routing.errors import ConfigError, file_reason

_PLAIN = re.compile(r"[\w.,:;/@%+=~-]*", re.ASCII)
"""Values without quotation marks, for other programs that read the file, too."""


def update(path: Path, values: Mapping[str, str | None]) -> None:
    """Set variables, or remove those that are None. Comments, blank lines, order and all other variables stay, which
    python-dotenv's `set_key` does not promise.

    The file is replaced at once, with mode 0600. Raises ConfigError, having changed nothing, if it can't be read or
    written or has a line that is not of the form NAME=value.
    """
    target = path.resolve()
    try:
        text = target.read_text(encoding="utf-8") if target.exists() else ""
        _refuse_broken(text, path)
        text = changed(text, values)
        write_text(target, text, 0o600)
    except (OSError, UnicodeDecodeError) as error:
        reason = file_reason(error)
        raise ConfigError("{path} can't be changed: {reason}. Nothing was saved.", path=path, reason=reason) from None


def changed(text: str, values: Mapping[str, str | None]) -> str:
    """The text of a `.env` file with these variables set, or removed (None). Comments, order and all other lines stay.
    Raises ConfigError for a value that takes more than one line."""
    for name, value in values.items():
        if value is not None and not value.isprintable():
            raise ConfigError("{name} must be one line of printable characters.", name=name)
    left = dict(values)
    parts: list[str] = []
    for line in parse_stream(StringIO(text)):
        original, name = line.original.string, (line.key or "").upper()
        if not line.error and name in values:
            before = original[: len(original) - len(original.lstrip())]  # the parser counts blank lines to the next one
            left.pop(name, None)
            original = before[: before.rfind("\n") + 1] + _line(name, values[name])
        parts.append(original)
    kept = "".join(parts)
    ending = "" if not kept or kept.endswith("\n") else "\n"
    added = "".join(_line(name, value) for name, value in left.items())
    return kept + (ending + added if added else "")


def _refuse_broken(text: str, path: Path) -> None:
    for line in parse_stream(StringIO(text)):
        if line.error:
            words = "{path} line {number}: not of the form NAME=value. Nothing was saved."
            raise ConfigError(words, path=path, number=str(line.original.line))


def _line(name: str, value: str | None) -> str:
    """The assignment; empty for None."""
    if value is None:
        return ""
    if not _PLAIN.fullmatch(value):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        value = f"'{escaped}'"
    return f"{name}={value}\n"
