"""Names of MCP tools: valid at every provider, unique, and the same after every start."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

NAMESPACE = "mcp:"
"""Prefix of the name of a server's toolkit. No other toolkit has a colon in its name."""
MAX_CHARACTERS = 64
"""The limit of OpenAI and Anthropic."""
_PREFIX_CHARACTERS = 24
_NAMELESS = "server"
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


def prefixes(servers: Collection[str]) -> Mapping[str, str]:
    """The prefix of each server's tools, by server name. Depends only on which servers are configured.

    Tools of two servers never share a name: prefixes differ, and if one could begin another's tool (`git` and
    `git_hub`), the underscores of the longer one become hyphens. A name without a valid letter gets a prefix from its
    hash.
    """
    found = {name: _prefix(name) for name in servers}
    while begun := [name for name, prefix in found.items() if _is_begun(prefix, found.values())]:
        found |= {name: found[name].replace("_", "-") for name in begun}
    counts = Counter(found.values())
    found = {
        name: prefix if counts[prefix] == 1 or prefix == name else f"{prefix}-{_digest(name)}"
        for name, prefix in found.items()
    }
    while imitated := [name for name in sorted(found) if _is_imitation(name, found)]:
        found[imitated[0]] = found[imitated[0]].replace("_", "-") + "-"
    return found


def tool_names(prefix: str, tools: Sequence[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """The name `<prefix>_<tool>` for each tool. If that is too long, in `taken` or the name of another tool, six
    characters of a hash are appended. A tool whose hashed name is taken as well is missing from the result."""
    wanted = {tool: f"{prefix}_{_legal(tool)}" for tool in tools}
    counts = Counter(wanted.values())
    found = {
        tool: name
        for tool, name in wanted.items()
        if name not in taken and len(name) <= MAX_CHARACTERS and _legal(tool)
        if counts[name] == 1 or name == f"{prefix}_{tool}"
    }
    used = {*taken, *found.values()}
    for tool, name in wanted.items():
        hashed = f"{name[: MAX_CHARACTERS - 7].rstrip('_')}_{_digest(tool)}"
        if tool not in found and hashed not in used:
            found[tool] = hashed
            used.add(hashed)
    return found


def _prefix(name: str) -> str:
    legal = _legal(name)
    if not re.search("[A-Za-z0-9]", legal):
        return f"{_NAMELESS}-{_digest(name)}"
    legal = legal if legal[0].isalpha() else f"_{legal}"  # Gemini wants a letter or an underscore first
    return legal if len(legal) <= _PREFIX_CHARACTERS else f"{legal[: _PREFIX_CHARACTERS - 7]}_{_digest(name)}"


def _is_begun(prefix: str, others: Collection[str]) -> bool:
    return any(prefix.startswith(f"{other}_") for other in others)


def _is_imitation(name: str, prefixes: Mapping[str, str]) -> bool:
    """Whether a server has the hashed prefix of another as its name."""
    others = [prefix for other, prefix in prefixes.items() if other != name]
    return prefixes[name] in others or _is_begun(prefixes[name], others)


def _legal(name: str) -> str:
    return _ILLEGAL.sub("_", name).strip("_")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
