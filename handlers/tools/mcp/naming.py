"""Names of other people's tools, made legal at every provider, unique, and the same after every start."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

NAMESPACE = "mcp:"
"""What a server's toolkit is called begins with it: no name of ours or of the workspace has a colon."""
LONGEST = 64
"""OpenAI's and Anthropic's limit."""
_LONGEST_PREFIX = 24
_NAMELESS = "server"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def prefixes(servers: Collection[str]) -> Mapping[str, str]:
    """What the names of each server's tools begin with, by the server's name. It depends on what is configured, never
    on who is connected. Where one server's prefix could begin another's tool (`git` and `git_hub`) the underscores of
    the longer become hyphens; a name without a legal letter gets six signs of its own."""
    plain = {name: _prefix(name) for name in servers}
    while begun := [name for name, prefix in plain.items() if _begun(prefix, plain.values())]:
        plain |= {name: plain[name].replace("_", "-") for name in begun}
    counted = Counter(plain.values())
    return {
        name: prefix if counted[prefix] == 1 or prefix == name else f"{prefix}-{_digest(name)}"
        for name, prefix in plain.items()
    }


def tool_names(prefix: str, tools: Sequence[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """The name `<prefix>_<tool>` for each tool. One that would be the name of another, or one of `taken`, gets six
    signs of its own; so does one that had to be cut. A tool for which that is another's name, too, has none."""
    wanted = {tool: f"{prefix}_{_legal(tool)}" for tool in tools}
    counted = Counter(wanted.values())
    found = {
        tool: name
        for tool, name in wanted.items()
        if name not in taken and len(name) <= LONGEST and _legal(tool)
        if counted[name] == 1 or name == f"{prefix}_{tool}"
    }
    used = {*taken, *found.values()}
    for tool, name in wanted.items():
        own = f"{name[: LONGEST - 7].rstrip('_')}_{_digest(tool)}"
        if tool not in found and own not in used:
            found[tool] = own
            used.add(own)
    return found


def _prefix(name: str) -> str:
    legal = _legal(name)
    if not re.search("[A-Za-z0-9]", legal):
        return f"{_NAMELESS}-{_digest(name)}"
    legal = legal if legal[0].isalpha() else f"_{legal}"  # Gemini wants a letter or an underscore first
    return legal if len(legal) <= _LONGEST_PREFIX else f"{legal[: _LONGEST_PREFIX - 7]}_{_digest(name)}"


def _begun(prefix: str, others: Collection[str]) -> bool:
    return any(prefix.startswith(f"{other}_") for other in others)


def _legal(name: str) -> str:
    """Its letters, digits, underscores and hyphens."""
    return _FOREIGN.sub("_", name).strip("_")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
