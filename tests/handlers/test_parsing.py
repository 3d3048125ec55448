"""Commands, stops, and messages that belong together."""

import pytest

from handlers.parsing import is_stop, merge, parse_command, quoted
from routing.types.messages import Attachment, ChatKey, InboundMessage, UserKey


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/tier", "tier", ()),
        ("  /Tier  ", "tier", ()),
        ("/TIER@TierBot smart  FORCE", "tier", ("smart", "FORCE")),
        ("/tier@tierbot", "tier", ()),
        ("/history\tresume 2", "history", ("resume", "2")),
        ('/settings instructions "stay brief"', "settings", ("instructions", "stay brief")),
        (r"/settings instructions C:\tmp\project", "settings", ("instructions", r"C:\tmp\project")),
        (r"""/access John's "D:\Work Folder" x""", "access", ("John's", r"D:\Work Folder", "x")),
        (r'/model "D:\Work Folder\"', "model", ("D:\\Work Folder\\",)),
        ("/tools off “my server”", "tools", ("off", "my server")),
        ("/skill 'two words' 'one", "skill", ("two words", "'one")),
        ('/skill "" a"b c"', "skill", ("", 'a"b', 'c"')),
        ("/council what's up", "council", ("what's", "up")),
        ("/new\nline", "new", ("line",)),
        ("/über x", "über", ("x",)),
        ("/tier-smart", "tier-smart", ()),
        ("/stop!", "stop", ()),
        ("/tier, smart", "tier", ("smart",)),
    ],
)
def test_a_command_with_its_words(text: str, name: str, arguments: tuple[str, ...]) -> None:
    typed = parse_command(text, "tierbot")
    assert typed is not None
    assert (typed.name, typed.arguments, typed.elsewhere) == (name, arguments, False)


@pytest.mark.parametrize(
    "word", ["weather", "my server", "it's", "it's mine", 'the "big" one', '"', "", "a\\ b", " '\" "]
)
def test_quotes_keep_words_together(word: str) -> None:
    typed = parse_command(f"/tools off {quoted(word)}", "tierbot")
    assert typed is not None
    assert typed.arguments == ("off", word)


@pytest.mark.parametrize("text", ["", "tier", "/", "// x", "/usr/bin", "/tier/x", "hi /tier", "/ tier", "/a@b@c"])
def test_text_that_is_not_a_command(text: str) -> None:
    assert parse_command(text, "tierbot") is None


@pytest.mark.parametrize("text", ["/tier@OtherBot", "/tier@tierbot2 x", "/tier@tier"])
def test_another_bots_command_is_ignored(text: str) -> None:
    typed = parse_command(text, "tierbot")
    assert typed is not None
    assert typed.elsewhere


def test_the_rest_of_the_line_is_unchanged() -> None:
    typed = parse_command('/settings instructions  Call me "X".\nAlways. ', "tierbot")
    assert typed is not None
    assert typed.rest == 'instructions  Call me "X".\nAlways.'


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("stop", True),
        (" STOP! ", True),
        ("Stopp.", True),
        ("halt", True),
        ("stop it", False),
        ("don't stop", False),
        ("", False),
    ],
)
def test_a_plain_stop(text: str, stops: bool) -> None:
    assert is_stop(text) is stops


def part(text: str, *names: str) -> InboundMessage:
    files = tuple(Attachment("image", name, "image/png", 1, name) for name in names)
    return InboundMessage(UserKey("t", "1"), ChatKey("t", "1"), "b", text or "x", text, 0.0, attachments=files)


def test_parts_become_one_message_in_order() -> None:
    whole = merge([part("one", "a"), part("", "b"), part("two", "c")])
    assert whole.text == "one\ntwo"
    assert [each.name for each in whole.attachments] == ["a", "b", "c"]
    assert merge([part("alone")]) == part("alone")
