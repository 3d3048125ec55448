"""Signs of code and of mathematics in any language."""

from __future__ import annotations

import pytest

from routing.policy.auto import features


@pytest.mark.parametrize(
    "text",
    [
        "```\nx\n```",
        'File "app.py", line 12, in main',
        "java.lang.OutOfMemoryError: Java heap space",
        "    at com.example.Main.run(Main.java:3)",
        "SELECT name FROM users",
        "function add(a, b) {",
        "def f(x): return x",
        "let total = 0",
        "from os import path",
        "git rebase main geht nicht",
        "docker compose up",
        "cannot borrow `v` as mutable",
        "fix src/parser.ts and useEffect",
        "用`setCount(1)`更新useState",
    ],
)
def test_code(text: str) -> None:
    assert features.code_score(text) >= features.CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "Good morning!",
        "My iPhone and my iPad, an eBay story",
        "what if (hypothetically) I did it by myself. And you?",
        "the function of the liver; the class of 1998",
        "meet me at 10:30 -- or later - ok?",
        "https is safe, www.example.com too",
        "I made an error, sorry",
    ],
)
def test_text_without_code(text: str) -> None:
    assert features.code_score(text) < features.CERTAIN


@pytest.mark.parametrize(
    "text", ["∫ x dx", "x^2 - 5x + 6 = 0", "sqrt(2)", r"\frac{1}{2}", "f(x) = 3", "n ≤ 5", "x² = 4"]
)
def test_formulas(text: str) -> None:
    assert features.formula_kinds(text) > 0


@pytest.mark.parametrize("text", ["it cost $5 (or so)", "5 km", "a-b", "see (a), then b", "17 * 23"])
def test_text_without_formulas(text: str) -> None:
    assert features.formula_kinds(text) == 0


@pytest.mark.parametrize(
    ("text", "is_it"),
    [("P != NP", True), ("证明P不等于NP吗", True), ("an NP-hard problem", True), ("NP", False), ("P and Q", False)],
)
def test_hardness(text: str, is_it: bool) -> None:
    assert features.mentions_np_hardness(text) is is_it


@pytest.mark.parametrize(("text", "is_it"), [("17 * 23", True), ("(3+4)×2 = ?", True), ("17 apples", False)])
def test_arithmetic(text: str, is_it: bool) -> None:
    assert features.is_arithmetic(text) is is_it
