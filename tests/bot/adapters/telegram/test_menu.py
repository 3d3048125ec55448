"""The command menu is set outside the start-up path, and only if it changed."""

from __future__ import annotations

import json

from bot.adapters.telegram.platform import MENU_KEY
from handlers.commands import COMMANDS
from handlers.languages import Say
from tests.bot.adapters.harness import States
from tests.bot.adapters.telegram.harness import running_platform
from tests.servers.telegram import TelegramServer

PRIVATE, GROUPS = {"type": "all_private_chats"}, {"type": "all_group_chats"}


async def test_the_menu_is_set_once_per_scope_and_language() -> None:
    state = States()
    async with TelegramServer() as tg:
        async with running_platform(tg, state):
            await tg.wait_for(lambda _: MENU_KEY in state.kept)
            menus = {key: [entry["description"] for entry in commands] for key, commands in tg.commands.items()}
        assert menus == {
            json.dumps([scope, code], sort_keys=True): [Say(language)(spec.summary) for spec in COMMANDS]
            for scope in (PRIVATE, GROUPS)
            for code, language in (("", "en"), ("de", "de"))
        }
        tg.requests.clear()
        async with running_platform(tg, state) as harness:
            await harness.received(tg.say("hello"))
        assert tg.calls("setMyCommands") == []


async def test_a_failed_registration_is_repeated_at_the_next_start() -> None:
    state = States()
    async with TelegramServer() as tg:
        tg.fault("setMyCommands", "server_error")
        async with running_platform(tg, state) as harness:
            await tg.wait_for(lambda _: tg.calls("setMyCommands"))
            await harness.received(tg.say("hello"))
        assert state.kept == {}
        async with running_platform(tg, state):
            await tg.wait_for(lambda _: MENU_KEY in state.kept)


async def test_messages_do_not_wait_for_the_menu(tg: TelegramServer) -> None:
    tg.fault("setMyCommands", "hang")
    async with running_platform(tg, pace={"answer": 30}) as harness:
        await harness.received(tg.say("hello"))
