"""Every regular expression of the program, its uses, and worst-case texts for it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
"""re has no public parser."""
PACKAGES = ("bot", "handlers", "routing", "storage")
OPTIONAL = {"sentence_transformers", "xllamacpp", "torch", "asyncpg"}
"""Optional packages. Modules that need them are read, not imported."""
SEARCHING = ("search", "sub", "subn", "split", "findall", "finditer")
ANCHORED = ("match", "fullmatch")


@dataclass(frozen=True)
class Used:
    """A pattern and the methods that are called on it."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def used() -> list[Used]:
    """Patterns in module namespaces and inline patterns."""
    calls = _calls()
    found: dict[tuple[Any, int], Used] = {}
    for module in modules():
        for name, pattern in _held(vars(module)):
            private = calls[f"{module.__name__}.{name}"] if name.startswith("_") else calls[name]
            methods = frozenset(private or {"search"})
            found.setdefault((pattern.pattern, pattern.flags), Used(f"{module.__name__}.{name}", pattern, methods))
    for module in modules():
        for line, method, pattern in _inline(module):
            methods = frozenset({"search" if method == "compile" else method})
            found.setdefault((pattern.pattern, pattern.flags), Used(f"{module.__name__}:{line}", pattern, methods))
    return list(found.values())


@cache
def modules() -> tuple[ModuleType, ...]:
    found = []
    for package in PACKAGES:
        root = importlib.import_module(package)
        for info in pkgutil.walk_packages(root.__path__, f"{package}."):
            try:
                found.append(importlib.import_module(info.name))
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in OPTIONAL:
                    raise
    return tuple(found)


def _held(names: Mapping[str, Any]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in names.items():
        yield from ((name, pattern) for pattern in _within(value, 4))


def _within(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for each in value.values():
            yield from _within(each, depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _within(each, depth - 1)
    elif depth and type(value).__module__.startswith(PACKAGES) and not isinstance(value, type):
        slots = getattr(type(value), "__slots__", ())
        for name in (*getattr(value, "__dict__", ()), *slots):
            yield from _within(getattr(value, name, None), depth - 1)


@cache
def _trees() -> tuple[tuple[str, ast.Module], ...]:
    paths = [path for package in PACKAGES for path in sorted(Path(package).rglob("*.py"))]
    return tuple((_module(path), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _calls() -> Mapping[str, set[str]]:
    """The methods called on each name that may be a pattern."""
    found: dict[str, set[str]] = defaultdict(set)
    for where, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in SEARCHING + ANCHORED:
                for owner in (
                    [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                ):
                    name = getattr(owner, "id", "") or getattr(owner, "attr", "")
                    found[name].add(node.attr)
                    found[f"{where}.{name}"].add(node.attr)
    return found


def _inline(module: ModuleType) -> Iterator[tuple[int, str, re.Pattern[Any]]]:
    """Calls such as `re.sub(pattern, …)` inside functions, unless the pattern depends on local values."""
    if module.__file__ is None:
        return
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        owner = node.func.value
        if not (
            isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in (*SEARCHING, *ANCHORED, "compile")
        ):
            continue
        flags = [word.value for word in node.keywords if word.arg == "flags"]
        flags += [each for each in node.args[1:] if node.func.attr == "compile" or "re." in ast.unparse(each)]
        try:
            text = eval(compile(ast.Expression(node.args[0]), "", "eval"), vars(module).copy())
            flag = eval(compile(ast.Expression(flags[0]), "", "eval"), vars(module).copy()) if flags else 0
        except NameError:
            continue
        yield node.lineno, node.func.attr, re.compile(text, flag)


GENERIC = (
    " ", "\t", "\n", " \n", "\n\n", "\n \t", "a", "Z", "1", ".", ",", "-", "_", "*", "**", "`", "```", "|",
    "||", "~~", "#", ">", "<", "</", "[", "]", "(", ")", "{", "}", "[(", "](", "\\", "\\(", "\\[", "$", "$$",
    "'", '"', "”", "“", ":", "/", "://", "@", "=", "a ", "a.", "1.", "a-", "1,", "aA", "a1", "a\n", ". ", "! ",
    "- ", "| ", "|-", "://a", "a@", "www.", "<a ", "&#", "%2", "🇩", "🇩🇪", "👩\u200d", "a\u0301", "\u0301", "漢",
    "あ", "한", "。", "？", "ก", "م", "\u200b", "\x1b", "\x1b[", "\ud83d",
)  # fmt: skip
"""Fragments that are bad for some pattern."""


def attempts(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Beginnings, and fragments that almost match again when repeated."""
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    tree = parser.parse(pattern.pattern, flags)
    letters = list(dict.fromkeys(_letters(tree)))[:16]
    short, long = _sample(tree, 1), _sample(tree, 3)
    samples = (short, long, short[:-1], long[:-1], short[1:], long[: len(long) // 2], f"{short}!", f"\n{short[:-1]}")
    pairs = [first + second for first in letters[:6] for second in letters[:6]]
    pieces = [("", text) for text in (*GENERIC, *samples, *letters, *pairs)]
    beginnings = [_sample(tree, 2)[:end] for end in range(1, 9)]
    behind = [(begun, text) for begun in beginnings for text in (" ", "\n", "a", "1", ".", "a.", *letters[:6])]
    return [(begun, text) for begun, text in dict.fromkeys((*pieces, *behind)) if text]


def _letters(tree: Iterable[Any]) -> Iterator[str]:
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code in (codes.IN, codes.NOT_LITERAL, codes.CATEGORY, codes.ANY):
            yield _one((code, value))
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _letters(branch)
        elif code is codes.SUBPATTERN:
            yield from _letters(value[3])
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _letters(value[1])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _letters(value[2])
        elif code is codes.ATOMIC_GROUP:
            yield from _letters(value)


_TRIED = "a1 Z_.-,:;/\\|*`'\"<>()[]{}#@!?&$%^+=~\n\té漢あ한ก。\u0301🇩"


def _one(node: Any) -> str:
    """A character that this single-character node matches."""
    code, value = node
    match code:
        case codes.LITERAL:
            return chr(value)
        case codes.ANY:
            return "x"
        case codes.NOT_LITERAL:
            return next(each for each in _TRIED if ord(each) != value)
        case codes.IN:
            negated = value[0][0] is codes.NEGATE
            inside = [each for each in value if each[0] is not codes.NEGATE]
            if not negated and inside[0][0] in (codes.LITERAL, codes.RANGE):
                return chr(inside[0][1] if inside[0][0] is codes.LITERAL else inside[0][1][0])
            return next((each for each in _TRIED if any(_in(each, part) for part in inside) != negated), "\u2603")
        case codes.CATEGORY:
            return next(each for each in _TRIED if _in(each, node))
    return ""


def _in(character: str, part: Any) -> bool:
    code, value = part
    if code is codes.LITERAL:
        return bool(ord(character) == value)
    if code is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    kinds = {
        codes.CATEGORY_SPACE: character.isspace(),
        codes.CATEGORY_NOT_SPACE: not character.isspace(),
        codes.CATEGORY_DIGIT: character.isdigit(),
        codes.CATEGORY_NOT_DIGIT: not character.isdigit(),
        codes.CATEGORY_WORD: character.isalnum() or character == "_",
        codes.CATEGORY_NOT_WORD: not (character.isalnum() or character == "_"),
    }
    return bool(kinds.get(value, False))


def _sample(tree: Iterable[Any], times: int) -> str:
    """A text that matches the pattern, or most of it. Repetitions are taken up to `times`."""
    written = ""
    for code, value in tree:
        if code is codes.BRANCH:
            written += max((_sample(branch, times) for branch in value[1]), key=len)
        elif code is codes.SUBPATTERN:
            written += _sample(value[3], times)
        elif code is codes.ATOMIC_GROUP:
            written += _sample(value, times)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            written += _sample(value[2], times) * max(value[0], min(times, value[1]))
        else:
            written += _one((code, value))
    return written
