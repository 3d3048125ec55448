"""One person per platform: they say lines and see the answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Literal, Protocol

from prompt_toolkit.input import PipeInput

from routing.types.messages import UserKey
from tests.keyboard import ENTER
from tests.servers.discord import DiscordServer
from tests.servers.discord import Interaction as DiscordPress
from tests.servers.discord import Message as DiscordMessage
from tests.servers.discord import User as DiscordUser
from tests.servers.discord.invocations import Filling, command_data
from tests.servers.discord.values import Json
from tests.servers.telegram import Message as TelegramMessage
from tests.servers.telegram import TelegramServer
from tests.servers.telegram import User as TelegramUser

PERSON, NAME = 2001, "Alice"
OTHER, OTHERS_NAME, ROOM = 2002, "Bob", "general"
PICTURE = "image/png"
"""Pictures have no words to compare."""
_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


Room = Literal["private", "group", "public"]
"""Where a person talks: in private, in a group, or in a group where everyone sees the answers, which on Discord is not
true of answers to commands."""


@dataclass(frozen=True, slots=True)
class Press:
    """Presses the button with this label on the newest message that has it; `by_other`: the other person presses."""

    label: str
    by_other: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What people see of the replies to one line: all words in order, those of files last, and the labels of buttons.
    `notice` is shown only to the person who pressed; `redrawn`: everything else is in messages that existed before."""

    words: list[str]
    labels: list[str]
    notice: str = ""
    redrawn: bool = False


class ChatClient(Protocol):
    """One person on a platform, and another one; `user` and `other` are their accounts, `typed` the lines that could
    only be typed as a message where commands are more than messages."""

    user: UserKey
    other: UserKey
    typed: list[str]

    def say(self, line: str) -> None:
        """Types the line as people on this platform do."""

    async def press(self, press: Press) -> None:
        """Returns once the person who pressed has seen any notice."""

    def look(self) -> Shown:
        """What is new since the last call."""


def words(text: str) -> list[str]:
    """Letters and digits, which do not depend on how a platform renders Markdown."""
    return re.findall(r"[^\W_]+", text)


def content(data: bytes) -> str:
    """A file's text; an archive has no words to compare."""
    return "" if data.startswith(b"PK") else data.decode()


class TelegramClient:
    """A private chat or a group."""

    def __init__(self, tg: TelegramServer, language: str, room: Room) -> None:
        self.user, self.other = UserKey("telegram", str(PERSON)), UserKey("telegram", str(OTHER))
        self.typed: list[str] = []
        self._tg = tg
        self._person = tg.user(TelegramUser(PERSON, NAME, language_code=language))
        self._other = tg.user(TelegramUser(OTHER, OTHERS_NAME, language_code=language))
        self._chat = tg.private(self._person) if room == "private" else tg.group(ROOM)
        self._seen: dict[int, int] = {}
        self._notice = ""

    def say(self, line: str) -> None:
        self._tg.say(line, user=self._person, chat=self._chat)

    async def press(self, press: Press) -> None:
        menus = [each for each in self._chat.from_bot() if press.label in _telegram_labels(each)]
        assert menus, f"no button {press.label}"
        who = self._other if press.by_other else self._person
        answer = await self._tg.answered(self._tg.press(press.label, message=menus[-1], user=who))
        self._notice = answer.get("text", "")

    def look(self) -> Shown:
        new = [each for each in self._chat.from_bot() if self._seen.get(each.id) != len(each.versions)]
        redrawn = bool(new) and all(each.id in self._seen for each in new)
        self._seen |= {each.id: len(each.versions) for each in new}
        files = [content(self._tg.document(each).data) for each in new if "document" in each.content]
        labels = [label for each in new for label in _telegram_labels(each)]
        notice, self._notice = self._notice, ""
        return Shown(words("\n".join([*(each.text for each in new), *files])), labels, notice, redrawn)


def _telegram_labels(message: TelegramMessage) -> list[str]:
    return [button["text"] for button in message.buttons]


class DiscordClient:
    """Direct messages or a channel. Lines that Discord's client turns into slash commands arrive as such, the rest is
    typed. In a channel everyone can read what is typed."""

    def __init__(self, dc: DiscordServer, language: str, room: Room) -> None:
        self.user, self.other = UserKey("discord", str(PERSON)), UserKey("discord", str(OTHER))
        self.typed: list[str] = []
        self.dc = dc
        self._person = dc.user(DiscordUser(PERSON, NAME, locale=language))
        self._other = dc.user(DiscordUser(OTHER, OTHERS_NAME, locale=language))
        self._room = room
        self._chat = dc.dm(self._person) if room == "private" else dc.channel(ROOM)
        self._seen: dict[int, int] = {}
        self._pressed: DiscordPress | None = None

    def say(self, line: str) -> None:
        found = None if self._room == "public" else filled_in(line, self.dc.commands)
        if found is not None:
            self.dc.slash(*found, user=self._person, where=self._chat)
            return
        if self._room != "public":
            self.typed.append(line)
        self.dc.say(line, user=self._person, channel=self._chat, mention=self._room != "private")

    async def press(self, press: Press) -> None:
        menus = [each for each in self._chat.from_bot() if press.label in _discord_labels(each)]
        assert menus, f"no button {press.label}"
        who = self._other if press.by_other else self._person
        if lists := [one for one in menus[-1].selects if press.label in [each["label"] for each in one["options"]]]:
            self._pressed = self.dc.choose(menus[-1], lists[0]["custom_id"], [press.label], user=who)
        else:
            self._pressed = self.dc.press(menus[-1], press.label, user=who)
        followups = self._pressed.followups
        if press.by_other:
            await self.dc.wait_for(lambda _: followups)

    def look(self) -> Shown:
        notices = self._pressed.followups if self._pressed is not None else []
        self._pressed = None
        assert all(each.ephemeral for each in notices)
        seen = [each for each in self._chat.from_bot() if each not in notices]
        new = [each for each in seen if self._seen.get(each.id) != len(each.versions)]
        redrawn = bool(new) and all(each.id in self._seen for each in new)
        self._seen |= {each.id: len(each.versions) for each in [*new, *notices]}
        files = [content(file.data) for each in new for file in each.attachments if file.mime != PICTURE]
        labels = [label for each in new for label in _discord_labels(each)]
        notice = "\n".join(each.text for each in notices)
        return Shown(words("\n".join([*(each.text for each in new), *files])), labels, notice, redrawn)


def _discord_labels(message: DiscordMessage) -> list[str]:
    return [entry["label"] for control in message.controls for entry in control.get("options", [control])]


def filled_in(line: str, registered: Sequence[Json]) -> tuple[str, Json] | None:
    """The slash command and options for a line, or None if Discord's client offers no such command or value."""
    name, _, rest = line.removeprefix("/").partition(" ")
    match name, rest.split():
        case "tier", [tier, *force] if force in ([], ["force"]):
            path, values = "tier", {"tier": tier} | ({"force": True} if force else {})
        case "model", []:
            path, values = "model show", {}
        case "model", ["list", *provider] if len(provider) <= 1:
            path, values = "model list", {"provider": provider[0]} if provider else {}
        case "model", [tier, "reset"]:
            path, values = "model reset", {"tier": tier}
        case "model", [tier, "reasoning", level]:
            path, values = "model reasoning", {"tier": tier, "level": level}
        case "model", [tier, *model] if len(model) <= 1:
            path, values = "model set", dict(zip(("tier", "model"), (tier, *model), strict=False))
        case _:
            path, values = name, {name: rest} if rest else {}
    command = next((each for each in registered if line.startswith("/") and each["name"] == name), None)
    if command is None:
        return None
    try:
        command_data(command, path.split()[1:], values, Filling())
    except AssertionError:
        return None
    return path, values


class TerminalClient:
    """A prompt. The words shown include the typed line, once per redraw. It has no buttons; their commands are listed
    below the text."""

    def __init__(self, keys: PipeInput, screen: StringIO) -> None:
        self.user, self.other = UserKey("console", NAME), UserKey("console", OTHERS_NAME)
        self.typed: list[str] = []
        self._keys = keys
        self._screen = screen
        self._seen = 0

    def say(self, line: str) -> None:
        self._keys.send_text(f"\x1b[200~{line}\x1b[201~{ENTER}")  # pasted: each key that is typed costs 2 ms

    async def press(self, press: Press) -> None:
        raise AssertionError(f"a terminal has no button {press.label}")

    def look(self) -> Shown:
        text = self._screen.getvalue()
        new, self._seen = _SEQUENCES.sub("", text[self._seen :]), len(text)
        files = [content(Path(each).read_bytes()) for each in re.findall(r"Saved as (.+\S)", new)]
        return Shown(words("\n".join([new, *files])), [])
