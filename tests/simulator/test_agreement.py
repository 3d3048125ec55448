"""Our loopback Discord and simcord answer the same calls alike. Known deviations of simcord are listed, with a source
from Discord's schema, its documentation or developers' reports."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.simulator.backends import Backend, loopback_backend, simcord_backend

GENERAL, HOOK, CALLBACK = (
    "/channels/<general>/messages",
    "/webhooks/<app>/<token>",
    "/interactions/<id>/<token>/callback",
)
EYES = "reactions/%F0%9F%91%80/@me"
GO = {"name": "go", "description": "go"}
COMMANDS = "/applications/<app>/commands"
Call = tuple[Any, ...]
"""Discord's answer, method, path, body, number of files."""


def answering(kind: str, **to: str) -> dict[str, Any]:
    return {"content": kind, "message_reference": to}


def button(number: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": 2, "style": 2, "label": "A", "custom_id": f"b{number}"} | more


def rows(*counts: int) -> dict[str, Any]:
    """Rows with these numbers of buttons."""
    numbers = iter(range(100))
    made = [{"type": 1, "components": [button(next(numbers)) for _ in range(count)]} for count in counts]
    return {"content": "x", "components": made}


MESSAGES: dict[str, Call] = {
    "2000 characters": ("200", "POST", GENERAL, {"content": "x" * 2000}),
    "2000 characters outside the BMP": ("200", "POST", GENERAL, {"content": "😀" * 2000}),
    "2001 characters": ("400 50035", "POST", GENERAL, {"content": "x" * 2001}),
    "nothing": ("400 50006", "POST", GENERAL, {"content": ""}),
    "unknown channel": ("404 10003", "POST", "/channels/1/messages", {"content": "x"}),
    "may not write": ("403 50013", "POST", "/channels/<mute>/messages", {"content": "x"}),
    "may not write: typing": ("403 50013", "POST", "/channels/<mute>/typing"),
    "may not see": ("403 50001", "POST", "/channels/<hidden>/messages", {"content": "x"}),
    "may not see: typing": ("403 50001", "POST", "/channels/<hidden>/typing"),
    "may not see: channel": ("403 50001", "GET", "/channels/<hidden>"),
    "may not see: history": ("403 50001", "GET", "/channels/<hidden>/messages"),
    "may not read back": ("200", "GET", "/channels/<forgetful>/messages"),
    "may not read back: one": ("403 50013", "GET", "/channels/<forgetful>/messages/<in_forgetful>"),
    "may not attach": ("403 50013", "POST", "/channels/<bare>/messages", {"content": "x"}, 1),
    "11 files": ("400 50035", "POST", GENERAL, {"content": "x"}, 11),
    "reply": ("200", "POST", GENERAL, answering("x", message_id="<said>")),
    "reply to what is gone": ("400 50035", "POST", GENERAL, answering("x", message_id="<gone>")),
    "reply elsewhere": ("400 50035", "POST", GENERAL, answering("x", message_id="<in_strict>", channel_id="<strict>")),
    "reply, may not read back": (
        "403 160002",
        "POST",
        "/channels/<forgetful>/messages",
        answering("x", message_id="<in_forgetful>"),
    ),
    "long nonce": ("400 50035", "POST", GENERAL, {"content": "x", "nonce": "n" * 26}),
    "both ways of mentions": (
        "400 50035",
        "POST",
        GENERAL,
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["<bob>"]}},
    ),
    "five rows of five": ("200", "POST", GENERAL, rows(5, 5, 5, 5, 5)),
    "six rows": ("400 50035", "POST", GENERAL, rows(1, 1, 1, 1, 1, 1)),
    "six in a row": ("400 50035", "POST", GENERAL, rows(6)),
    "one id twice": (
        "400 50035",
        "POST",
        GENERAL,
        {"components": [{"type": 1, "components": [button(), button()]}]},
    ),
    "long label": (
        "400 50035",
        "POST",
        GENERAL,
        {"components": [{"type": 1, "components": [button(label="x" * 81)]}]},
    ),
    "edit another's": ("403 50005", "PATCH", f"{GENERAL}/<said>", {"content": "x"}),
    "edit what is gone": ("404 10008", "PATCH", f"{GENERAL}/<gone>", {"content": "x"}),
    "read what is gone": ("404 10008", "GET", f"{GENERAL}/<gone>"),
    "delete another's": ("403 50013", "DELETE", "/channels/<strict>/messages/<in_strict>"),
    "react": ("204", "PUT", f"{GENERAL}/<said>/{EYES}"),
    "react by a word": ("400 10014", "PUT", f"{GENERAL}/<said>/reactions/eyes/@me"),
    "may not react": ("403 50013", "PUT", f"/channels/<stern>/messages/<in_stern>/{EYES}"),
    "react to what is gone": ("404 10008", "PUT", f"{GENERAL}/<gone>/{EYES}"),
    "private channel": ("200", "POST", "/users/@me/channels", {"recipient_id": "<bob>"}),
    "private channel of nobody": ("404 10013", "POST", "/users/@me/channels", {"recipient_id": "1"}),
    "may not open threads": ("403 50013", "POST", "/channels/<flat>/messages/<in_flat>/threads", {"name": "t"}),
    "thread": ("201", "POST", f"{GENERAL}/<said>/threads", {"name": "t"}),
    "thread again": ("400 160004", "POST", f"{GENERAL}/<said>/threads", {"name": "t"}),
    "in the thread": ("200", "POST", "/channels/<said>/messages", {"content": "x"}),
    "command in capitals": ("400 50035", "PUT", COMMANDS, [GO | {"name": "Go"}]),
    "long description": ("400 50035", "PUT", COMMANDS, [GO | {"description": "x" * 101}]),
    "command twice": ("400 50035", "PUT", COMMANDS, [GO, GO]),
}
BEGIN, LATE, OLD = ("begin",), ("wait", 4.0), ("wait", 901.0)
"""Bob runs a command; three seconds pass; fifteen minutes pass."""
INTERACTIONS: dict[str, Call] = {
    "1": BEGIN,
    # discordjs/discord.js#10587; simcord itself says Unknown Message
    "original before the first answer": ("404 10015", "PATCH", f"{HOOK}/messages/@original", {"content": "x"}),
    "more before the first answer": ("404 10015", "POST", HOOK, {"content": "x"}),
    "2": BEGIN,
    "answer of 2001 characters": ("400 50035", "POST", CALLBACK, {"type": 4, "data": {"content": "x" * 2001}}),
    "deferral": ("204", "POST", CALLBACK, {"type": 5, "data": {"flags": 64}}),
    "deferral again": ("400 40060", "POST", CALLBACK, {"type": 5}),
    "more while it is deferred": ("200", "POST", HOOK, {"content": "f"}),
    "original": ("200", "PATCH", f"{HOOK}/messages/@original", {"content": "x"}),
    "more": ("200", "POST", HOOK, {"content": "x", "flags": 64}),
    "original deleted": ("204", "DELETE", f"{HOOK}/messages/@original"),
    "original after that": ("404 10008", "PATCH", f"{HOOK}/messages/@original", {"content": "x"}),
    "unknown interaction": ("404 10062", "POST", "/interactions/1/nothing/callback", {"type": 5}),
    "unknown token": ("401 50027", "POST", "/webhooks/<app>/nothing", {"content": "x"}),
    "3": BEGIN,
    "choices for a command": ("400 50035", "POST", CALLBACK, {"type": 8, "data": {"choices": []}}),
    "4": BEGIN,
    "5": LATE,
    "first answer after 4 s": ("404 10062", "POST", CALLBACK, {"type": 5}),
    "6": BEGIN,
    "in time": ("204", "POST", CALLBACK, {"type": 5}),
    "7": OLD,
    "original after 15 min": ("401 50027", "PATCH", f"{HOOK}/messages/@original", {"content": "x"}),
}
SIMCORD = {
    "nothing": "400 50035",  # the JSON error codes have 50006 for it
    "may not attach": "200",  # ATTACH_FILES is not looked at
    "11 files": "200",  # MessageCreateRequest.attachments: maxItems 10
    "reply to what is gone": "200",  # fail_if_not_exists, which is true by default, has no effect
    "reply, may not read back": "200",  # the JSON error codes have 160002 for it
    "long nonce": "200",  # MessageCreateRequest.nonce: maxLength 25; nonces are not looked at, nor given back
    "react by a word": "204",  # 10014 in the JSON error codes
    "thread": "200",  # the schema's answer is 201
    "thread again": "200",  # 160004 in the JSON error codes
    "command in capitals": "200",  # no limit of a command is looked at: name, description, choices, order
    "long description": "200",
    "command twice": "200",
    "more before the first answer": "200",
    "unknown token": "404 10015",
    "choices for a command": "200",  # the types of answers are not held against that of the interaction
    "deferral": "200",  # 204 without ?with_response=true, by the schema and the documentation
    "in time": "200",
    "original after 15 min": "404 10015",  # discord/discord-api-docs#6851 and discordjs/discord.js#10798: 401, 50027
}
"""Answers of simcord that differ from Discord's, with the source."""


async def answers(backend: Backend, calls: dict[str, Call]) -> dict[str, str]:
    """The answer of this backend to each call."""
    given: dict[str, str] = {}
    assert (await backend.call("PUT", COMMANDS, [GO]))[0] == "200"
    for name, call in calls.items():
        match call:
            case ("begin",):
                await backend.begin()
            case ("wait", seconds):
                backend.advance(seconds)
            case _:
                given[name], _ = await backend.call(*call[1:])
    return given


@pytest.mark.parametrize("calls", [MESSAGES, INTERACTIONS], ids=["messages", "interactions"])
@pytest.mark.parametrize(
    ("begin", "wrong"), [(loopback_backend, {}), (simcord_backend, SIMCORD)], ids=["loopback", "simcord"]
)
async def test_our_server_answers_every_call_like_simcord(
    begin: Callable[[], AbstractAsyncContextManager[Backend]], wrong: dict[str, str], calls: dict[str, Call]
) -> None:
    truth = {name: call[0] for name, call in calls.items() if call[0] not in ("begin", "wait")}
    async with begin() as backend:
        assert await answers(backend, calls) == {name: wrong.get(name, answer) for name, answer in truth.items()}


async def test_only_our_server_finds_a_message_by_its_nonce() -> None:
    for made, same in ((loopback_backend(), True), (simcord_backend(), False)):
        async with made as backend:
            body = {"content": "x", "nonce": "one", "enforce_nonce": True}
            ids = {(await backend.call("POST", GENERAL, body))[1]["id"] for _ in range(2)}
            assert (len(ids) == 1) is same
