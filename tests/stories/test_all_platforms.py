"""Telegram, Discord and the terminal have the same commands and give the same answers.

All menus are made from COMMANDS, which fit into the limit of 100 of Telegram and Discord. Only /help leaves out what a
person's role may not use.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import bot.platforms
from handlers.access.roles import may
from handlers.commands import COMMANDS
from handlers.context import CommandSpec
from handlers.languages import Say
from routing.types.messages import OutboundMessage
from routing.types.people import Person, Role
from tests.keyboard import Tty
from tests.stories.access import CODE
from tests.stories.all_platforms import PLATFORMS, Answer, Talk, chatting, discord, held, telegram
from tests.stories.chat_clients import NAME, Press, Room, words

NAMES = [spec.name for spec in COMMANDS]
BEFORE = {
    "status": ("!deep hello",),
    "retry": ("hello",),
    "compact": ("hello", "and then?", "/compact 1"),
    "history": ("remember apples", "/new", "now bananas"),
    "usage": ("hello",),
}
"""Lines said before a command, so that it has something to report."""
AFTER = {
    "tier": ("/tier turbo", "/tier smart forse", " /TIER  Coding Force ", "hello"),
    "model": (
        "/model coding openai/gpt-5.22",
        "/model deep reasoning silly",
        "/model list nobody",
        "/model list",
        "/model coding openai 2",
    ),
    "skill": ("/skill code-revue", "/skill CODE-REVIEW", "/skills"),
    "tools": ("/tools off wether", "/tools off", "/tools off web", "/tools"),
    "settings": ("/settings language xx", "/settings streaming maybe", "/settings timezone Mars/Base", "hello"),
    "access": ("/access role telegram:123 king", "/access allow bob", "/access forget me", "/whoami"),
    "help": ("/help teir", "/help /Tier"),
}
"""Further lines to try."""


@dataclass(frozen=True, slots=True)
class Case:
    """Lines that one person says one after the other."""

    lines: tuple[str, ...]
    role: Role = "owner"


def tried(spec: CommandSpec) -> tuple[str, ...]:
    """A command with its own examples, and with wrong arguments."""
    return (*BEFORE.get(spec.name, ()), *spec.usage, f"/{spec.name} one two three four", *AFTER.get(spec.name, ()))


def conversation(specs: Sequence[CommandSpec]) -> Case:
    """Commands tried in sequence."""
    return Case(tuple(line for spec in specs for line in tried(spec)))


ALL = tuple(f"/{name}" for name in NAMES)
BY_ROLE = ("/model", "/status", "/council", "/tools", "/usage", "/budget", "/settings", "/whoami", "/access", "/help")
"""Commands whose answers depend on the role."""
OTHERS = {
    "no command": Case(("/teir smart", "/STATS", "/qqqqqqq", "/usr/bin/env fails", "/"), "user"),
    "a guest": Case((*ALL, "/tier smart force", "/access role telegram:1 owner"), "guest"),
    "a user": Case((*BY_ROLE, "/access block telegram:1"), "user"),
    "an admin": Case((*BY_ROLE, "/access allow telegram:123", "/access role telegram:123 owner"), "admin"),
    "German": Case(("/settings language de", *ALL, "/teir", "/tier turbo", "/help tier", "/model coding reset")),
}
BUTTONS = ("telegram", "discord")
"""Platforms with buttons and groups."""
_PRESSED = (
    *("/tier", Press("deep"), Press("🔒 Force"), Press("🔓 Unlock")),
    *("/model", Press("coding"), Press("« Back"), Press("coding"), Press("high")),
    *("/model", Press("coding"), Press("More ›"), Press("openai/gpt-5.5")),
    *("/settings", Press("Deutsch"), Press("English")),
)
_BY_OTHER = Press("deep", by_other=True)
PRESSING: dict[str, tuple[Room, Role, tuple[str | Press, ...]]] = {
    "in private": ("private", "user", _PRESSED),
    "an admin in a closed group": ("group", "admin", (*ALL, *_PRESSED)),
    "another person in a closed group": ("public", "admin", ("/tier", _BY_OTHER, Press("smart"), "/tier")),
    "another person in an open group": ("public", "admin", ("/access here on", "/tier", _BY_OTHER, Press("smart"))),
}
"""The room, the role, and the lines and presses."""
TOGETHER = 6
"""Commands per conversation; each conversation starts three bots."""
SOME = [COMMANDS[at : at + TOGETHER] for at in range(0, len(COMMANDS), TOGETHER)]
CASES = {" ".join(spec.name for spec in some): conversation(some) for some in SOME} | OTHERS
USAGE = {line for spec in COMMANDS for line in spec.usage}


def test_every_extra_line_belongs_to_a_command() -> None:
    assert {*BEFORE, *AFTER} <= set(NAMES)
    assert not set(NAMES) & set(OTHERS)


async def test_the_telegram_menu_has_every_command(tmp_path: Path) -> None:
    async with telegram(tmp_path / "workspace", time.time, "") as (on, _, _place):
        menus = [(language, scope) for language in ("", "de") for scope in ("all_group_chats", "all_private_chats")]
        await on.tg.wait_for(lambda tg: len(tg.calls("setMyCommands")) >= len(menus))
    calls = [call.params for call in on.tg.calls("setMyCommands")]
    assert sorted((call.get("language_code", ""), call["scope"]["type"]) for call in calls) == menus
    for call in calls:
        say = Say(call.get("language_code", ""))
        assert [(each["command"], each["description"]) for each in call["commands"]] == [
            (spec.name, say(spec.summary)) for spec in COMMANDS
        ]


async def test_discord_has_every_command_registered(tmp_path: Path) -> None:
    async with discord(tmp_path / "workspace", time.time, "") as (_, _app, place):
        (call,) = place.dc.calls("PUT", "/applications/{application_id}/commands")
    assert [each["name"] for each in call.body] == NAMES
    for spec, each in zip(COMMANDS, call.body, strict=True):
        assert (each["type"], each["contexts"], each["integration_types"]) == (1, [0, 1, 2], [0, 1])
        assert (each["description"], each["description_localizations"]) == (
            spec.summary,
            {"de": Say("de")(spec.summary)},
        )


async def test_the_terminal_completes_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(sys, stream, Tty())
    async with chatting(tmp_path / "workspace") as prompt:
        completer = prompt.current_buffer.completer
        offered = list(completer.get_completions(Document("/"), CompleteEvent()))
    assert [(each.text, each.display_meta_text) for each in offered] == [
        *((f"/{spec.name}", spec.summary) for spec in COMMANDS),
        ("/exit", "Leave the terminal"),
    ]


def test_every_platform_takes_part() -> None:
    known = {platform.name for platform in bot.platforms.PLATFORMS}
    assert PLATFORMS.keys() - {"terminal"} == known, "PLATFORMS of tests/stories/all_platforms.py lacks one"


@pytest.mark.parametrize("role", ["owner", "guest"])
async def test_help_names_what_a_person_may_use(tmp_path: Path, role: Role) -> None:
    """On one platform; that the others do the same is checked below."""
    talk = await held("telegram", tmp_path, ["/help all"], role, "", time.time())
    (reply,) = talk.answers[0].replies
    mine = [spec.name for spec in COMMANDS if may(Person(1, role, NAME), spec.role)]
    assert re.findall(r"(?m)^/(\w+):", reply.text) == mine


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_answers_are_the_same_on_all_platforms(tmp_path: Path, case: Case) -> None:
    now = time.time()
    talks = await asyncio.gather(*(held(name, tmp_path, case.lines, case.role, "", now) for name in PLATFORMS))
    assert not USAGE & {line for talk in talks for line in talk.typed}, "Discord's client turns these into commands"
    for answers in compared(dict(zip(PLATFORMS, talks, strict=True))):
        assert answers[0].replies, f"nothing is said to {answers[0].line}"


@pytest.mark.parametrize(("room", "role", "lines"), PRESSING.values(), ids=list(PRESSING))
async def test_buttons_do_the_same_on_all_platforms(
    tmp_path: Path, room: Room, role: Role, lines: Sequence[str | Press]
) -> None:
    """A menu is redrawn in place; a refusal is shown only to the person who pressed."""
    now = time.time()
    talks = await asyncio.gather(*(held(name, tmp_path, lines, role, "", now, room) for name in BUTTONS))
    for first, second in compared(dict(zip(BUTTONS, talks, strict=True))):
        by_other = isinstance(first.line, Press) and first.line.by_other
        notices = [shown.notice.replace("server", "group") for shown in (first.shown, second.shown)]
        assert (notices[0], first.shown.redrawn) == (notices[1], second.shown.redrawn)
        assert first.shown.redrawn == (isinstance(first.line, Press) and not by_other), f"{first.line}"
        assert bool(first.shown.notice) == by_other != bool(first.replies), f"{first.line}"


def compared(talks: Mapping[str, Talk]) -> Iterator[tuple[Answer, ...]]:
    """The answers to each line, by platform. All must be equal and visible."""
    for answers in zip(*(talk.answers for talk in talks.values()), strict=True):
        given = dict(zip(talks, answers, strict=True))
        by_platform = {name: [common(reply, talks[name]) for reply in answer.replies] for name, answer in given.items()}
        for platform, answer in given.items():
            assert by_platform[platform] == by_platform["telegram"], f"{answer.line} on {platform}"
            assert invisible_parts(platform, answer) == [], f"{answer.line} on {platform}"
        yield answers


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_a_german_client_gets_german_answers(tmp_path: Path, platform: str) -> None:
    talk = await held(platform, tmp_path, ["/settings"], "user", "de", time.time())
    assert talk.answers[0].replies[0].text.startswith("Sprache: Deutsch")


def common(reply: OutboundMessage, talk: Talk) -> tuple[object, ...]:
    """A reply without what may differ: account and handle, the word for a group, the platform's name in /status,
    megabytes, seconds, and random codes."""
    text = reply.text.replace(str(talk.user), "this account").replace("This server isn't", "This group isn't")
    text = re.sub(r" \(`@\w+`\)", "", text)
    text = re.sub(rf"(?m)^{talk.user.platform}: ", "this platform: ", text)
    text = re.sub(r"\d+(\.\d+)? MB\b", "so many MB", text)
    text = re.sub(r"\d+\.\d s\b", "so many s", text)
    text = CODE.sub("a code", text)
    buttons = [[(button.label, button.command) for button in row] for row in reply.buttons]
    return text, buttons, reply.document


def invisible_parts(platform: str, answer: Answer) -> list[str]:
    """Parts of an answer that are not visible, or visible without being in the text."""
    if any(reply.secret for reply in answer.replies):
        return []  # codes are not stored
    texts = [words(reply.text) for reply in answer.replies]
    files = [words(reply.document.text) for reply in answer.replies if reply.document]
    buttons = [button for reply in answer.replies for row in reply.buttons for button in row]
    if platform == "terminal":
        commands = [words(" · ".join(dict.fromkeys(button.command for button in buttons)))]
        return [" ".join(each) for each in [*texts, *files, *commands] if not stands_in(each, answer.shown.words)]
    whole = [word for each in [*texts, *files] for word in each]
    found = [] if answer.shown.words == whole else [f"{answer.shown.words} is not {whole}"]
    labels = [button.label for button in buttons]
    return found if answer.shown.labels == labels else [*found, f"{answer.shown.labels} is not {labels}"]


def stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    return any(list(whole[at : at + len(part)]) == list(part) for at in range(len(whole) - len(part) + 1))
