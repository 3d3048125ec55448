"""Removes secrets from texts: known ones in all spellings, and anything that looks like one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "***"
SHORTEST = 6
"""Minimum length of a secret, in characters."""
_ECHOED = 4
"""Characters at the start and end of a key that providers repeat: `sk-p…abcd`."""
_MIN_ECHOED = 16
_SHOWN_END, _MIN_SHOWN = 4, 20
"""Characters of a secret that `hint` shows, and of the shortest secret that it shows them of."""

_PREFIXES = (
    "sk", "pk", "rk", "gsk", "xai", "hf", "pplx", "tgp_v1", "nvapi", "ghp", "gho", "ghu", "ghs", "ghr", "github_pat",
    "glpat", "xox[abeoprs]", "xapp", "AIza", "ya29",
)  # fmt: skip
"""OpenAI, OpenRouter, Anthropic, DeepSeek (sk), Stripe, Groq, xAI, Hugging Face, Perplexity, Together, NVIDIA, GitHub,
GitLab, Slack, Google."""
_PREFIX = rf"(?<![A-Za-z0-9])(?:{'|'.join(_PREFIXES)})[-_.]"
_SHAPES = re.compile(
    rf"{_PREFIX}[A-Za-z0-9_\-.*…]{{8,}}+"
    rf"|{_PREFIX}[A-Za-z0-9_\-]{{0,12}}(?:\*{{3,}}+|…|\.{{3,}}+)[A-Za-z0-9]{{2,}}+"  # as providers repeat it
    r"|(?<![A-Za-z0-9])AIza[A-Za-z0-9_\-*]{16,}+"
    r"|(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9*]{12,}+"
    r"|(?<![A-Za-z0-9/+=])(?=[a-z0-9/+]*+[A-Z])(?=[A-Za-z/+]*+\d)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"  # AWS
    r"|(?<!\d)\d{6,12}:[A-Za-z0-9_\-]{30,}+"  # Telegram
    r"|(?<![A-Za-z0-9_\-.])[A-Za-z0-9_\-]{20,40}+\.[A-Za-z0-9_\-]{5,8}+\.[A-Za-z0-9_\-]{25,}+"  # Discord
    r"|(?<![A-Za-z0-9_\-.])eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]++){1,2}"  # JSON Web Token
)
_STARTS = re.compile(rf"(?:{'|'.join(_PREFIXES)})[-_.]|AIza|AKIA|ASIA|eyJ")
_SHORTEST_WORD = 37
"""Characters of the shortest key that `_SHAPES` finds without one of `_STARTS`."""
_HEADER = re.compile(r"(?i)\b(?:bearer|basic|token|x-api-key|api-key)[ :=]++[\"']?+([A-Za-z0-9_\-.~+/=*…]{8,}+)")
_QUERY = re.compile(
    r"(?i)((?:api[_-]?|access[_-]?|auth[_-]?|secret[_-]?|private[_-]?)?+(?:key|token|secret|password|passwd|signature)"
    r"[\"']?+\s?+[=:]\s?+[\"']?+)(?!\*\*\*)[^\s\"'&,;<>(){}]{6,}+"
)
_NAMED = ("key", "token", "secret", "passw", "nature")
"""Every match of `_QUERY` contains one of these when folded. To look for them is 20 times as fast, and most lines have
none."""
_USER = re.compile(r"(?<=://)[^\s/?#@\"'<>]++@")
_OPAQUE = re.compile(r"(?<![A-Za-z0-9_\-+/])(?=[A-Za-z_\-+/]*+[0-9])[A-Za-z0-9_\-+]{32,}+=*+")
"""Long runs with a digit: keys of Azure, Mistral and Together and AWS secrets have no prefix."""


def hint(secret: str) -> str:
    """A secret for people who know it: `••••abcd`, or only dots for a short one."""
    return "••••" + (secret[-_SHOWN_END:] if len(secret) >= _MIN_SHOWN else "")


def masked(text: str) -> str:
    """Mask everything that looks like a key, for logs and messages."""
    text = _USER.sub(f"{HIDDEN}@", text)
    folded = text.casefold()
    if any(word in folded for word in _NAMED):
        text = _QUERY.sub(rf"\1{HIDDEN}", text)
    text = _HEADER.sub(lambda found: found[0].replace(found[1], HIDDEN), text)
    if _STARTS.search(text) or any(len(word) >= _SHORTEST_WORD for word in text.split()):
        text = _SHAPES.sub(HIDDEN, text)
    return text


def masked_words(text: str) -> str:
    """Also mask long opaque words, for providers' messages, where no id is needed."""
    return _OPAQUE.sub(HIDDEN, masked(text))


def spellings(secret: str) -> Iterator[str]:
    """The secret as it is, quoted by Python and JSON, URL-encoded, and in base64."""
    yield secret
    yield repr(secret)[1:-1]
    yield repr(secret.encode())[2:-1]
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    encoded = base64.b64encode(secret.encode()).decode()
    yield encoded.rstrip("=")
    yield base64.urlsafe_b64encode(secret.encode()).decode().rstrip("=")


class Secrets:
    """Masks known secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._spelt: tuple[str, ...] = ()
        self._echoes: re.Pattern[str] | None = None
        self._ends: frozenset[tuple[str, str]] = frozenset()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        known = [secret for secret in secrets if len(secret) >= SHORTEST]
        spelt = {spelling for secret in known for spelling in spellings(secret)}
        self._spelt = tuple(sorted({*self._spelt, *spelt}, key=len, reverse=True))
        self._ends |= {(each[:_ECHOED], each[-_ECHOED:]) for each in known if len(each) >= _MIN_ECHOED}
        if self._ends:
            cut = r"[\w\-]{0,8}(?:[*•….]{2,60}|…)[\w\-]{0,4}"
            pairs = (f"{re.escape(first)}{cut}{re.escape(last)}" for first, last in sorted(self._ends))
            self._echoes = re.compile("|".join(pairs))

    def hidden(self, text: str) -> str:
        for secret in self._spelt:
            text = text.replace(secret, HIDDEN)
        return text if self._echoes is None else self._echoes.sub(HIDDEN, text)
