"""The commits that a push sends, checked outside the sandbox.

The sandbox prints them, and there a repository can pretend anything. But a commit's name is the hash of its text, which
names its parents and its files, so a commit that fits its name is what the server gets under that name."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from routing.errors import ToolFailed

SUBJECT_CHARACTERS = 200
UNCHECKED = "The commits can't be checked, so nothing was pushed."
_HEAD = re.compile(rb"[0-9a-f]+ commit ([0-9]{1,9})\n")
_HASHES = {40: hashlib.sha1, 64: hashlib.sha256}


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit whose text fits its name."""

    parents: tuple[str, ...]
    subject: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The commits that a push adds, each with the beginning of its name. `older` ones may follow, if the branch is new
    on the server."""

    count: int
    lines: tuple[str, ...]
    older: bool


def check(printed: str, base: str, commit: str) -> Pushed:
    """Follows the parents from `commit` to `base`, or as far as they are given if that is empty. `printed` is what
    `git cat-file --batch` prints, in base64. Raises ToolFailed if `commit` does not contain `base`, or if a commit on
    the way is missing or does not fit its name."""
    commits = _read(printed, commit)
    known = set.union(*_reached(commits, [base])) if base else set()
    new, ends = _reached(commits, [commit], known)
    missing = ends - known
    if commit not in new or (base and (missing or base not in ends)):
        raise ToolFailed(f"{UNCHECKED} Use git_pull, or clone the repository again with its whole history.")
    lines = tuple(f"{name[:10]} {each.subject}" for name, each in commits.items() if name in new)
    return Pushed(len(new), lines, bool(missing))


def _reached(
    commits: Mapping[str, Commit], begin: Iterable[str], until: Collection[str] = ()
) -> tuple[set[str], set[str]]:
    """The given commits that lie behind `begin`, and where the ways end: at `until`, or at one that is not given."""
    reached, ends, waiting = set[str](), set[str](), list(begin)
    while waiting:
        name = waiting.pop()
        if name in until or name not in commits:
            ends.add(name)
        elif name not in reached:
            reached.add(name)
            waiting += commits[name].parents
    return reached, ends


def _read(printed: str, like: str) -> dict[str, Commit]:
    """Commits by the names that their texts have, in the order given."""
    if len(like) not in _HASHES:
        raise ToolFailed(UNCHECKED)
    commits = {}
    try:
        rest = memoryview(b64decode(printed, validate=True))
        while rest:
            head = _HEAD.match(rest)
            if head is None:
                raise ToolFailed(UNCHECKED)
            end = head.end() + int(head[1])
            text = bytes(rest[head.end() : end])
            commits[_HASHES[len(like)](b"commit %d\0%b" % (len(text), text)).hexdigest()] = _parsed(text)
            rest = rest[end + 1 :]
    except ValueError:
        raise ToolFailed(UNCHECKED) from None
    return commits


def _parsed(text: bytes) -> Commit:
    head, _, message = text.partition(b"\n\n")
    parents = []
    for line in head.split(b"\n")[1:]:
        if not line.startswith(b"parent "):
            break
        parents.append(line.removeprefix(b"parent ").decode("ascii", "replace"))
    first = message.lstrip(b"\n").partition(b"\n\n")[0].decode(errors="replace")
    subject = " ".join(first.split())
    cut = f"{subject[:SUBJECT_CHARACTERS]}…" if len(subject) > SUBJECT_CHARACTERS else subject
    return Commit(tuple(parents), cut)
