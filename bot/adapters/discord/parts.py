"""A reply as the messages that it becomes: text in pieces; files, buttons and menus with the last one.

Very long output becomes a file, with its beginning as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from zlib import crc32

from bot.adapters.discord.client import Json
from bot.adapters.discord.context import File, body
from bot.rendering.code_files import with_code_files
from bot.rendering.discord import MAX_TEXT_CHARACTERS, pieces
from handlers.replies.callback_buttons import token
from routing.text import shortened
from routing.types.messages import Button, Document, OutboundMessage, OutgoingFile

RECOVERED = "(recovered)"
MAX_FILE_BYTES = 10 * 2**20
"""Discord's limit for a file, without the higher ones of boosted servers."""
MAX_FILES, MAX_FORM_BYTES = 10, 24 * 2**20
"""Attachments of one message, and their bytes."""
MAX_PIECES = 5
WHOLE_ANSWER = "answer.md"
MAX_NONCE_CHARACTERS = 25
MAX_ROWS, MAX_IN_ROW, MAX_CHOICES = 5, 5, 25
MAX_LABEL_CHARACTERS, MAX_CHOICE_CHARACTERS = 80, 100
"""Discord's limits for a button and for a choice in a list."""
MAX_ID_CHARACTERS = 100
FORM = "form:"
"""Before the title of a form, in the id of the button that opens it."""
_ROOM = 16  # characters of a message for the mark before it or the dots after it
_NOTE = 200  # characters of a message for a note that its file was refused
_ROW, _BUTTON, _MENU, _GREY = 1, 2, 3, 2

_Cells = list[tuple[str, str]]
"""Labels and tokens."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message. Discord shows only one message with the same `nonce` in two minutes. `first`: it begins the reply.

    `whole`: the first file is the whole answer, and the text only its beginning. `instead`: Markdown for the files of
    code, if they are refused.
    """

    text: str
    nonce: str = ""
    first: bool = False
    files: tuple[File, ...] = ()
    controls: tuple[Json, ...] = ()
    whole: bool = False
    instead: str = ""

    def content(self, flags: int = 0) -> Json:
        return body(self.text, self.controls, flags)

    def marked(self) -> Part:
        """With a mark that it may be a copy. A heading, a quote or a code block must begin a line."""
        gap = " " if self.text[:1].isalnum() else "\n"
        return replace(self, text=f"{RECOVERED}{gap}{self.text}".rstrip())

    def noted(self, why: str) -> Part:
        """Without its files, with a note about each below the text."""
        note = "".join(f"\n⚠️ {file.name}: {why}" for file in self.files)
        return replace(self, text=f"{self.text}{note}".strip()[:MAX_TEXT_CHARACTERS], files=())


def parts(message: OutboundMessage, outbox_id: int, in_full: bool = False) -> list[Part]:
    """The messages of a reply; none if nothing in it is visible. `in_full`: never a file instead of many messages."""
    room = MAX_TEXT_CHARACTERS - _ROOM
    attached = "" if in_full else message.attached
    text, code = with_code_files(message.text, attached, room, lambda block: len(pieces(block, room)))
    given = (message.picture, *(each.document for each in code), message.document)
    sendable = [each for each in message.files if 0 < len(each.data) <= MAX_FILE_BYTES]
    files = (*(file for file in given if file is not None), *sendable)
    text += "".join(f"\n⚠️ {each.name}: {_problem(each)}" for each in message.files if each not in sendable)
    texts = pieces(text, room - _NOTE * bool(files))
    whole = len(texts) > MAX_PIECES and not in_full
    if whole:
        texts, files = (f"{texts[0]}\n…",), (Document(WHOLE_ANSWER, text), *files)
    groups = _groups(files)
    texts = (*(texts or ("",) * bool(files)), *("",) * (len(groups) - 1))
    made = [Part(text, _nonce(message, outbox_id, n, text), n == 0) for n, text in enumerate(texts)]
    if made:
        first = len(made) - len(groups)
        instead = "\n\n".join(each.markdown for each in code)
        made[first] = replace(made[first], files=groups[0], whole=whole, instead=instead)
        made[first + 1 :] = [
            replace(part, files=more) for part, more in zip(made[first + 1 :], groups[1:], strict=True)
        ]
        made[-1] = replace(made[-1], controls=tuple(components(message.buttons, outbox_id)))
    return made


def _groups(files: Sequence[File]) -> list[tuple[File, ...]]:
    """The files of each message; at least one group, which may be empty."""
    groups: list[list[File]] = [[]]
    size = 0
    for file in files:
        more = len(file.text) if isinstance(file, Document) else len(file.data)
        if len(groups[-1]) == MAX_FILES or (groups[-1] and size + more > MAX_FORM_BYTES):
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += more
    return [tuple(group) for group in groups]


def _problem(file: OutgoingFile) -> str:
    """Why a file is left out."""
    return (
        f"too large for Discord, which takes {MAX_FILE_BYTES // 2**20} MB"
        if file.data
        else "the file is no longer there"
    )


def written_out(message: OutboundMessage, outbox_id: int, number: int, part: Part, why: str) -> list[Part]:
    """The part without its refused files, then their code as messages numbered from `number` on."""
    texts = pieces(part.instead, MAX_TEXT_CHARACTERS - _ROOM)
    code = (Part(text, _nonce(message, outbox_id, n, text)) for n, text in enumerate(texts, number))
    return [part.noted(why), *code]


def components(buttons: Sequence[Sequence[Button]], outbox_id: int) -> list[Json]:
    """At most five rows of buttons or menus. A menu's values are tokens, like those of buttons.

    If there are too many rows, buttons that are alone in theirs become choices of a menu; if that is not enough, all
    buttons do.
    """
    rows: list[_Cells] = []
    for row, line in enumerate(buttons):
        cells = [
            (button.label, f"{FORM}{button.form}"[:MAX_ID_CHARACTERS] if button.form else token(outbox_id, row, column))
            for column, button in enumerate(line)
        ]
        rows += _chunks(cells, MAX_IN_ROW)
    if len(rows) <= MAX_ROWS:
        return [_row(cells) for cells in rows]
    groups: list[tuple[bool, _Cells]] = []
    for alone, lines in groupby(rows, lambda cells: len(cells) == 1):
        if alone:
            groups += [(True, chunk) for chunk in _chunks([cell for line in lines for cell in line], MAX_CHOICES)]
        else:
            groups += [(False, line) for line in lines]
    if len(groups) > MAX_ROWS:
        groups = [(True, chunk) for chunk in _chunks([cell for line in rows for cell in line], MAX_CHOICES)]
    shown = groups[:MAX_ROWS]
    return [_menu(cells, f"m:{outbox_id}:{n}") if alone else _row(cells) for n, (alone, cells) in enumerate(shown)]


def _nonce(message: OutboundMessage, outbox_id: int, number: int, text: str) -> str:
    """The same after a restart; different for another message of the same number, as after a lost database."""
    return f"{crc32(f'{message.reply_to} {message.edits} {text}'.encode()):08x}-{outbox_id}-{number}"[
        :MAX_NONCE_CHARACTERS
    ]


def _row(cells: _Cells) -> Json:
    grey = {"type": _BUTTON, "style": _GREY}
    made = [
        grey | {"label": shortened(label, MAX_LABEL_CHARACTERS), "custom_id": custom_id} for label, custom_id in cells
    ]
    return {"type": _ROW, "components": made}


def _menu(cells: _Cells, custom_id: str) -> Json:
    options = [{"label": shortened(label, MAX_CHOICE_CHARACTERS), "value": it} for label, it in cells]
    return {"type": _ROW, "components": [{"type": _MENU, "custom_id": custom_id, "options": options}]}


def _chunks(cells: _Cells, size: int) -> list[_Cells]:
    return [cells[start : start + size] for start in range(0, len(cells), size)]
