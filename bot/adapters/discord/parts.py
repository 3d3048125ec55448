"""A reply as the messages that it becomes: text in pieces, files and controls with the last one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

from bot.adapters.discord.buttons import components
from bot.adapters.discord.stage import File, Json, body
from bot.rendering.code_files import with_code_files
from bot.rendering.discord import MAX_TEXT, pieces
from routing.types import Document, OutboundMessage

RECOVERED = "(recovered)"
MOST_PIECES = 5
WHOLE_ANSWER = "answer.md"
NONCE = 25
"""Characters."""
_ROOM = 16  # characters of a message for the mark before it or the dots after it
_NOTE = 200  # characters of a message with a file for what became of that


@dataclass(frozen=True, slots=True)
class Part:
    """One message. Discord shows only one with the same `nonce` in two minutes."""

    text: str
    nonce: str = ""
    files: tuple[File, ...] = ()
    controls: tuple[Json, ...] = ()
    whole: bool = False
    """The first of its files is the whole answer, of which the text is only the beginning."""
    instead: str = ""
    """Markdown that says the same as its files of code where files are refused."""

    def content(self, flags: int = 0) -> Json:
        return body(self.text, self.controls, flags)

    def marked(self) -> Part:
        """As perhaps a repetition. A heading, a quote or a block begins a line."""
        gap = " " if self.text[:1].isalnum() else "\n"
        return replace(self, text=f"{RECOVERED}{gap}{self.text}".rstrip())

    def noted(self, why: str) -> Part:
        """Without its files, of which a note below the text tells; the text stays whole."""
        note = "".join(f"\n⚠️ {file.name}: {why}" for file in self.files)
        return replace(self, text=f"{self.text}{note}".strip()[:MAX_TEXT], files=())


def parts(message: OutboundMessage, outbox_id: int, in_full: bool = False) -> list[Part]:
    """One message each; none for a reply that holds nothing visible. `in_full`: however many that are."""
    room = MAX_TEXT - _ROOM
    attached = "" if in_full else message.attached
    text, code = with_code_files(message.text, attached, room, lambda block: len(pieces(block, room)))
    given = (message.picture, *(each.document for each in code), message.document)
    files = tuple(file for file in given if file is not None)
    texts = pieces(text, room - _NOTE * bool(files))
    whole = len(texts) > MOST_PIECES and not in_full
    if whole:
        texts, files = (f"{texts[0]}\n…",), (Document(WHOLE_ANSWER, text), *files)
    made = [Part(text, nonce(message, outbox_id, n, text)) for n, text in enumerate(texts or ("",) * len(files))]
    if made:
        controls = tuple(components(message.buttons, outbox_id))
        instead = "\n\n".join(each.markdown for each in code)
        made[-1] = replace(made[-1], files=files, controls=controls, whole=whole, instead=instead)
    return made


def written_out(message: OutboundMessage, outbox_id: int, code: str, number: int) -> list[Part]:
    """Code in place of files that were refused, as messages from this number on."""
    texts = pieces(code, MAX_TEXT - _ROOM)
    return [Part(text, nonce(message, outbox_id, n, text)) for n, text in enumerate(texts, number)]


def nonce(message: OutboundMessage, outbox_id: int, number: int, text: str) -> str:
    """The same after a restart, and another one for what an earlier database numbered alike."""
    return f"{crc32(f'{message.reply_to} {message.edits} {text}'.encode()):08x}-{outbox_id}-{number}"[:NONCE]
