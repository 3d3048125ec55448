"""Everything the documents name exists: links, headings, commands, make targets, and the steps of a message's path."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pytest

from bot.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))]
FENCE = re.compile(r"^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
MODULE = re.compile(r"python3? -m ((?:bot|benchmarks|routing|tests)[\w.]*)")
TARGET = re.compile(r"(?:^|&& |=\d )make (?:-s )?([a-z][a-z-]+)", re.MULTILINE)
NAME = re.compile(r"(?<![\w./])((?:bot|handlers|routing|storage|benchmarks)(?:\.\w+)+)(?![\w/])")
PATH = re.compile(r"`((?:bot|handlers|routing|storage|migrations|tests|benchmarks|docs|docker)/[\w./-]*)`")
STEP = re.compile(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", re.MULTILINE)
"""A numbered line of docs/architecture.md that starts with a file and a function or `Class.method`."""


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page: str) -> set[str]:
    """The anchors GitHub makes from headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_target_exists(page: str) -> None:
    local = [link for link in LINK.findall(FENCE.sub("", text(page))) if not link.startswith("https://")]
    for link in local:
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.is_file()
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target.relative_to(ROOT).as_posix()), link


@pytest.mark.parametrize("page", PAGES)
def test_every_module_and_make_target_exists(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    spans, lines = re.findall(r"`([^`\n]+)`", text(page)), re.findall(r"^[ $]*(.*)$", text(page), re.MULTILINE)
    code = "\n".join(spans + lines)
    assert [name for name in MODULE.findall(code) if find_spec(name) is None] == []
    assert set(TARGET.findall(code)) - targets == set()


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


@pytest.mark.parametrize("page", PAGES)
def test_every_dotted_name_exists(page: str) -> None:
    for name in NAME.findall("\n".join(re.findall(r"`([^`\n]+)`", text(page)))):
        if not is_module(name):  # not imported: some need torch
            resolve_name(name)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    assert [path for path in PATH.findall(text(page)) if not (ROOT / path).exists()] == []


def test_make_targets_are_found_in_text_and_in_code() -> None:
    assert TARGET.findall("make chat\nls && make -s run\nWORKERS=2 make test\nneeds make and") == [
        "chat",
        "run",
        "test",
    ]


def test_the_readme_is_short() -> None:
    assert len(text("README.md").splitlines()) <= 150


def test_the_index_lists_every_page() -> None:
    listed = set(LINK.findall(text("docs/README.md")))
    assert {path.name for path in ROOT.glob("docs/*.md")} - listed == {"README.md"}


def test_every_subcommand_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    known = set(re.findall(r"^    ([\w-]+)(?:  |$)", capsys.readouterr().out, re.MULTILINE))
    assert known == set(re.findall(r"^\| `tierbot ([\w-]+)", text("docs/commands.md"), re.MULTILINE))


def test_every_step_of_a_messages_path_exists() -> None:
    steps = STEP.findall(text("docs/architecture.md"))
    assert len(steps) >= 10
    assert [f"{path} {name}" for path, name in steps if name not in functions(path)] == []


def functions(path: str) -> set[str]:
    """The functions of a file; methods as `Class.method`."""
    found = set[str]()
    for node in ast.parse(text(path)).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found
