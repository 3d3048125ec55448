"""A change of a JSON file leaves the rest of its text as it is."""

from __future__ import annotations

import json
from difflib import ndiff

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.admin.json_text import updated
from routing.catalog.catalog import BUNDLED
from routing.config import jsonfile

TEXT = """\
{
    "a": {"x": 1,   "y": [1,
      2]},
    "b" : null,

    "c": { "z": {} }
}

"""


@pytest.mark.parametrize(
    ("document", "before", "after"),
    [
        ({"a": {"x": 1, "y": [1, 2]}, "b": None, "c": {"z": {}}}, "", ""),
        ({"a": {"x": True, "y": [1, 2]}, "b": None, "c": {"z": {}}}, '"x": 1', '"x": true'),
        ({"a": {"x": 1, "y": [1, 2]}, "b": [3], "c": {"z": {}}}, "null", "[\n        3\n    ]"),
        ({"b": None, "c": {"z": {}}}, '"a": {"x": 1,   "y": [1,\n      2]},\n    ', ""),
        ({"a": {"x": 1}, "b": None, "c": {"z": {}}}, ',   "y": [1,\n      2]', ""),
        ({"a": {"x": 1, "y": [1, 2]}, "b": None}, ',\n\n    "c": { "z": {} }', ""),
        ({"a": {"x": 1, "y": [1, 2]}, "b": None, "c": {"z": {}, "é": 1}}, "{} }", '{}, "é": 1 }'),
        ({"a": {"x": 1, "y": [1, 2]}, "b": None, "c": {"z": {}}, "d": 0}, "{} }", '{} },\n    "d": 0'),
        ({"a": {"x": 1, "y": [1, 2]}, "b": None, "c": {}}, '{ "z": {} }', "{}"),
        ({"a": {"x": 1, "y": [1, 2]}, "b": None, "c": {"z": {"n": 1}}}, '"z": {}', '"z": {"n": 1}'),
    ],
)
def test_only_the_change_is_written(document: object, before: str, after: str) -> None:
    assert isinstance(document, dict)
    assert updated(TEXT, document) == TEXT.replace(before, after, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(OBJECTS, OBJECTS, st.sampled_from([None, 0, 2, "\t"]))
@example({"a": {}}, {"a": {"b": 1}}, 2)
def test_the_text_has_the_new_values(old: dict[str, object], new: dict[str, object], indent: int | str | None) -> None:
    made = updated(jsonfile.dumped(old, indent), new)
    values = json.loads(made)
    assert json.dumps(values, sort_keys=True) == json.dumps(new, sort_keys=True)
    if old and indent != 0:
        assert made == jsonfile.dumped(values, indent), "new lines look like the others"


def test_the_first_entry_of_an_empty_file_is_readable() -> None:
    assert updated("{}\n", {"models": {"a": {}}}) == '{\n  "models": {\n    "a": {}\n  }\n}\n'


def test_the_bundled_catalogue_keeps_its_layout() -> None:
    text = BUNDLED.read_text(encoding="utf-8")
    document = json.loads(text)
    document["models"]["gpt-6-sol"]["reasoning"]["levels"]["low"]["maxInputTokens"] = 5
    lines = [each for each in ndiff(text.splitlines(), updated(text, document).splitlines()) if each[0] in "+-"]
    assert [each.split(": ", 1)[1] for each in lines] == ['{"maxInputTokens": 922000},', '{"maxInputTokens": 5},']
