"""What a repository says about the commits of a push, held against their names."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence

import pytest

from handlers.tools.git.commits import Pushed, check
from routing.errors import ToolFailed

WHO = "Tess <tess@example.com> 1800000000 +0000"


def text(message: str, *parents: str) -> bytes:
    lines = [f"tree {'e' * 40}", *(f"parent {each}" for each in parents), f"author {WHO}", f"committer {WHO}"]
    return "\n".join([*lines, "", f"{message}\n"]).encode()


def name(commit: bytes, hashed: str = "sha1") -> str:
    return hashlib.new(hashed, b"commit %d\0" % len(commit) + commit).hexdigest()


def printed(*commits: bytes, names: Sequence[str] = ()) -> str:
    """As `git cat-file --batch` prints them, under other names if they are given."""
    entries = [
        b"%b commit %d\n%b\n" % ((names[at] if names else name(each)).encode(), len(each), each)
        for at, each in enumerate(commits)
    ]
    return b64encode(b"".join(entries)).decode()


FIRST = text("First")
BASE = text("On the server", name(FIRST))
WORK = text("Work\non two lines\n\nand why", name(BASE))
MORE = text("More", name(WORK))
ASIDE = text("Aside", name(FIRST))
MERGE = text("Merge", name(WORK), name(ASIDE))
BEGUN_EARLIER = text("Merge what began earlier", name(WORK), name(FIRST))


def test_commits_are_counted_from_the_pushed_one_to_that_on_the_server() -> None:
    lines = (f"{name(MORE)[:10]} More", f"{name(WORK)[:10]} Work on two lines")
    assert check(printed(MORE, WORK), name(BASE), name(MORE)) == Pushed(2, lines, older=False)
    assert check(printed(MORE, WORK, BASE, FIRST), name(BASE), name(MORE)) == Pushed(2, lines, older=False)


def test_names_may_be_sha256() -> None:
    base = "b" * 64
    commit = text("Work", base)
    assert check(printed(commit), base, name(commit, "sha256")).count == 1


def test_a_merged_commit_is_on_the_server_only_if_the_way_to_it_is_shown() -> None:
    assert check(printed(BEGUN_EARLIER, WORK, BASE), name(BASE), name(BEGUN_EARLIER)).count == 2
    merged = check(printed(MERGE, WORK, ASIDE, BASE), name(BASE), name(MERGE))
    assert [line.split()[1] for line in merged.lines] == ["Merge", "Work", "Aside"]
    for hidden in (printed(MERGE, WORK, BASE), printed(MERGE, WORK, ASIDE), printed(BEGUN_EARLIER, WORK)):
        with pytest.raises(ToolFailed, match="can't be checked"):
            check(hidden, name(BASE), name(MERGE))


def test_a_new_branch_may_have_older_commits() -> None:
    assert check(printed(MORE, WORK), "", name(MORE)).older
    whole = check(printed(MORE, WORK, BASE, FIRST), "", name(MORE))
    assert (whole.count, whole.older) == (4, False)


@pytest.mark.parametrize(
    ("commits", "names"),
    [
        ([text("Harmless", name(BASE))], [name(MORE)]),  # another text under its name
        ([MORE, text("Harmless", name(BASE))], [name(MORE), name(WORK)]),
        ([MORE], ()),  # a parent is left out
        ([text("Other")], ()),
        ([], ()),
    ],
)
def test_a_lie_is_noticed(commits: Sequence[bytes], names: Sequence[str]) -> None:
    with pytest.raises(ToolFailed, match="can't be checked"):
        check(printed(*commits, names=names), name(BASE), name(MORE))


def test_a_push_that_drops_commits_of_the_server_is_refused() -> None:
    for commits in ((ASIDE, FIRST), (ASIDE, FIRST, BASE)):
        with pytest.raises(ToolFailed, match="can't be checked"):
            check(printed(*commits), name(BASE), name(ASIDE))


def test_only_the_parents_that_git_reads_count() -> None:
    """Those directly below the tree: not those in the text, or after the author."""
    commit = WORK.replace(b"\nauthor", b"\nauthor x\nparent " + b"f" * 40 + b"\nauthor", 1).replace(
        b"\n\nWork", b"\n\nWork\nparent " + b"f" * 40
    )
    assert check(printed(commit), name(BASE), name(commit)).count == 1


@pytest.mark.parametrize(
    "garbage",
    [
        "*",
        "AAA",
        *(b64encode(each).decode() for each in (b"x", b"aa missing\n", b"aa blob 3\nabc\n", b"aa commit -5\n")),
    ],
)
def test_garbage_is_refused(garbage: str) -> None:
    with pytest.raises(ToolFailed, match="can't be checked"):
        check(garbage, name(BASE), name(MORE))
    with pytest.raises(ToolFailed, match="can't be checked"):
        check(garbage, "", "not a name")
