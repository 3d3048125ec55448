"""Reads skills: instructions in `<name>/SKILL.md` that a person or the model can activate."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from routing.errors import ConfigError, Reason, system_reason
from routing.types.skills import Skill, Skills
from routing.types.tiers import TIERS, Tier

FILE = "SKILL.md"
MAX_BYTES = 200_000
_MAX_FRONTMATTER_CHARACTERS = 16_000
"""Maximum length in characters; YAML takes about a second for 100,000."""
_MAX_NAME_CHARACTERS = 64
MAX_CATALOGUE_CHARACTERS = 6_000
"""Sent with every call."""
_CATALOGUE_CHARACTERS = 300
"""Maximum length of a skill's description, and of its keywords, in the list for the model."""
_ABSENT = ("", "~", "null")
_FRONTMATTER = re.compile(r"\s*^---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)", re.DOTALL | re.MULTILINE)


def read_skills(folder: Path) -> Skills:
    """Read every skill of a folder, which may be missing. Broken skills are reported and don't affect others; of two
    with the same name the first folder's wins. Blocks on disk access."""
    found: dict[str, Skill] = {}
    broken: dict[str, Reason] = {}
    owners: dict[str, str] = {}
    try:
        entries = sorted(
            each for each in folder.iterdir() if not each.name.startswith(".") and not os.path.isfile(each)
        )
    except FileNotFoundError:
        entries = []
    except OSError as error:
        return Skills(
            {},
            {
                folder.name: ConfigError(
                    "{file} can't be read: {error}.", file=folder.name, error=system_reason(error)
                ).reason
            },
        )
    for entry in entries:
        title = _printable(entry.name)
        try:
            skill = parse_skill(entry.name, _text(entry / FILE, title))
            owner = owners.setdefault(skill.name.casefold(), entry.name)
            if owner != entry.name:
                raise ConfigError(
                    "{file}: the name {name} is taken by the skill in {folder}.",
                    file=f"{title}/{FILE}",
                    name=skill.name,
                    folder=_printable(owner),
                )
            found[skill.name] = skill
        except ConfigError as error:
            broken[title] = error.reason
    return Skills(dict(sorted(found.items())), broken)


def parse_skill(folder_name: str, text: str) -> Skill:
    """Parse a skill file. Raises ConfigError with the file and line or key. Values are texts as written, even dates,
    numbers and `yes`."""
    origin = f"{_printable(folder_name)}/{FILE}"
    parts = _FRONTMATTER.match(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    if parts is None:
        raise ConfigError(
            "{file}: it must begin with YAML between two lines of ---, with a description in it.", file=origin
        )
    values = _frontmatter(origin, parts.group(1), parts.string.count("\n", 0, parts.start(1)) + 1)
    name = unicodedata.normalize("NFC", _value(origin, values, "name") or folder_name)
    if not _legal(name):
        raise ConfigError(
            "{file}: the name {name!r} must be 1 to {limit} letters, digits, hyphens, underscores or dots.",
            file=origin,
            name=_printable(name[:_MAX_NAME_CHARACTERS]),
            limit=_MAX_NAME_CHARACTERS,
        )
    description = " ".join(_value(origin, values, "description").split())
    if not description:
        raise ConfigError("{file}: description is missing; say in a sentence what the skill is for.", file=origin)
    return Skill(name, description, _tier(origin, values), _keywords(origin, values), parts.group(2).strip())


def prompt_section(skill: Skill, tier_in_effect: bool) -> str:
    """The section of the system prompt about the active skill. `tier_in_effect`: the skill's tier serves the turn."""
    lines = [f"The skill {skill.name} is active in this conversation. Follow its instructions where they apply."]
    if tier_in_effect and skill.model_tier is not None:
        switched = f"Because of this skill, this conversation was switched to the `{skill.model_tier}` tier"
        lines.append(f"{switched}; a later switch, by set_tier for instance, takes the place of this one.")
    return f'{" ".join(lines)}\n<skill name="{skill.name}">\n{skill.body}\n</skill>'


def catalogue(skills: Skills) -> str:
    """One line per skill, for the model to choose from; empty without skills. If there are too many, the last ones are
    listed by name only."""
    lines: list[str] = []
    length = 0
    for skill in skills.found.values():
        keywords = f" (keywords: {_short(', '.join(skill.keywords))})" if skill.keywords else ""
        line = f"- {skill.name}: {_short(skill.description)}{keywords}"
        lines.append(line if length + len(line) <= MAX_CATALOGUE_CHARACTERS else f"- {skill.name}")
        length += len(lines[-1])
    return "\n".join(lines)


def _text(path: Path, title: str) -> str:
    """Read a skill's file, which must be a plain file of limited size; a pipe would never end."""
    origin = f"{title}/{FILE}"
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError("{file} is not a file.", file=origin)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise ConfigError("{folder} has no {file}.", folder=title, file=FILE) from error
    except OSError as error:
        raise ConfigError("{file} can't be read: {error}.", file=origin, error=system_reason(error)) from error
    if len(data) > MAX_BYTES:
        raise ConfigError("{file} is longer than {limit:,} kB.", file=origin, limit=MAX_BYTES // 1000)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("{file} line {line}: the text is not UTF-8.", file=origin, line=str(line)) from error


_YAML = (
    ("mapping values are not allowed", Reason("a text that contains a colon must be in quotes")),
    ("'\\t'", Reason("a line is indented with a tab; use spaces")),
    ("end of stream", Reason("a quote or a bracket is not closed")),
    ("<stream end>", Reason("a quote or a bracket is not closed")),
    ("could not find expected ':'", Reason("a colon is missing after a key")),
    ("<block mapping start>", Reason("the lines are not indented evenly")),
    ("<block end>", Reason("the lines are not indented evenly")),
    ("special characters", Reason("there is a control character in it")),
    ("cannot start any token", Reason("a text that begins with a special character must be in quotes")),
    ("unknown escape", Reason("a backslash in a text must be doubled")),
    ("sequence entries are not allowed", Reason("a list must begin on a new line")),
    ("'<scalar>'", Reason("there is more text after a value")),
    ("undefined alias", Reason("a text that begins with * must be in quotes")),
)
"""Plain words for the usual problems, by what the parser says."""


def _yaml_problem(said: str) -> str:
    return next((reason for words, reason in _YAML if words in said), Reason("the parser says: {said}", said=said))


def _frontmatter(origin: str, text: str, first_line: int) -> Mapping[str, object]:
    """Parse the frontmatter as texts and lists of texts. This loader creates no dates, objects or merged keys, and an
    alias stays one object however often it is used."""
    if len(text) > _MAX_FRONTMATTER_CHARACTERS:
        words = "{file}: the frontmatter is longer than {limit:,} characters."
        raise ConfigError(words, file=origin, limit=_MAX_FRONTMATTER_CHARACTERS)
    import yaml  # takes 20 ms, needed only with skills

    try:
        values = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Reason("{file} line {line}", file=origin, line=str(mark.line + first_line)) if mark else origin
        raise ConfigError(
            "{file}: not valid YAML, {error}.", file=where, error=_yaml_problem(error.problem or error.context or "")
        ) from error
    except yaml.reader.ReaderError as error:
        raise ConfigError("{file}: not valid YAML, {error}.", file=origin, error=_yaml_problem(error.reason)) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError("{file}: not valid YAML, or nested too deeply.", file=origin) from error
    if values not in (None, "") and not isinstance(values, dict):
        raise ConfigError("{file}: the frontmatter must be lines of the form `key: value`.", file=origin)
    return values or {}


def _value(origin: str, values: Mapping[str, object], key: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise ConfigError("{file}: {key} must be a string.", file=origin, key=key)
    return "" if value.strip() in _ABSENT else value.strip()


def _tier(origin: str, values: Mapping[str, object]) -> Tier | None:
    named = _value(origin, values, "model_tier")
    tier = next((known for known in TIERS if known == named.lower()), None)
    if named and tier is None:
        words = "{file}: model_tier {name!r} must be one of {choices}."
        raise ConfigError(words, file=origin, name=named[:_MAX_NAME_CHARACTERS], choices=", ".join(TIERS))
    return tier


def _keywords(origin: str, values: Mapping[str, object]) -> tuple[str, ...]:
    """A list of texts, or one text with commas; blanks and duplicates are dropped."""
    given = values.get("keywords", "")
    words = _value(origin, values, "keywords").split(",") if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ConfigError("{file}: keywords must be a list of strings.", file=origin)
    return tuple(dict.fromkeys(clean for word in words if (clean := " ".join(word.split()))))


def _legal(name: str) -> bool:
    kinds = {"-" if sign in "-_." else unicodedata.category(sign)[0] for sign in name}
    return 0 < len(name) <= _MAX_NAME_CHARACTERS and kinds <= {"-", "L", "M", "N"} and bool(kinds & {"L", "N"})


def _short(text: str) -> str:
    return text if len(text) <= _CATALOGUE_CHARACTERS else text[: _CATALOGUE_CHARACTERS - 1] + "…"


def _printable(text: str) -> str:
    """A folder name as printable text."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
