"""A newcomer sets up the bot in a real terminal, up to the first answered message."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from bot.adapters.shared.descriptor import CODE, BotAccount
from bot.ops.setup.first_message import RunningBot, first_message
from handlers.languages import Say
from handlers.version import VERSION
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.access import CODE as CODE_FORM
from tests.stories.harness import BotHarness, ask, running
from tests.stories.setup_terminal import KEY, LINK, newcomer, terminal_of
from tests.test_wheel import build

MAX_ANSWERS = 8
UID = "4711"
"""Of a user that nobody else is."""


async def test_a_newcomer_gets_the_first_answer_after_a_few_typed_words(
    on: BotHarness, dc: DiscordServer, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    notes = "# my notes\nADMIN_ADDRESS=off\n"
    (tmp_path / "workspace" / ".env").write_text(notes, "utf-8")
    servers = {"TELEGRAM_API_ROOT": on.tg.root, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
    servers["DATABASE_URL"] = on.data.url
    with newcomer(
        tmp_path, {**servers, "OLLAMA_HOST": "127.0.0.1:9"}, "--base", f"openai={on.ms.openai_base}"
    ) as terminal:
        await terminal.answers_with("Telegram token", on.tg.token)
        await terminal.answers_with("Discord token", dc.token)
        await terminal.answers_with("Which model should answer", "")
        await terminal.answers_with("OpenAI key", KEY)
        code = await terminal.sees(LINK.pattern)
        on.tg.say(f"/start {code}")
        assert (await on.tg.reply()).text.startswith("👑 You are the owner now.")
        on.tg.say("hello")
        assert (await on.tg.reply(matching="You said")).text == "You said: hello"
        await terminal.sees("The bot has answered. Everything works.")
        assert terminal.answers + len(on.tg.private().messages) // 2 <= MAX_ANSWERS
        assert KEY not in terminal.command_line
        assert await terminal.ends() == 0
    for secret in (on.tg.token, dc.token, KEY):
        assert secret not in terminal.screen
    text = (tmp_path / "workspace" / ".env").read_text("utf-8")
    assert text.startswith(notes)
    assert "BOT_OWNERS=discord:1001" in text
    assert on.rows("select role, count(*) from people group by role") == [("owner", 2)]


async def test_each_mistake_is_explained_and_can_be_corrected(
    on: BotHarness, dc: DiscordServer, tmp_path: Path
) -> None:
    servers = {"TELEGRAM_API_ROOT": on.tg.root, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
    wrong_key = "sk-test-refused-0000000"
    on.ms.bad_keys.add(wrong_key)
    dc.grant()
    await on.tg.go_down()
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        taken = other.getsockname()[1]
        servers |= {"OLLAMA_HOST": "127.0.0.1:9", "ADMIN_ADDRESS": f"127.0.0.1:{taken}", "LOG_LEVEL": "INFO"}
        with newcomer(tmp_path, servers, "--base", f"openai={on.ms.openai_base}") as terminal:
            await terminal.answers_with("Telegram token", on.tg.token)
            await terminal.sees(r"✗ Telegram can't be reached \(.+\)\. Check the internet connection\.")
            await on.tg.come_back()
            await terminal.presses_enter("Try again")
            await terminal.sees("✓ Telegram: the token belongs to @tierbot")
            await terminal.answers_with("Discord token", f"{'A' * 24}.wrong.{'b' * 30}")
            await terminal.sees("✗ Discord refuses DISCORD_BOT_TOKEN; copy the token again")
            await terminal.answers_with("Discord token", dc.token)
            await terminal.sees("✗ The bot can't read messages in servers: turn on Message Content Intent")
            dc.grant("message_content")
            await terminal.presses_enter("Check again")
            await terminal.sees("✓ Discord: everything is on now")
            await terminal.presses_enter("Which model should answer")
            await terminal.answers_with("OpenAI key", wrong_key)
            await terminal.sees("✗ OpenAI refuses the key. Copy it whole, or make a new one.")
            await terminal.answers_with("OpenAI key", KEY)
            await terminal.sees(f"✗ Another program listens on port {taken}")
            on.tg.say(f"/start {await terminal.presses_enter_until('Another port', LINK.pattern)}")
            assert (await on.tg.reply()).text.startswith("👑 You are the owner now.")
            on.tg.say("xyzzy")
            assert (await on.tg.reply(matching="You said")).text == "You said: xyzzy"
            await terminal.sees("The bot has answered. Everything works.")
            assert await terminal.ends() == 0
    for private in (on.tg.token, dc.token, KEY, wrong_key, "xyzzy"):
        assert private not in terminal.screen
    assert "[LLM] Model tier: balanced" in terminal.screen, "the log at INFO"


async def test_a_wrong_telegram_token_is_asked_again(on: BotHarness, tmp_path: Path) -> None:
    with newcomer(tmp_path, {"TELEGRAM_API_ROOT": on.tg.root}) as terminal:
        await terminal.answers_with("Telegram token", "123456:WRONG")
        await terminal.sees("✗ Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole")
        await terminal.answers_with("Telegram token", on.tg.token)
        await terminal.sees("✓ Telegram: the token belongs to @tierbot")


def install_as_new_user(home: Path, wheel: Path) -> tuple[str, ...]:
    """Give the folder to a user that nobody else is, who installs the wheel there from the package index; how to run a
    command as them. Without root or a Python that others can run, it is this user's."""
    as_user: tuple[str, ...] = ("setpriv", "--reuid", UID, "--regid", UID, "--clear-groups")
    python, copy = "/usr/bin/python3", Path(shutil.copy(wheel, home))
    usable = (*as_user, python, "-c", "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))")
    if os.geteuid() or subprocess.run(usable, check=False).returncode:
        as_user, python = (), str(Path(sys.executable).resolve())
    for path in (home, copy) if as_user else ():
        os.chown(path, int(UID), int(UID))
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    environ |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    for step in ((python, "-m", "venv", home / "venv"), (home / "venv" / "bin" / "pip", "install", "-q", copy)):
        subprocess.run([*as_user, *step], cwd=home, env=environ, check=True)
    return as_user


@pytest.mark.slow
async def test_a_new_user_with_only_a_package_index(on: BotHarness, tmp_path: Path) -> None:
    wheel = await asyncio.to_thread(build, tmp_path / "source", tmp_path / "wheels", VERSION)
    with tempfile.TemporaryDirectory() as folder:
        home, began = Path(folder), time.monotonic()
        as_user = await asyncio.to_thread(install_as_new_user, home, wheel)
        installed = time.monotonic()
        command = (*as_user, f"{folder}/venv/bin/tierbot", "setup", "--base", f"openai={on.ms.openai_base}")
        environ = {"TELEGRAM_API_ROOT": on.tg.root, "OLLAMA_HOST": "127.0.0.1:9", "ADMIN_ADDRESS": "off"}
        with terminal_of(home, environ, command) as terminal:
            await terminal.answers_with("Telegram token", on.tg.token)
            await terminal.answers_with("Discord token", "")
            await terminal.answers_with("Which model should answer", "")
            await terminal.answers_with("OpenAI key", KEY)
            on.tg.say(f"/start {await terminal.sees(LINK.pattern)}")
            assert (await on.tg.reply()).text.startswith("👑 You are the owner now.")
            on.tg.say("hello")
            assert (await on.tg.reply(matching="You said")).text == "You said: hello"
            await terminal.sees("The bot has answered. Everything works.")
            assert terminal.answers + len(on.tg.private().messages) // 2 <= MAX_ANSWERS
            assert await terminal.ends() == 0
        env = home / ".local" / "share" / "tierbot" / ".env"
        assert (stat.S_IMODE(env.stat().st_mode), "TELEGRAM_BOT_TOKEN" in env.read_text("utf-8")) == (0o600, True)
    print(f"installed in {installed - began:.0f} s, answered {time.monotonic() - installed:.0f} s later")


async def test_ctrl_c_leaves_everything_as_it_was(on: BotHarness, tmp_path: Path) -> None:
    on.tg.fault("getMe", "hang")
    environ = {"TELEGRAM_API_ROOT": on.tg.root, "LANG": "de_DE.UTF-8"}
    with newcomer(tmp_path, environ) as terminal:
        await terminal.answers_with("Telegram-Token", on.tg.token)
        await on.tg.wait_for(lambda tg: tg.calls("getMe"))
        terminal.process.send(f"{KEY}\r")  # typed while the token is checked
        assert await terminal.ends() == 130
    assert "Abgebrochen. Es wurde nichts geändert." in terminal.screen
    assert KEY not in terminal.screen
    assert os.listdir(tmp_path) == []


@asynccontextmanager
async def waiting(
    on: BotHarness, *accounts: tuple[str, BotAccount]
) -> AsyncIterator[tuple[list[str], asyncio.Task[None]]]:
    """A running bot for which setup waits: what it shows, and its task."""
    async with running(on) as app:
        stores, outbox, shown = app.messaging.stores, app.messaging.outbox, list[str]()
        platforms, new_code, stopped = app.messaging.platforms, app.access.new_owner_code, app.running.stopped
        clock = app.messaging.clock
        bot = RunningBot(platforms, stores.people, stores.turns, new_code, lambda: outbox.chats, stopped, clock)
        task = asyncio.create_task(first_message(bot, dict(accounts), Say(""), shown.append))
        yield shown, task
        task.cancel()


ON_TELEGRAM = ("telegram", BotAccount("@tierbot", f"https://t.me/tierbot?start={CODE}"))


async def test_setup_waits_for_the_answer_to_the_owner(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with waiting(on, ON_TELEGRAM) as (shown, task):
        await until(lambda: len(shown) == 2)
        link = LINK.search(shown[0])
        assert link is not None
        assert "I have no owner yet" in (await ask(on, "hi", user="mallory")).text
        await ask(on, f"/start {link[1]}")
        await until(lambda: shown[-1] == "✓ You are the owner. Write a question to the bot.")
        await ask(on, "/whoami")
        assert not task.done()
        on.ms.fail(401)
        await ask(on, "hello")
        await until(lambda: shown[-1].startswith("✗ The bot could not answer: the chat says why."))
        assert not task.done()
        await ask(on, "hello again")
        await until(task.done)
        assert shown[-1] == "✓ The bot has answered. Everything works."


async def test_an_answer_that_was_stopped_is_no_fault(on: BotHarness) -> None:
    async with waiting(on, ON_TELEGRAM) as (shown, task):
        await until(lambda: len(shown) == 2)
        gate = on.ms.gate("never")
        on.tg.say("hello")
        await gate.reached()
        on.tg.say("/stop")
        await until(lambda: shown[-1] == "⏹ You stopped this answer. Ask another question.")
        on.ms.fail(401)
        await ask(on, "hello again")
        await until(lambda: shown[-1].startswith("✗ The bot could not answer: the chat says why."))
        await ask(on, "hello once more")
        await until(task.done)
        assert shown[-1] == "✓ The bot has answered. Everything works."


async def test_an_owner_who_is_known_just_writes(on: BotHarness) -> None:
    async with waiting(on, ON_TELEGRAM) as (shown, task):
        await until(lambda: len(shown) == 2)
        assert shown[0] == "Telegram: open https://t.me/tierbot, then send @tierbot a direct message."
        await ask(on, "hello")
        await until(task.done)
    async with waiting(on, ON_TELEGRAM) as (shown, task):
        await until(lambda: len(shown) == 2)
        await ask(on, "/whoami")
        assert not task.done(), "answers before this start do not count"


async def test_a_bot_without_a_link_gets_the_code_in_words(on: BotHarness) -> None:
    on.env["BOT_OWNERS"] = ""
    async with waiting(on) as (shown, _):
        await until(lambda: len(shown) == 2)
        assert CODE_FORM.search(shown[0])
        assert "Send it to the bot in a private chat to become its owner." in shown[0]
