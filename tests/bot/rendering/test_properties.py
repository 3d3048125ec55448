"""Properties of every rendered answer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rendering import split, telegram
from bot.rendering.plain import clean, is_blank
from bot.rendering.split import converted
from bot.rendering.telegram import Piece, pieces, preview
from tests.bot.rendering.checker import assert_valid, covered, squeezed

WORDS = [
    "word",
    "snake_case",
    "日本語。",
    "שלום",
    "مرحبا",
    "👨‍👩‍👧",
    "🇩🇪",
    "https://a.de/b_c(d)",
    "<b>",
    "a || b",
    "$5",
    "\\",
]
MARKS = [
    "**", "*", "_", "`", "~~", "~", "||", "[", "](https://a.de/x)", "](/x)", "![", "<tg-spoiler>", "</tg-spoiler>",
    "\n", "\n\n", "\n> ", "\n> > ", "\n- ", "\n  - ", "\n1. ", "\n# ", "\n```py\n", "\n```\n", "\n    ",
    "\n| a | b |\n|--|--|\n| ",
    " | ", "$", "$$", "\\(", "\\)", "\\[\\frac{a}{b}\\]", "{", "\\alpha", "\n---\n", "\n[x]: https://b.de\n", 
    "&amp;", "\t", "\r\n",
    "\x00", "\u200d", "\ud83d", " ", " ", " ",
]  # fmt: skip
answers = st.lists(st.sampled_from(WORDS + MARKS), max_size=80).map("".join)
limits = st.sampled_from([20, 50, 100, 4096])


def accepted(address: str, label: str) -> str | None:
    return telegram.accepted(address)


def unsplit(markdown: str) -> str:
    return "".join(piece.text for piece in pieces(markdown, 10**9))


@settings(max_examples=600, deadline=None)
@given(answers, limits)
def test_every_piece_is_valid_and_the_whole_text_arrives(markdown: str, limit: int) -> None:
    converted(clean(markdown), accepted, telegram.heading)  # does not raise, so that no fallback hides a bug
    parts = pieces(markdown, limit)
    for part in parts:
        assert_valid(part, limit)
    sent, whole = squeezed("".join(part.text for part in parts)), squeezed(unsplit(markdown))
    # Not a lone joiner: Telegram refuses invisible messages.
    assert sent.replace("\u200d", "") == whole.replace("\u200d", "")


@settings(max_examples=300, deadline=None)
@given(answers, limits)
def test_preview_is_valid_for_any_prefix(markdown: str, limit: int) -> None:
    piece = preview(markdown, limit)
    if piece.text:
        assert_valid(piece, limit)
    else:
        assert piece == Piece("", ())


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(alphabet="ab =()\"'#*_<>日😀", max_size=60), min_size=1, max_size=40),
    st.sampled_from([40, 100, 4096]),
)
def test_fences_keep_their_language_and_lines(lines: list[str], limit: int) -> None:
    code = "\n".join(line.rstrip() for line in lines).strip("\n")
    parts = pieces(f"```rust\n{code}\n```\nafter", limit)
    blocks = [entity for part in parts for entity in part.entities]
    assert {(entity["type"], entity.get("language")) for entity in blocks} <= {("pre", "rust")}
    found = "".join(covered(part, entity) for part in parts for entity in part.entities)
    assert squeezed(found) == squeezed(code)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["bold", "italic", "spoiler", "code", "text_link", "blockquote"]),
            st.text("ab ", min_size=1, max_size=9),
        ),
        max_size=50,
    )
)
def test_words_arrive_from_well_formed_answers(parts: list[tuple[str, str]]) -> None:
    forms = {
        "bold": "**x{}x**",
        "italic": "_x{}x_",
        "spoiler": "||x{}x||",
        "code": "`x{}x`",
        "text_link": "[x{}x](https://a.de)",
        "blockquote": "\n\n> x{}x\n\n",
    }
    markdown = "so " + " so ".join(forms[kind].format(text) for kind, text in parts)
    expected = "so" + "so".join(f"x{text}x" for _, text in parts)
    made = pieces(markdown)
    assert squeezed("".join(piece.text for piece in made)) == squeezed(expected)
    assert sorted(entity["type"] for piece in made for entity in piece.entities) == sorted(kind for kind, _ in parts)


PLAIN = st.lists(
    st.sampled_from(
        [
            *"ab .,:;!?()'\"/#+-=@%^{}1.\n日é😀\u200d\u00a0",
            "\n- ",
            "\n1. ",
            "\n1) ",
            "\n+ ",
            "\n# ",
            "\n=\n",
            "\n---",
            "\n\n\n",
            "\n:--",
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=1500, deadline=None)
@given(PLAIN)
def test_the_plain_text_fast_path_matches_the_converter(markdown: str) -> None:
    text = clean(markdown)
    if is_blank(text) or split._MARKUP.search(text.strip()):
        return
    shown, found = converted(text.strip(), accepted, telegram.heading)
    assert shown.strip() == text.strip()
    assert found == []
    assert split.rendered(text, accepted, telegram.heading) == (text.strip(), [])
