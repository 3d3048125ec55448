"""Differences between two versions of a file."""

from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest

from bot.admin import diffs
from bot.admin.diffs import MAX_COMPARED, MAX_LINES, file_diff


def texts(before: str, after: str) -> list[str]:
    return [f"{line.kind} {line.text}" for line in file_diff("x.json", False, before, after).lines]


def plain(before: list[str], after: list[str]) -> list[str]:
    """What difflib finds in whole files."""
    found = []
    for number, group in enumerate(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3)):
        if number or group[0][1]:
            found.append(f"gap line {group[0][3] + 1}")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                found += [f"same {line}" for line in after[j1:j2]]
                continue
            found += [f"removed {line}" for line in before[i1:i2]]
            found += [f"added {line}" for line in after[j1:j2]]
    return found


def test_a_change_has_the_lines_around_it_and_says_where_it_is() -> None:
    before = [f"line {number}" for number in range(1, 101)]
    after = [*before[:49], "new", *before[50:]]
    found = texts("\n".join(before), "\n".join(after))
    assert found == plain(before, after)
    assert found[:2] == ["gap line 47", "same line 47"]
    assert texts("a", "a") == []
    assert texts("", "a") == ["added a"]
    assert texts("a\na", "a") == ["same a", "removed a"]


@pytest.mark.parametrize("seed", range(50))
def test_every_changed_line_is_there(seed: int) -> None:
    chance = random.Random(seed)
    before = [f"line {number}" for number in range(chance.randrange(30))]
    after = [line if chance.random() > 0.1 else "new" for line in before if chance.random() > 0.1]
    after += ["end"] * chance.randrange(2)
    found = texts("\n".join(before), "\n".join(after))
    assert [each for each in found if not each.startswith("gap")] == [
        each for each in plain(before, after) if not each.startswith("gap")
    ]


def test_a_comment_shows_no_key() -> None:
    old_key = "a8sdf7s6d5f4s3d2f1g0h9j8k7l6q5w4"
    (line, _) = file_diff(".env", True, "", f"# before: {old_key}\nLOG_LEVEL=INFO\n").lines
    assert line.text == "# before: ***"


def test_large_files_are_not_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model of a large catalogue has the same lines, and difflib would need minutes."""
    compared = []

    class Matcher(SequenceMatcher[str]):
        def __init__(self, junk: None, a: list[str], b: list[str], autojunk: bool) -> None:
            compared.append(max(len(a), len(b)))
            super().__init__(junk, a, b, autojunk)

    monkeypatch.setattr(diffs, "SequenceMatcher", Matcher)
    before = '{\n"id": 1,\n"max": 2\n},\n' * 5_000
    found = texts(before, before.replace("max", "most"))
    assert len(found) == MAX_LINES + 1
    assert found[0] == "same {"
    assert 'removed "max": 2' in found
    assert compared == []
    one = before + '"last": 1\n' + before
    assert 'added "last": 2' in texts(one, one.replace('"last": 1', '"last": 2'))
    assert max(compared) <= MAX_COMPARED
