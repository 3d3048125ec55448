"""One person on each platform: how they say a line there, and what they see of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Protocol

from prompt_toolkit.input import PipeInput

from routing.types import UserKey
from tests.bot.adapters.console.seat import ENTER
from tests.servers.discord import DiscordServer
from tests.servers.discord import User as DiscordUser
from tests.servers.discord.invoking import Filling, command_data
from tests.servers.discord.values import Json
from tests.servers.telegram import TelegramServer
from tests.servers.telegram import User as TelegramUser

PERSON, NAME = 2001, "Alice"
_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person sees of the replies to one line: every word in its order, those of files behind the others, and
    the labels of what can be pressed."""

    words: list[str]
    labels: list[str]


class Place(Protocol):
    """One person on a platform; `user` is their account there, `typed` what they could only write as a message where
    commands are more than messages."""

    user: UserKey
    typed: list[str]

    def say(self, line: str) -> None:
        """Type it, as people on this platform do."""

    def look(self) -> Shown:
        """What came since the last look."""


def words(text: str) -> list[str]:
    """Letters and digits: what stays when a platform takes Markdown's signs away, or puts its own."""
    return re.findall(r"[^\W_]+", text)


class OnTelegram:
    """A private chat."""

    def __init__(self, tg: TelegramServer, language: str) -> None:
        self.user = UserKey("telegram", str(PERSON))
        self.typed: list[str] = []
        self._tg = tg
        self._person = tg.user(TelegramUser(PERSON, NAME, language_code=language))
        self._seen = 0

    def say(self, line: str) -> None:
        self._tg.say(line, user=self._person)

    def look(self) -> Shown:
        new = self._tg.private(self._person).from_bot()[self._seen :]
        self._seen += len(new)
        files = [self._tg.document(each).data.decode() for each in new if "document" in each.content]
        labels = [button["text"] for each in new for button in each.buttons]
        return Shown(words("\n".join([*(each.text for each in new), *files])), labels)


class OnDiscord:
    """The bot's direct messages. What Discord's client makes a slash command of comes as one, the rest is typed."""

    def __init__(self, dc: DiscordServer, language: str) -> None:
        self.user = UserKey("discord", str(PERSON))
        self.typed: list[str] = []
        self.dc = dc
        self._person = dc.user(DiscordUser(PERSON, NAME, locale=language))
        self._seen = 0

    def say(self, line: str) -> None:
        found = filled_in(line, self.dc.commands)
        if found is None:
            self.typed.append(line)
            self.dc.say(line, user=self._person)
        else:
            self.dc.slash(*found, user=self._person)

    def look(self) -> Shown:
        new = self.dc.dm(self._person).from_bot()[self._seen :]
        self._seen += len(new)
        files = [file.data.decode() for each in new for file in each.attachments]
        labels = [
            entry["label"] for each in new for control in each.controls for entry in control.get("options", [control])
        ]
        return Shown(words("\n".join([*(each.text for each in new), *files])), labels)


def filled_in(line: str, registered: Sequence[Json]) -> tuple[str, Json] | None:
    """The command and the options that stand for a line, by the names of interface.md; None where Discord's client
    offers no such command, or would not let these words through."""
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
        case "model", [tier, model]:
            path, values = "model set", {"tier": tier, "model": model}
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


class InTerminal:
    """A prompt; among the words shown are those of the line that was typed, as often as it was drawn. It has no
    buttons: their commands stand below the text."""

    def __init__(self, keys: PipeInput, screen: StringIO) -> None:
        self.user = UserKey("console", NAME)
        self.typed: list[str] = []
        self._keys = keys
        self._screen = screen
        self._seen = 0

    def say(self, line: str) -> None:
        self._keys.send_text(line + ENTER)

    def look(self) -> Shown:
        text = self._screen.getvalue()
        new, self._seen = _SEQUENCES.sub("", text[self._seen :]), len(text)
        files = [Path(each).read_text("utf-8") for each in re.findall(r"Saved as (.+\S)", new)]
        return Shown(words("\n".join([new, *files])), [])
