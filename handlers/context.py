"""What a handler is asked, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from handlers.languages import Say
from routing.errors import Refused
from routing.ports import HistoryStore, LiveReply
from routing.text import nearest
from routing.types.history import TurnRecord
from routing.types.messages import Button, Document, InboundMessage, Picture
from routing.types.people import Person, Role
from routing.types.stop import Stop
from routing.types.turns import TurnSettings

TERMINAL = "console"
"""The platform without buttons."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """One question to a handler. `arguments` are the words behind a command, quoted ones whole; `rest` is all of
    them as written. `button` was pressed for it; None when it was typed. `attempts` counts the starts that were
    interrupted before. `fixed` is what a turn is answered with, whatever later commands set."""

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

    async def conversation_id(self, history: HistoryStore) -> int:
        """The conversation that it belongs to."""
        return self.fixed.conversation_id if self.fixed else (await history.current(self.message.chat)).id

    @property
    def pressed(self) -> bool:
        """Whether a button was pressed for it. A terminal has none: its command is typed there."""
        return self.button is not None or self.message.user.platform == TERMINAL


@dataclass(frozen=True, slots=True)
class Reply:
    """What the person reads, in Markdown, and what the turn leaves in the history. `owner` may press the buttons; a
    `document` and a `picture` come with the text, never without one; `apart` from the message whose button was
    pressed. Where no picture can be shown the text is all there is. A `secret` text is deleted once it is sent.
    `attached`: see OutboundMessage."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    record: TurnRecord | None = None
    owner: int = 0
    document: Document | None = None
    apart: bool = False
    picture: Picture | None = None
    secret: bool = False
    attached: str = ""


Handler = Callable[[CommandContext], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A slash command as menus, completion, /help and the README know it.

    `choices` are the words each position takes (empty: free text); `queued` commands begin a turn and so wait for
    the one that runs; those that are not, and that `changes` something for later questions, change nothing for earlier
    ones. Everybody from `role` up may use it. The answer of a `personal` command is for whoever asked,
    and nobody else in a group need read it, unless its first word is among `shared`. A `press_only` command works from
    its button alone: typed, there is no such command. A pressed button of another `queued` command
    disappears, unless its words are among `repeatable`.
    """

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
        """Whether the answer to the command, with these words behind it, is for one person."""
        first = rest.split(None, 1)[:1]
        return self.personal and not (first and first[0].lower() in self.shared)

    @property
    def most_words(self) -> int | None:
        """How many words may follow the command; None when a person's own text is among them."""
        return None if self.free_text else max(len(line.split()) for line in self.usage) - 1


def unknown_command(name: str, known: Iterable[str]) -> Refused:
    """The refusal of a command that does not exist; it names the one that was meant where one is near."""
    meant = nearest(name, known)
    if meant is None:
        return Refused("There is no command /{name}. /help lists them all.", name=name)
    words = "There is no command /{name}. Did you mean /{nearest}? /help lists them all."
    return Refused(words, name=name, nearest=meant)
