"""Detects code and mathematics by features that don't depend on the language.

A pattern is searched only if one of its characteristic strings is present. Most messages contain none and take
microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

CERTAIN, FILE, LIKELY = 2.0, 1.4, 0.7

_PROGRAM_TEXT = (
    *(
        "```",
        "Traceback (most recent",
        "Exception in thread",
        "console.log",
        "System.out",
        "undefined is not",
        "#include",
    ),
    *("cannot borrow `", "ERR!", "ENOENT", "ECONNREFUSED", "EADDRINUSE", "SIGSEGV", "#!/bin", "#!/usr", "INSERT INTO "),
    *("CREATE TABLE ", "panic: ", "public static", "public class", "fatal: ", "std::", "</div>", "</p>", "</script>"),
    *("<html", "=> {", "&mut ", "println!", "else {", "} else", "def __init__", "@Override"),
)
"""Text that only occurs in code or program output."""


@dataclass(frozen=True, slots=True)
class GatedPattern:
    """A pattern that is searched only if one of `gates` is in the text."""

    gates: tuple[str, ...]
    pattern: re.Pattern[str]

    def is_in(self, raw: str) -> bool:
        return any(gate in raw for gate in self.gates) and self.pattern.search(raw) is not None


def _pattern(gates: str, pattern: str) -> GatedPattern:
    """Compile a pattern with ASCII classes: a Latin name ends where another script begins."""
    return GatedPattern(tuple(gates.split()), re.compile(pattern, re.MULTILINE | re.ASCII))


_CERTAIN_CODE = (
    _pattern("Error Exception", r"[A-Za-z]{2}(?:Error|Exception)\b"),
    _pattern("error: error[", r"\berror(?:: |\[E\d)"),
    _pattern("File", r'File "[^"\n]{1,120}", line \d'),
    _pattern("(", r"^[ \t]{1,12}at [\w.$<>]{1,80}\(|^[ \t]{0,12}(?:def|func|fn|class) \w{1,40}\("),
    _pattern("(", r"\bfunction(?: \w{1,40})?\(|\bprint[fl]?n?\("),
    _pattern("self.", r"\bself\.\w"),
    _pattern("=", r"\b(?:const|let|var) \w{1,40} ?="),
    _pattern("def", r"\bdef \w{1,40}\("),
    _pattern("SELECT", r"SELECT\b.{1,100}?\bFROM\b"),
    _pattern("import", r"^[ \t]{0,12}(?:from [\w.]{1,60} )?import [\w.{}, *]{1,80}(?: from ['\"].*)?;?$"),
    _pattern("return", r"return [^\n;]{1,60};"),
    _pattern(
        "sudo npm pip apt brew cargo kubectl docker systemctl",
        r"(?:sudo|npm|pip3?|apt-get|apt|brew|cargo|kubectl|docker|systemctl) (?:install|run|compose|exec|build|logs|ps"
        r"|apply|get|test|init|start|restart|status|pull)\b",
    ),
    _pattern(
        "git",
        r"\bgit (?:commit|push|pull|merge|rebase|reset|clone|stash|checkout|add|diff|branch|cherry-pick|blame)\b",
    ),
)
_FILE = _pattern(
    ".",
    r"[\w-]\.(?:py|js|mjs|ts|tsx|jsx|rs|go|java|kt|c|cc|cpp|h|hpp|cs|rb|php|sh|bash|sql|ya?ml|toml|json|html|css|scss"
    r"|ipynb|lua|swift|gradle|lock|ini|env|vue|svelte|tf|proto|xml|csv|log)\b",
)
_LIKELY_CODE = (
    GatedPattern(("",), re.compile(r"\b[a-z]{3,20}[A-Z][a-zA-Z]", re.ASCII)),
    _pattern("_", r"[a-z]_[a-z]"),
    _pattern("`", r"`[^`\n]{1,100}`"),
    _pattern("-", r"(?<![\w)-])--[a-z][\w-]|(?<![\w-])-[a-zA-Z] [\w./']"),
    _pattern("( [", r"\w\((?:[\w,.\"'=]|\[|\]){0,40}\)|\w\[\w{1,20}\]"),
    _pattern("&& || :: -> ++ ; ==", r"&&|\|\||::|->|\+\+|;[ \t]*$|=="),
    _pattern("/ \\", r"(?<![\w/])[~.]{0,2}/[\w.-]{1,40}/[\w.-]|\b[A-Z]:\\"),
    _pattern("500 404 403 401 400 502 503 504", r"\b[45]0\d error|error [45]0\d\b|\bHTTP [45]0\d\b"),
)
_FORMULA = (
    _pattern(" ".join("∫∑∏√∞∈∉∀∃∂∇⊂⊆∪∩≡≅ℝℕℤℚℂ⇒⇔∧∨¬⊢⊗⊕"), r"[∫∑∏√∞∈∉∀∃∂∇⊂⊆∪∩≡≅ℝℕℤℚℂ⇒⇔∧∨¬⊢⊗⊕]"),
    _pattern("\\", r"\\(?:frac|int|sum|prod|sqrt|lim|alpha|beta|mathbb|infty|leq|geq|in|to|begin)\b"),
    _pattern("^ ² ³ ⁴ ⁿ", r"[a-zA-Z)\]] ?\^ ?[\w({-]|[a-zA-Z)][²³⁴ⁿ]"),
    _pattern("( dx dy dt _", r"\b[a-zA-Zξ]'?\([\w, ]{1,8}\) ?[=<>≤≥≠]|\bd[xyt]\b|\b[a-z]_\{?[n\dik]\b"),
    _pattern("(", r"\b(?:sqrt|sin|cos|tan|log|ln|exp) ?\("),
    _pattern("=", r"\d?[xyz] ?[+*/·−-] ?\d{0,4}[a-z\d][^=\n]{0,30}=|\by'{1,3} ?[+=-]"),
    _pattern("[[ mod ≤ ≥ ≠ ≈ ±", r"\[\[[-\d., ]{1,40}\],|\bmod \d|[≤≥≠≈±]"),
)
_NP_HARDNESS = _pattern("NP", r"\bP\b.{1,20}\bNP\b|\b(?:co)?NP[- ](?:hard|complete)")
_ARITHMETIC = re.compile(r"[\d\s+\-−*/×·÷:().,=^%?？xX]+")


def code_score(raw: str) -> float:
    """The code score; 2 and more is certain."""
    found = 0.0
    if any(map(raw.__contains__, _PROGRAM_TEXT)) or any(pattern.is_in(raw) for pattern in _CERTAIN_CODE):
        found = CERTAIN
    return found + FILE * _FILE.is_in(raw) + LIKELY * sum(pattern.is_in(raw) for pattern in _LIKELY_CODE)


def formula_kinds(raw: str) -> int:
    """The number of kinds of mathematical notation in the text."""
    return sum(pattern.is_in(raw) for pattern in _FORMULA)


def mentions_np_hardness(raw: str) -> bool:
    """Whether the text is about P and NP."""
    return _NP_HARDNESS.is_in(raw)


def is_arithmetic(raw: str) -> bool:
    """Whether the text is only numbers and operators."""
    return _ARITHMETIC.fullmatch(raw) is not None
