"""Two processes on one PostgreSQL share the chats, and each goes on with what the other one left."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from tests.polling import until
from tests.postgres import Server
from tests.servers.discord import DiscordServer
from tests.servers.telegram import Chat, Message
from tests.storage.database.test_postgres import control
from tests.stories.databases import ServerDatabase
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, BotProcess, ask, bot_harness, running
from tests.stories.kills import GROUP, HELD, MARK, KillSweep, answer
from tests.stories.test_linking import code, written

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]
CLAIMED = "select processes.name from claims join processes on processes.id = process_id where beat_at > 0"
SEED, KILLS = 20_261_128, 12
FROZEN_SECONDS = 8.0
OF_USER = "select 1 from claims where chat = 'telegram:' || ?"
BUSY = {
    "bot.inbox.admission.ALWAYS": 1,
    "bot.inbox.admission.MAX_LAG_SECONDS": -1.0,
    "bot.inbox.admission.MAX_WAIT_SECONDS": 600.0,
    "bot.cluster.BUSY_SECONDS": 5.0,
}
"""Constants for a process that has time for one turn only."""


class Seen(Protocol):
    """A message on any platform."""

    @property
    def text(self) -> str: ...


@pytest.fixture
async def on(tmp_path: Path, postgres: Server) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as made:
        with closing(ServerDatabase(postgres)) as made.data:
            made.env["BOT_ACCESS"] = "open"
            made.env["TELEGRAM_WEBHOOK_SECRET"] = "one-for-both"
            yield made


class Two:
    """Both processes. The second one gets Telegram's updates."""

    def __init__(self, on: BotHarness, processes: Mapping[str, BotProcess]) -> None:
        self._on = on
        self._processes = processes

    def names(self) -> set[str]:
        """The workspaces of the processes that handle any chat."""
        return {Path(str(name).split()[1]).parent.name for (name,) in self._on.rows(CLAIMED)}

    def worker(self) -> BotProcess:
        """The one that handles the only chat."""
        (name,) = self.names()
        return self._processes[name]

    def other(self, process: BotProcess) -> BotProcess:
        return next(each for each in self._processes.values() if each is not process)


@asynccontextmanager
async def two(on: BotHarness, constants: Mapping[str, object] | None = None) -> AsyncIterator[Two]:
    """Starts two processes with workspaces of their own. `constants` are those of the second one."""
    on.write_config()
    processes = {name: _process(on, name, given or {}) for name, given in (("first", None), ("second", constants))}
    async with processes["first"]:
        await until(lambda: on.tg.updates.webhook)
        async with processes["second"]:
            await until(lambda: len(on.rows("select 1 from processes where beat_at > 0")) == 2)
            yield Two(on, processes)


def _process(on: BotHarness, name: str, constants: Mapping[str, object]) -> BotProcess:
    workspace = on.workspace.parent / name
    if not workspace.exists():
        shutil.copytree(on.workspace, workspace)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    env = {
        "WORKSPACE": str(workspace),
        "TELEGRAM_WEBHOOK_URL": f"http://{address}/updates",
        "TELEGRAM_WEBHOOK_LISTEN": address,
    }
    return BotProcess(on, env=env, config=False, constants=constants)


def answers(chat: Chat, question: str) -> list[Message]:
    return [each for each in chat.from_bot() if each.text in (answer(question), MARK + answer(question))]


async def recorded(on: BotHarness) -> None:
    await until(lambda: not on.rows("select 1 from inbox where state = 'waiting'"))
    await until(lambda: not on.rows("select 1 from outbox where state in ('pending', 'attempting')"))


async def test_the_other_process_goes_on_in_the_message_of_a_killed_one(on: BotHarness) -> None:
    gate = on.ms.reply(answer("this"), chunks=4, gate_after=2)
    async with two(on) as both:
        question = on.tg.say("@tierbot this", user="bob", group=GROUP)
        await gate.reached(60.0)
        half = await on.tg.reply(question)
        await until(lambda: on.rows("select placeholder from inbox where state = 'waiting'") == [(str(half.id),)])
        worker = both.worker()
        on.ms.reply(answer("this"))
        await worker.kill()
        began = time.monotonic()
        await on.tg.wait_for(lambda _: half.text == answer("this"), 60.0)
        print(f"answered {time.monotonic() - began:.1f} s after the kill")
        await recorded(on)
        assert both.worker() is not worker
    assert answers(question.chat, "this") == [half]


@pytest.mark.slow
async def test_a_reply_that_a_killed_process_may_have_sent_is_marked(on: BotHarness) -> None:
    on.ms.default = lambda request: answer(request.last_user_text)
    async with two(on) as both:
        kept = on.tg.fault("sendMessage", "hang_after")
        question = on.tg.say("this")
        await on.tg.wait_for(lambda _: kept.hits, 60.0)
        await both.worker().kill()
        on.tg.clear_faults()
        await on.tg.wait_for(lambda _: len(answers(question.chat, "this")) == 2, 60.0)
        await recorded(on)
    assert [each.text for each in answers(question.chat, "this")] == [answer("this"), MARK + answer("this")]


async def test_a_frozen_process_shows_nothing_when_it_wakes_up(on: BotHarness) -> None:
    gate = on.ms.reply(answer("this"), chunks=4, gate_after=2)
    async with two(on) as both:
        question = on.tg.say("this")
        await gate.reached(60.0)
        worker = both.worker()
        worker.signal(signal.SIGSTOP)
        on.ms.default = lambda request: answer(request.last_user_text)
        await on.tg.wait_for(lambda _: answers(question.chat, "this"), 60.0)
        gate.open()
        await recorded(on)
        versions = [list(each.versions) for each in question.chat.from_bot()]
        worker.signal(signal.SIGCONT)
        await until(lambda: "starting again" in worker.log)
        later = on.tg.say("later")
        await on.tg.wait_for(lambda _: answers(later.chat, "later"), 60.0)
        await recorded(on)
    assert [each.text for each in answers(question.chat, "this")] == [answer("this")]
    assert [list(each.versions) for each in question.chat.from_bot()][: len(versions)] == versions
    assert on.rows("select count(*) from messages where role = 'user'") == [(2,)]


@pytest.mark.slow
async def test_a_process_that_is_frozen_while_it_sends_repeats_nothing(on: BotHarness) -> None:
    on.ms.default = lambda request: answer(request.last_user_text)
    async with two(on) as both:
        kept = on.tg.fault("sendMessage", "slow", seconds=2.0)
        question = on.tg.say("this")
        await on.tg.wait_for(lambda _: kept.hits, 60.0)
        worker = both.worker()
        worker.signal(signal.SIGSTOP)
        await on.tg.wait_for(lambda _: len(answers(question.chat, "this")) == 2, 60.0)
        worker.signal(signal.SIGCONT)
        await until(lambda: "starting again" in worker.log)
        await recorded(on)
    assert [each.text for each in answers(question.chat, "this")] == [answer("this"), MARK + answer("this")]


@pytest.mark.slow
async def test_a_short_freeze_costs_nothing(on: BotHarness) -> None:
    gate = on.ms.reply(answer("this"), chunks=4, gate_after=2)
    async with two(on) as both:
        question = on.tg.say("this")
        await gate.reached(60.0)
        both.worker().signal(signal.SIGSTOP)
        await asyncio.sleep(2.0)
        both.worker().signal(signal.SIGCONT)
        gate.open()
        await on.tg.wait_for(lambda _: answers(question.chat, "this"), 60.0)
        await recorded(on)
    assert len(on.ms.calls) == 1


async def test_a_stopped_process_leaves_its_turn_to_the_other_one(on: BotHarness) -> None:
    gate = on.ms.reply("never said", chunks=4, gate_after=2)
    async with two(on, {"bot.app.GRACE_SECONDS": 0.2}) as both:
        question = on.tg.say("this")
        await gate.reached(60.0)
        worker = both.worker()
        on.ms.default = lambda request: answer(request.last_user_text)
        assert await worker.terminate() == 0
        await on.tg.wait_for(lambda _: answers(question.chat, "this"), 60.0)
        await recorded(on)
        assert both.worker() is not worker
    assert on.rows("select count(*) from processes where beat_at > 0") == [(1,)]


async def test_a_busy_process_leaves_chats_to_the_other_one(on: BotHarness) -> None:
    """A command reaches the process that handles its chat."""
    on.ms.default = lambda _: HELD
    async with two(on, BUSY) as both:
        asking = iter(("alice", "bob", "carol", "dave", "erin", "frank", "grace"))
        while both.names() != {"first", "second"}:
            last = on.tg.say("this", user=next(asking))
            await until(partial(on.rows, OF_USER, str(last.sender.id)))
        await until(lambda: len(on.ms.calls) == 2)
        stop = on.tg.say("/stop", user=last.sender)
        assert "top" in (await on.tg.reply(stop, after=stop)).text
        waiting = "select 1 from inbox where state = 'waiting'"
        await until(lambda: len(on.rows(waiting)) == len(on.rows(CLAIMED)) - 1)


async def test_a_restart_of_the_database_takes_no_process_for_dead(on: BotHarness, postgres: Server) -> None:
    on.ms.default = lambda request: answer(request.last_user_text)
    async with two(on) as both:
        question = on.tg.say("this")
        await on.tg.wait_for(lambda _: answers(question.chat, "this"), 60.0)
        await recorded(on)
        worker = both.worker()
        await asyncio.to_thread(control, postgres, "restart")
        later = on.tg.say("later")
        await on.tg.wait_for(lambda _: answers(later.chat, "later"), 60.0)
        assert len(on.ms.calls) == 2
        assert not any("starting again" in each.log for each in (worker, both.other(worker)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED, SEED + 1])
async def test_kills_and_freezes_at_random_instants(on: BotHarness, seed: int) -> None:
    """Of one process after the other; a killed one starts again. Each question is answered once, in order."""
    sweep = KillSweep(on, seed, "postgresql+asyncpg")
    on.write_config()
    async with AsyncExitStack() as stack:
        running = {}
        for name in ("first", "second"):
            running[name] = await stack.enter_async_context(_process(on, name, {}))
            await until(lambda: len(on.rows("select 1 from processes where beat_at > 0")) == len(running))
        for number in range(KILLS):
            sweep.slow(seconds=1.0)
            sweep.ask(f"q{number}")
            name = sweep.random.choice(("first", "second"))
            if number % 3:
                await sweep.kill(running[name], within=3.0)
                running[name] = await stack.enter_async_context(_process(on, name, {}))
            else:
                await asyncio.sleep(sweep.random.uniform(0.0, 3.0))
                running[name].signal(signal.SIGSTOP)
                await asyncio.sleep(FROZEN_SECONDS)
                running[name].signal(signal.SIGCONT)
            await sweep.answered()
        await recorded(on)
        for process in running.values():
            assert await process.terminate() == 0
    sweep.check(marked=True)
    print(f"{KILLS} strikes, {sweep.questions} questions, {sweep.recovered} marked, {sweep.placeholders} partial")


async def test_of_two_pollers_one_gets_each_update(on: BotHarness) -> None:
    """Telegram ends the poll of the other one, which tries again later."""
    on.ms.default = lambda request: answer(request.last_user_text)
    on.write_config()
    other = {"WORKSPACE": str(shutil.copytree(on.workspace, on.workspace.parent / "other"))}
    async with BotProcess(on) as one:
        await until(lambda: on.tg.updates.is_polled)
        async with BotProcess(on, env=other, config=False):
            await until(lambda: "another program is polling" in one.log)
            question = on.tg.say("this")
            await on.tg.wait_for(lambda _: answers(question.chat, "this"), 60.0)
            await one.kill()
            later = on.tg.say("later")
            await on.tg.wait_for(lambda _: answers(later.chat, "later"), 60.0)
            await recorded(on)
    assert (len(answers(question.chat, "this")), len(on.ms.calls)) == (1, 2)


async def shows(read: Callable[[], Awaitable[Seen]], words: str) -> None:
    """Asks until the answer begins with these words: a notification may take longer than a command."""
    while not (await read()).text.startswith(words):
        pass


async def test_two_processes_know_each_others_changes(on: BotHarness, tmp_path: Path) -> None:
    """One has Telegram and the other Discord. Each sends what the other one has for its chats."""
    there = BotHarness(on.tg, on.ms, tmp_path / "there", on.data)
    del on.env["BOT_ACCESS"]
    async with DiscordServer() as dc:
        dc.guild()
        there.env |= {"TELEGRAM_BOT_TOKEN": "", "DISCORD_BOT_TOKEN": dc.token}
        there.env |= {"DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        async with running(on), running(there) as app:
            await up(dc, app)
            await ask(on, "/tier deep force")
            assert "This bot is private" in (await written(dc, "/start", "ali")).text
            assert "You are one person" in (await written(dc, f"/access link {await code(on)}", "ali")).text
            await on.tg.reply(matching="is linked with this account now")
            await shows(lambda: written(dc, "/tier", "ali"), "Tier: deep, Force: on")
            await written(dc, "/tier coding", "ali")
            await shows(lambda: ask(on, "/tier"), "Tier: coding, Force: off")
