"""Names of other people's tools, made legal at every provider, unique, and the same after every start."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

LONGEST = 64
"""OpenAI's and Anthropic's limit."""
_LONGEST_PREFIX = 24
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def prefixes(servers: Collection[str]) -> Mapping[str, str]:
    """What the names of each server's tools begin with, by the server's name. It depends on what is configured, never
    on who is connected. Where one server's prefix could begin another's tool (`git` and `git_hub`) the underscores of
    the longer become hyphens."""
    plain = {name: _legal(name, _LONGEST_PREFIX) for name in servers}
    for name, prefix in plain.items():
        if any(prefix.startswith(f"{other}_") for other in plain.values()):
            plain[name] = prefix.replace("_", "-")
    counted = Counter(plain.values())
    return {
        name: prefix if counted[prefix] == 1 or prefix == name else f"{prefix}-{_digest(name)}"
        for name, prefix in plain.items()
    }


def tool_names(prefix: str, tools: Sequence[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """The name `<prefix>_<tool>` for each tool. One that would be the name of another, or one of `taken`, gets six
    signs of its own; so does one that had to be cut."""
    wanted = {tool: _legal(f"{prefix}_{tool}", LONGEST) for tool in tools}
    counted = Counter(wanted.values())
    return {
        tool: name
        if name not in taken and (counted[name] == 1 or name == f"{prefix}_{tool}")
        else f"{name[: LONGEST - 7]}_{_digest(tool)}"
        for tool, name in wanted.items()
    }


def _legal(name: str, longest: int) -> str:
    """Letters, digits, underscore and hyphen, beginning with a letter or underscore as Gemini wants it."""
    legal = _FOREIGN.sub("_", name).strip("_") or "_"
    legal = legal if legal[0].isalpha() or legal[0] == "_" else f"_{legal}"
    return legal if len(legal) <= longest else f"{legal[: longest - 7]}_{_digest(name)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
