"""Detects work on code during a turn, which moves the turn to the `coding` tier."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from routing.types.decisions import TierSource
from routing.types.llm import ChatMessage, ToolCall
from routing.types.tiers import Tier

_FROM: tuple[Tier, ...] = ("balanced", "smart")
_LOCKED: tuple[TierSource, ...] = ("forced", "prefix")

_FILE_TOOLS = ("read_file", "write_file")
_FILE_SYSTEMS = ("filesystem", "file_system")
_OPERATION_NAMES = ("operation", "action", "command")
_PATH_NAMES = ("path", "file_path", "filename", "file", "filepath", "file_name")
_CODE_ENDINGS = (
    "py js jsx ts tsx java go rs rb sh bash c h cpp hpp cs kt scala swift lua r pl php sql yaml yml toml gradle cmake "
    "makefile"
)
_CODE_NAMES = ("makefile", "dockerfile")

_MAX_LABEL_CHARACTERS = 60

_SHELL_TOOLS = ("run_command", "shell")
_COMMAND_NAMES = ("command", "cmd")
_COMMANDS = (
    "python python3 node npm npx pip pip3 mvn gradle gcc g++ cargo go rustc pytest make cmake javac dotnet ruby tsc "
    "webpack esbuild jest mocha yarn"
)

_ERRORS = (
    *("Traceback", "SyntaxError", "TypeError", "NullPointerException", "panic:", "error[E"),
    *("NameError", "ValueError", "ImportError", "ModuleNotFoundError", "AttributeError", "KeyError", "IndexError"),
    *("IndentationError", "UnboundLocalError", "ZeroDivisionError", "AssertionError", "RecursionError", "RuntimeError"),
    *("ReferenceError", "RangeError", "NoSuchMethodError", "NoClassDefFoundError", "StackOverflowError"),
    *("ClassNotFoundException", "ClassCastException", "IllegalArgumentException", "IllegalStateException"),
    *("IndexOutOfBoundsException", "NullReferenceException", "Exception in thread", "' panicked at "),
    *("CompileError", "CompilationError", "BUILD FAILED", "FAILED (failures=", "FAILED (errors="),
    *("error: could not compile", "undefined reference to `", "Segmentation fault", "npm ERR!"),
)
"""Text that compilers and interpreters print, but that ordinary prose does not contain."""
_FRAMES = ("at com.", "at org.", "at java.")
_FRAME = re.compile(r"\b(?:at com|at org|at java)\.")
"""A line of a Java stack trace; `chat com.` doesn't match."""
_TEST = re.compile(r"\b(FAILED|ERROR) \S+::")
"""A line of pytest's summary: `FAILED tests/test_app.py::test_start`."""


def signal(messages: Sequence[ChatMessage]) -> str | None:
    """Find the first sign of work on code after the last user message (anywhere if there is none). Returns a short
    description that may be logged (`write_file app.py`), or None.

    Only calls and tool results count, not what the user or the assistant says. Missing or malformed arguments are
    ignored.
    """
    asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    for message in messages[asked + 1 :]:
        found = _in_result(message.text) if message.role == "tool" else None
        found = found or next(filter(None, map(_in_call, message.calls)), None)
        if found:
            return found
    return None


def upgrades(tier: Tier, source: TierSource, enabled: bool) -> bool:
    """Whether a sign moves the turn to `coding`: from balanced or smart only, not against a lock or the message's own
    prefix, and not if the owner switched it off."""
    return enabled and tier in _FROM and source not in _LOCKED


def _in_call(call: ToolCall) -> str | None:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None
    if call.name in _SHELL_TOOLS:
        commands = (words[0] for text in _texts(arguments, _COMMAND_NAMES) if (words := text.split(maxsplit=1)))
        return next((f"{call.name} {command}" for command in commands if command in _COMMANDS.split()), None)
    operation = call.name
    if call.name in _FILE_SYSTEMS:
        named = (text.strip().lower() for text in _texts(arguments, _OPERATION_NAMES))
        operation = next((text for text in named if text in _FILE_TOOLS), "")
    if operation not in _FILE_TOOLS:
        return None
    files = (re.split(r"[\\/]", path.strip())[-1] for path in _texts(arguments, _PATH_NAMES))
    return next((f"{operation} {_label(file)}" for file in files if _is_code(file)), None)


def _texts(arguments: Mapping[str, object], names: Iterable[str]) -> list[str]:
    """The values of these arguments that are a string or a list of strings (joined as a command)."""
    texts = []
    for value in map(arguments.get, names):
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            texts.append(" ".join(value))
    return texts


def _is_code(file: str) -> bool:
    _, dot, ending = file.lower().rpartition(".")
    return ending in _CODE_ENDINGS.split() if dot else ending in _CODE_NAMES


def _label(file: str) -> str:
    """The end of a file name, on one line."""
    return "".join(sign if sign.isprintable() else "?" for sign in file[-_MAX_LABEL_CHARACTERS:])


def _in_result(text: str) -> str | None:
    word = next((word for word in _ERRORS if word in text), None)
    if word is None and any(frame in text for frame in _FRAMES):
        frame = _FRAME.search(text)
        word = frame.group() if frame else None
    if word is None and "::" in text:
        test = _TEST.search(text)
        word = f"{test[1]} test" if test else None
    return f"{word} in a result" if word else None
