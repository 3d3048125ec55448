"""Skills: the file format, the errors of broken files, and the text for the model."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from routing.config.skills import catalogue, parse_skill, prompt_section, read_skills
from routing.errors import ConfigError
from routing.types.skills import Skill, Skills

REVIEW = """---
name: code-review
description: Looks at code with care.
model_tier: coding
keywords: [review, diff, pull request]
---

# How to review

Read it twice.
"""
GOOD = "---\ndescription: Something.\n---\nDo it.\n"


def test_a_skill_is_read() -> None:
    assert parse_skill("folder", REVIEW) == Skill(
        name="code-review",
        description="Looks at code with care.",
        model_tier="coding",
        keywords=("review", "diff", "pull request"),
        body="# How to review\n\nRead it twice.",
    )


def test_only_a_description_is_needed() -> None:
    assert parse_skill("greeting", "---\ndescription: Says hello.\n---") == Skill(
        "greeting", "Says hello.", None, (), ""
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        lambda text: "\n\n" + text,
        lambda text: text.replace("---\n", "--- \t\n"),
        lambda text: text.replace("coding", "CODING"),
        lambda text: text.replace("coding", '"coding"'),
        lambda text: text.replace("[review, diff, pull request]", "review, diff , ,pull  request,review"),
        lambda text: text.replace("[review, diff, pull request]", "\n- review\n- diff\n- pull request\n- ''"),
        lambda text: text.replace("Looks at", ">\n  Looks\n  at"),
        lambda text: text.replace("name:", "license: MIT\nmetadata: {author: [x, 1]}\nallowed-tools:\nname:"),
        lambda text: text.replace("name: code-review", "# comment\nname: &it code-review\nalias: *it"),
    ],
)
def test_yaml_styles_are_equivalent(change: Callable[[str], str]) -> None:
    assert parse_skill("folder", change(REVIEW)) == parse_skill("folder", REVIEW)


def test_lines_of_dashes_in_the_body_stay() -> None:
    skill = parse_skill("x", GOOD + "\n---\nname: other\n---\n\nmore\n---")
    assert (skill.name, skill.body) == ("x", "Do it.\n\n---\nname: other\n---\n\nmore\n---")


@pytest.mark.parametrize(
    ("written", "name"),
    [("2024-01-01", "2024-01-01"), ("123", "123"), ("1.50", "1.50"), ("yes", "yes"), ("0x10", "0x10"), ("'007'", "007"),
     ("", "folder"), ("~", "folder"), ("null", "folder"), ("'  '", "folder"), ("a.b_c-D", "a.b_c-D"),
     ("x" * 64, "x" * 64), ("Prüfung", "Prüfung"), ("Pru\u0308fung", "Prüfung"), ("コード", "コード"),
     ("कोड-समीक्षा", "कोड-समीक्षा")],
)  # fmt: skip
def test_names_are_kept_as_written(written: str, name: str) -> None:
    assert parse_skill("folder", f"---\nname: {written}\ndescription: d\n---").name == name


@pytest.mark.parametrize(
    "name", ["two words", "a/b", "../x", "a\\b", ".", "..", "---", "_", "🚀", "a:b", "x" * 65, "a\\x00"]
)
def test_an_illegal_name_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=r"folder/SKILL\.md: the name .* must be 1 to 64 letters"):
        parse_skill("folder", f'---\nname: "{name}"\ndescription: d\n---'.replace("a\\b", "a\\\\b"))
    if "\\x00" not in name:
        with pytest.raises(ConfigError, match="the name"):
            parse_skill(name, GOOD)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with YAML between two lines of ---"),
        ("# Only Markdown", "must begin with YAML"),
        ("text\n" + GOOD, "must begin with YAML"),
        ("---\ndescription: never closed\n", "must begin with YAML"),
        ("----\ndescription: d\n----", "must begin with YAML"),
        ("---\n---\nbody", "description is missing"),
        ("---\n# nothing\n---\nbody", "description is missing"),
        ("---\nname: x\n---", "description is missing"),
        ("---\ndescription: ''\n---", "description is missing"),
        ("---\ndescription: null\n---", "description is missing"),
        ("---\ndescription: [a]\n---", "description must be a string"),
        ("---\ndescription: {a: b}\n---", "description must be a string"),
        ("---\nname: [a]\ndescription: d\n---", "name must be a string"),
        ("---\ndescription: d\nmodel_tier: turbo\n---", "'turbo' must be one of balanced, smart, coding, deep"),
        ("---\ndescription: d\nmodel_tier: auto\n---", "model_tier 'auto' must be one of"),
        ("---\ndescription: d\nmodel_tier: routing\n---", "model_tier 'routing' must be one of"),
        ("---\ndescription: d\nmodel_tier: [coding]\n---", "model_tier must be a string"),
        ("---\ndescription: d\nkeywords: {a: b}\n---", "keywords must be a list of strings"),
        ("---\ndescription: d\nkeywords: [[a]]\n---", "keywords must be a list of strings"),
        ("---\n- a\n- b\n---", "must be lines of the form `key: value`"),
        ("---\njust text\n---", "must be lines of the form"),
        ("---\ndescription: Review: all\n---", "line 2: not valid YAML, a text that contains a colon must"),
        ("\n\n---\nname: x\ndescription: 'open\n---", "line 6: not valid YAML"),
        ("---\nname: x\n\tdescription: d\n---", "line 3: not valid YAML, a line is indented with a tab"),
        ("---\ndescription: *nobody\n---", "line 2: not valid YAML, a text that begins with \\* must be in quotes"),
        ("---\na: &a [*a]\ndescription: d\n---", "the parser says: found unconstructable recursive node"),
        ("---\n? {a: b}\n: c\n---", "not valid YAML, the parser says: found unhashable key"),
        ("---\ndescription: \x01\n---", "not valid YAML, there is a control character in it"),
        ("---\na: " + "[" * 3_000 + "\n---", "not valid YAML, or nested too deeply"),
        ("---\ndescription: d\nx: " + "y" * 16_000 + "\n---", "the frontmatter is longer than 16,000 characters"),
        ("---\ndescription: !!python/object/apply:os.getcwd []\n---", "description must be a string"),
    ],
)  # fmt: skip
def test_errors_are_named(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"^folder/SKILL\.md.*{reason}"):
        parse_skill("folder", text)


@pytest.mark.parametrize(
    "link", ["[{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}]", "{{<<: [{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}]}}"]
)
def test_a_billion_laughs_attack_is_refused(link: str) -> None:
    levels = [f"l{n}: &l{n} {link.format(f'*l{n - 1}')}" for n in range(1, 40)]
    text = "\n".join(["---", "l0: &l0 {k: ha}", *levels, "description: d", "---", "body"])
    assert parse_skill("x", text).description == "d"
    with pytest.raises(ConfigError, match="description must be a string"):
        parse_skill("x", text.replace("description: d", "description: *l39"))
    with pytest.raises(ConfigError, match="keywords must be a list of strings"):
        parse_skill("x", text.replace("description: d", "description: d\nkeywords: [*l39]"))


def put(folder: Path, name: str, text: str | bytes = GOOD) -> None:
    (folder / name).mkdir()
    (folder / name / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())


def test_skills_are_read_in_order_and_a_broken_one_affects_no_other(tmp_path: Path) -> None:
    put(tmp_path, "zebra")
    put(tmp_path, "review", REVIEW)
    put(tmp_path, "apple")
    put(tmp_path, "broken", "no frontmatter")
    put(tmp_path, "latin", "---\nname: x\ndescription: Größe\n---".encode("latin-1"))
    put(tmp_path, "bad name")
    put(tmp_path, "long", GOOD + "x" * 200_000)
    put(tmp_path, "fits", GOOD + "x" * (200_000 - len(GOOD)))
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "README.md").write_text("not a skill")
    put(tmp_path, ".hidden")
    skills = read_skills(tmp_path)
    assert list(skills.found) == ["apple", "code-review", "fits", "zebra"]
    assert skills.found["code-review"].model_tier == "coding"
    assert list(skills.broken) == ["bad name", "broken", "empty", "folder", "latin", "long"]
    assert skills.broken["broken"].startswith("broken/SKILL.md: it must begin with YAML")
    assert skills.broken["latin"] == "latin/SKILL.md line 3: the text is not UTF-8."
    assert skills.broken["long"] == "long/SKILL.md is longer than 200 kB."
    assert skills.broken["empty"] == "empty has no SKILL.md."
    assert skills.broken["folder"] == "folder/SKILL.md is not a file."
    assert "'bad name' must be 1 to 64 letters" in skills.broken["bad name"]


def test_a_duplicate_skill_name_is_broken(tmp_path: Path) -> None:
    put(tmp_path, "a", "---\nname: Same\ndescription: first\n---")
    put(tmp_path, "b", "---\nname: same\ndescription: second\n---")
    put(tmp_path, "same")
    skills = read_skills(tmp_path)
    assert [skill.description for skill in skills.found.values()] == ["first"]
    assert skills.broken["b"] == "b/SKILL.md: the name same is taken by the skill in a."
    assert list(skills.broken) == ["b", "same"]


def test_no_folder_has_no_skills_and_a_file_is_no_folder(tmp_path: Path) -> None:
    assert read_skills(tmp_path / "skills") == Skills({}, {})
    (tmp_path / "file").write_text("x")
    assert read_skills(tmp_path / "file").broken.keys() == {"file"}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")
def test_links_in_a_circle_and_pipes_are_broken(tmp_path: Path) -> None:
    put(tmp_path, "good")
    os.symlink("loop", tmp_path / "loop")
    os.symlink("nowhere", tmp_path / "gone")
    for name in ("circle", "pipe", "linked"):
        (tmp_path / name).mkdir()
    os.symlink("SKILL.md", tmp_path / "circle" / "SKILL.md")
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    os.symlink(tmp_path / "good" / "SKILL.md", tmp_path / "linked" / "SKILL.md")
    skills = read_skills(tmp_path)
    assert list(skills.found) == ["good", "linked"]
    assert list(skills.broken) == ["circle", "gone", "loop", "pipe"]
    assert "can't be read" in skills.broken["loop"]
    assert "can't be read" in skills.broken["circle"]
    assert skills.broken["pipe"] == "pipe/SKILL.md is not a file."


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_skill_is_broken(tmp_path: Path) -> None:
    put(tmp_path, "good")
    put(tmp_path, "shut")
    (tmp_path / "shut" / "SKILL.md").chmod(0)
    skills = read_skills(tmp_path)
    assert list(skills.found) == ["good"]
    assert "can't be read: Permission denied" in skills.broken["shut"]


@pytest.mark.skipif(sys.platform != "linux", reason="a name that is not UTF-8 needs a file system that takes it")
def test_an_undecodable_folder_name_can_be_shown(tmp_path: Path) -> None:
    put(tmp_path, "a\udcff\n")
    skills = read_skills(tmp_path)
    assert list(skills.broken) == ["a??"]
    assert skills.broken["a??"].encode()


def skills_of(*made: Skill) -> Skills:
    return Skills({skill.name: skill for skill in made}, {})


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("code-review", "code-review"), ("CODE-REVIEW", "code-review"), (" codereview ", "code-review"),
     ("code_revew", "code-review"), ("writ", "Writing"), ("xyz", None), ("", None)],
)  # fmt: skip
def test_the_nearest_name(asked: str, meant: str | None) -> None:
    skills = skills_of(Skill("code-review", "d", None, (), ""), Skill("Writing", "d", None, (), ""))
    assert skills.nearest(asked) == meant


def test_no_skills_have_no_suggestions() -> None:
    assert Skills({}, {}).nearest("x") is None


@pytest.mark.parametrize(
    ("tier", "in_effect", "told"), [("coding", True, True), ("coding", False, False), (None, True, False)]
)
def test_a_tier_switch_is_mentioned_only_if_it_happened(tier: str | None, in_effect: bool, told: bool) -> None:
    text = "---\ndescription: d\nmodel_tier: " + (tier or "") + "\n---\nRead it twice."
    section = prompt_section(parse_skill("code-review", text), in_effect)
    assert '<skill name="code-review">\nRead it twice.\n</skill>' in section
    assert ("this conversation was switched to the `coding` tier" in section) is told
    assert ("tier" in section) is told


def test_the_catalogue_has_a_line_for_each() -> None:
    skills = skills_of(
        Skill("code-review", "Looks at code.", "coding", ("review", "diff"), "SECRET BODY"),
        Skill("greeting", "Says hello. " * 100, None, (), ""),
    )
    first, second = catalogue(skills).split("\n")
    assert first == "- code-review: Looks at code. (keywords: review, diff)"
    assert second.startswith("- greeting: Says hello. ")
    assert second.endswith("…")
    assert len(second) == 12 + 300
    assert catalogue(Skills({}, {})) == ""
