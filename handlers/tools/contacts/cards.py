"""Contacts: reading and changing vCards.

It imports vobject, so it is imported when an address book is first used.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import uuid4

import vobject

from routing.errors import ToolFailed

MAX_TEXT = 2_000
MAX_LINE = 200
MAX_VALUES = 20
MAX_LINES = 5_000
"""In one contact."""
_SEPARATORS = {"org": ", ", "adr": "; ", "bday": ", ", "note": " "}
BROKEN = (vobject.base.VObjectError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError)
"""What the library raises for contacts that break the rules, such as those in an encoding that does not exist."""
_NAME, _VALUE = "[A-Za-z0-9_-]++", r'(?:"[^"]*+"|[^";:,]*+)'
_LINE = re.compile(rf"(?:{_NAME}\.)?{_NAME}(?:;(?=[;:]))?(?:;{_NAME}(?:={_VALUE})?+(?:,{_VALUE})*+)*+:")
"""How a line begins. The library takes exponential time to refuse others, in which nothing else in the process runs."""


@dataclass(frozen=True, slots=True)
class Fields:
    """What to set. None and "" leave a field as it is; no values and a text of spaces remove it."""

    name: str = ""
    phones: Sequence[str] | None = None
    emails: Sequence[str] | None = None
    company: str = ""
    address: str = ""
    birthday: str = ""
    notes: str = ""


def parse(text: str) -> Any | None:
    """A contact as the server keeps it; None if it can't be read or is too large."""
    try:
        for number, (line, _) in enumerate(vobject.base.getLogicalLines(io.StringIO(text), False)):
            if number >= MAX_LINES or _LINE.match(line) is None:
                return None
        card = vobject.readOne(text)
    except BROKEN:
        return None
    return card if card is not None and card.name == "VCARD" else None


def shown(card: Any) -> dict[str, Any]:
    """A contact for a model; without what is empty."""
    found = {
        "name": name_of(card),
        "phones": _values(card, "tel"),
        "emails": _values(card, "email"),
        "company": _text(card, "org"),
        "address": _text(card, "adr"),
        "birthday": _text(card, "bday"),
        "notes": _text(card, "note"),
    }
    return {name: value for name, value in found.items() if value}


def name_of(card: Any) -> str:
    """The name that people read."""
    names = _values(card, "fn") or _values(card, "n") or _values(card, "org")
    return names[0] if names else "(no name)"


def fits(card: Any, words: Sequence[str]) -> bool:
    """Whether all words are in a contact. Numbers are compared by their digits."""
    fields = ("fn", "n", "nickname", "tel", "email", "org", "adr", "note", "bday")
    values = [value for field in fields for value in _values(card, field)]
    text = " ".join(values).casefold()
    digits = ["".join(filter(str.isdigit, value)) for value in _values(card, "tel")]
    return all(word in text or (word.isdigit() and any(word in each for each in digits)) for word in words)


def new(fields: Fields) -> tuple[str, bytes]:
    """A new contact and its unique id. Raises ToolFailed."""
    card, uid = vobject.vCard(), str(uuid4())
    card.add("uid").value = uid
    _set_name(card, fields.name)
    return uid, change(card, fields)


def change(card: Any, fields: Fields) -> bytes:
    """The contact with these fields set. A value that is given as it is shown stays as it is, with its label and its
    parts. Raises ToolFailed."""
    if fields.name and _plain(fields.name) != _plain(name_of(card)):
        _set_name(card, fields.name)
    _set_each(card, "tel", fields.phones)
    _set_each(card, "email", fields.emails)
    _set(card, "org", fields.company, lambda text: [_line(text)])
    _set(card, "adr", fields.address, lambda text: vobject.vcard.Address(street=_line(text)))
    _set(card, "bday", fields.birthday, _birthday)
    _set(card, "note", fields.notes, _note)
    try:
        return str(card.serialize(validate=False)).encode()
    except BROKEN:
        raise ToolFailed("This contact can't be changed here.") from None


def lost(card: Any, fields: Fields) -> list[str]:
    """Sets these fields; returns the values that are gone. Raises ToolFailed."""
    before = _all_values(card)
    change(card, fields)
    after = _all_values(card)
    return [value for field, values in before.items() for value in values if value not in after[field]]


def _all_values(card: Any) -> dict[str, list[str]]:
    fields = ("fn", "tel", "email", "org", "adr", "bday", "note")
    return {field: list(filter(None, map(_value, card.contents.get(field, [])))) for field in fields}


def _set_name(card: Any, text: str) -> None:
    name = _line(text)
    if not name:
        raise ToolFailed("The contact needs a name.")
    given, _, family = name.rpartition(" ")
    card.contents["fn"], card.contents["n"] = [], []
    card.add("fn").value = name
    card.add("n").value = vobject.vcard.Name(family=family, given=given)


def _set_each(card: Any, field: str, values: Sequence[str] | None) -> None:
    if values is None:
        return
    if len(values) > MAX_VALUES:
        raise ToolFailed(
            f"A contact takes up to {MAX_VALUES} values per field, and {len(values)} were given: leave some out."
        )
    there = card.contents.pop(field, [])
    for line in filter(None, map(_line, values)):
        same = next((each for each in there if _plain(_value(each)) == line), None)
        if same is None:
            card.add(field).value = line
        else:
            there.remove(same)
            card.contents.setdefault(field, []).append(same)


def _set(card: Any, field: str, text: str, value: Callable[[str], Any]) -> None:
    if not text or " ".join(text.split()) == _text(card, field):
        return
    card.contents.pop(field, None)
    if text.strip():
        card.add(field).value = value(text)


def _text(card: Any, field: str) -> str:
    return _SEPARATORS[field].join(_values(card, field))


def _values(card: Any, field: str) -> list[str]:
    """The first values of a field as lines, each at most MAX_TEXT long."""
    values = map(_value, card.contents.get(field, [])[:MAX_VALUES])
    return [line for each in values if (line := each[:MAX_TEXT].strip(" ,"))]


def _value(line: Any) -> str:
    """The value of one line of a vCard, as one line of text."""
    value = line.value
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return " ".join(text.split()).strip(" ,")


def _plain(text: str) -> str:
    """On one line, without invisible characters."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def _line(text: str) -> str:
    """On one line, without invisible characters. Raises ToolFailed if it is longer than MAX_LINE."""
    line = _plain(text)
    if len(line) > MAX_LINE:
        raise ToolFailed(f"“{line[:30]}…” is longer than {MAX_LINE} characters: shorten it, or put it into the notes.")
    return line


def _note(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ToolFailed(f"The notes are longer than {MAX_TEXT:,} characters: shorten them.")
    return text


def _birthday(text: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise ToolFailed("Write the birthday like 1990-05-17.") from None
