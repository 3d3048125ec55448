"""The input and output types of every handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from handlers.languages import Say
from handlers.outgoing import OutgoingFiles
from routing.errors import Refused
from routing.ports import HistoryStore, LiveReply
from routing.text import nearest
from routing.types.history import TurnRecord
from routing.types.messages import Attachment, Button, Document, InboundMessage, OutgoingFile, Picture
from routing.types.people import Person, Role
from routing.types.stop import Stop
from routing.types.turns import TurnSettings

TERMINAL = "console"
"""The platform that has no buttons."""
WITH_FORMS = "discord"
"""The platform whose buttons can open a form."""
MAX_ATTEMPTS = 3
"""Give up on a message after this many interrupted attempts."""


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file in the person's folder: its path, and what the model is told. A scanned PDF has `scanned` pages, of which
    `pages` are shown to the model. `refusal` says why the file was not kept, with an empty path."""

    path: str
    text: str
    scanned: int = 0
    pages: tuple[Attachment, ...] = ()
    refusal: Refused | None = None


@dataclass(frozen=True, slots=True)
class CommandContext:
    """One request to a handler. `arguments` are the words after the command, with quoted words kept together, and
    `rest` is the same text unparsed. `button` is the pressed button, or None if the command was typed. `attempts`
    counts earlier interrupted attempts. `fixed` holds the settings of the turn, so later commands don't affect it.
    `files` collects what is sent with the reply, `kept` the received documents, `heard` the transcripts of voice
    messages. `cancelled`: the command has cancelled /connect."""

    turn_id: str
    message: InboundMessage
    person: Person
    say: Say
    live: LiveReply
    stop: Stop
    arguments: tuple[str, ...] = ()
    rest: str = ""
    button: Button | None = None
    attempts: int = 0
    fixed: TurnSettings | None = None
    files: OutgoingFiles = field(default_factory=OutgoingFiles)
    kept: list[ReceivedFile] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    cancelled: bool = False

    async def conversation_id(self, history: HistoryStore) -> int:
        """The conversation of this request."""
        return self.fixed.conversation_id if self.fixed else (await history.current(self.message.chat)).id

    @property
    def pressed(self) -> bool:
        """Whether a button was pressed. The terminal has no buttons, so a typed command counts there."""
        return self.button is not None or self.message.user.platform == TERMINAL


@dataclass(frozen=True, slots=True)
class Reply:
    """What the person reads, as Markdown, and the turn to store. `owner` is the id of the person who may press the
    buttons. A `document` or `picture` needs a text; where pictures can't be shown, only the text is sent. `apart` sends
    a new message instead of editing the one with the pressed button. A `secret` text is deleted from storage once it is
    sent. `attached`: see OutboundMessage. The dispatcher adds the `files`."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    record: TurnRecord | None = None
    owner: int = 0
    document: Document | None = None
    apart: bool = False
    picture: Picture | None = None
    secret: bool = False
    attached: str = ""
    files: tuple[OutgoingFile, ...] = ()


Handler = Callable[[CommandContext], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A slash command, as used by menus, completion, /help and the README.

    `choices` lists the accepted words per position (empty: free text). `queued` commands start a turn, so they wait for
    the running one. `changes` marks commands that change settings; they affect only later questions. `role` is the
    minimum role. The answer to a `personal` command is shown only to the sender, unless the first word is in `shared`.
    A `press_only` command works only from a button. The button of a `queued` command disappears when pressed, unless
    its words are in `repeatable`."""

    name: str
    summary: str
    usage: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...] = ()
    free_text: bool = False
    role: Role = "guest"
    queued: bool = False
    changes: bool = False
    personal: bool = False
    shared: tuple[str, ...] = ()
    press_only: bool = False
    repeatable: tuple[str, ...] = ()

    def for_one(self, rest: str) -> bool:
        """Whether the answer to this command, with these arguments, is shown only to the sender."""
        first = rest.split(None, 1)[:1]
        return self.personal and not (first and first[0].lower() in self.shared)

    @property
    def most_words(self) -> int | None:
        """Maximum number of words after the command; None if it takes free text."""
        return None if self.free_text else max(len(line.split()) for line in self.usage) - 1


def unknown_subcommand(spec: CommandSpec, *words: str, known: Sequence[str] | None = None) -> Refused:
    """The error for a command whose last word is not understood. It suggests the nearest of `known`, by default of the
    command's choices."""
    usage = ", ".join(spec.usage)
    meant = nearest(words[-1], spec.choices[0] if known is None else known) if words else None
    if meant is None:
        return Refused("Write {usage}. Nothing was changed.", usage=usage)
    near = " ".join((f"/{spec.name}", *words[:-1], meant))
    return Refused("Did you mean {near}? Write {usage}. Nothing was changed.", near=near, usage=usage)


def check_private(ask: CommandContext) -> None:
    """Raises Refused where others can read along."""
    if not ask.message.private:
        raise Refused("I only show this in private: send it to me in a direct message.")


def unknown_command(name: str, known: Iterable[str]) -> Refused:
    """The error for an unknown command. It suggests the nearest known one."""
    meant = nearest(name, known)
    if meant is None:
        return Refused("There is no command /{name}. /help lists them all.", name=name)
    words = "There is no command /{name}. Did you mean /{nearest}? /help lists them all."
    return Refused(words, name=name, nearest=meant)
