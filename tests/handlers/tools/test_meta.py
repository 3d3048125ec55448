"""Tools about the bot itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.tooling import Tooling, build_tooling
from handlers.commands.tier import WHY
from handlers.context import CommandSpec
from handlers.tools.approval import Approval
from handlers.tools.dependencies import About, ToolDependencies
from handlers.tools.sandbox import Sandbox, SandboxLimits
from routing.errors import EmbedderFailed, StorageFault, ToolFailed
from routing.policy.models import Models
from routing.ports import Facts
from routing.tools.embedding.message_vectors import MessageVectors
from routing.types.decisions import TierDecision
from routing.types.llm import ToolCall
from routing.types.messages import UserKey
from routing.types.people import Person, PersonSettings, Role
from routing.types.tools import ToolScope
from storage.confirmations import SqlActions, SqlAllowances
from storage.database import open_database
from storage.database.migrate import migrate
from storage.history import SqlHistory
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.vectors import SqlVectors
from tests.polling import until
from tests.routing.tools.fakes import FakeEmbedder

NOW = 1_800_000_000.0
SPECS = (
    CommandSpec("speak", "Say something", ("/speak", "/speak loudly")),
    CommandSpec("rule", "Rule the others", ("/rule",), role="owner"),
)
FACTS = Facts("9", NOW, NOW, 5_000_000, "0099", 2_000_000, 0, 0, 0, 0, (), (), None)


class Health:
    """Its settings."""

    def __init__(self) -> None:
        self.answer: Callable[[], Facts] = lambda: FACTS

    async def facts(self) -> Facts:
        return self.answer()


class Bot:
    """The toolbox of a bot with two commands."""

    def __init__(self, tooling: Tooling, health: Health, preferences: SqlPreferences) -> None:
        self.health = health
        self.preferences = preferences
        self.selector = tooling.selector
        self._toolbox = tooling.toolbox

    async def result(self, tool: str, arguments: str = "{}", role: Role = "owner") -> str:
        scope = ToolScope(Person(1, role, "Ann"), 1, TierDecision("deep", "prefix", "prefix !deep"))
        return await self._toolbox.run(ToolCall("1", tool, arguments), scope)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def bot(tmp_path: Path, embedder: FakeEmbedder) -> AsyncIterator[Bot]:
    environment = load({"WORKSPACE": str(tmp_path)})
    workspace = Workspace(environment)
    await asyncio.to_thread(migrate, environment.settings.database, workspace.backups)
    database = open_database(environment.settings.database)
    health, preferences = Health(), SqlPreferences(database)
    await SqlPeople(database, preferences, time.time).admit(UserKey("console", "ann"), "Ann", "owner", "test")
    models = Models(workspace.config(), workspace.catalog())
    made: list[Tooling] = []
    about = About(SPECS, WHY, models, lambda: {"USER_RATE_LIMIT": "off"}, health, lambda: made[0])
    sandbox, history = Sandbox(tmp_path / "files", SandboxLimits(), "no-such-bwrap"), SqlHistory(database, time.time)
    dependencies = ToolDependencies(
        tmp_path / "files", sandbox, history, preferences, workspace.skills, lambda: NOW, about
    )
    approval = Approval(SqlActions(database, time.time), SqlAllowances(database), frozenset, time.time)
    made.append(
        build_tooling(environment, workspace, dependencies, MessageVectors(embedder, 1), SqlVectors(database), approval)
    )
    yield Bot(made[0], health, preferences)
    await made[0].close()
    await database.close()


async def test_commands_of_other_roles_are_not_mentioned(bot: Bot) -> None:
    assert "/rule" in await bot.result("help")
    assert "/rule" not in await bot.result("help", role="user")
    assert (await bot.result("help", '{"topic": "rule"}')) == "/rule: Rule the others. Written as: /rule"
    assert (await bot.result("help", '{"topic": "rule"}', "user")).startswith("Nothing here is called 'rule'.")


@pytest.mark.parametrize("tool", ["show_config", "health"])
async def test_guests_get_help_about_commands_only(bot: Bot, tool: str) -> None:
    assert "/speak" in await bot.result("help", role="guest")
    with pytest.raises(ToolFailed, match=f"There is no tool {tool}"):
        await bot.result(tool, role="guest")


@pytest.mark.parametrize("topic", ["", "   ", "?", "and of the to"])
async def test_an_empty_topic_is_ignored(bot: Bot, topic: str) -> None:
    assert "\n/speak: Say something\n" in await bot.result("help", f'{{"topic": "{topic}"}}')


async def test_disabled_toolkits_are_marked(bot: Bot) -> None:
    await bot.preferences.set_settings(1, PersonSettings(off=frozenset({"files"})))
    shown = await bot.result("help")
    assert shown.endswith("\nSwitched off by them: files.")
    assert "read_file" not in shown
    assert "Toolkits switched off: files." in await bot.result("show_config")


async def test_show_config_shows_this_turns_values(bot: Bot) -> None:
    shown = await bot.result("show_config", role="user")
    assert "In effect: deep, because the message began with !deep." in shown
    assert "Limits: any number of messages; a turn has 20 calls of models, 40 of tools, 600 s, $2; above 50000" in shown


@pytest.mark.parametrize("role", ["owner", "user"])
async def test_a_failing_database_is_reported(bot: Bot, role: Role) -> None:
    def full() -> Facts:
        raise StorageFault("The disk of tierbot.db is full.")

    bot.health.answer = full
    shown = await bot.result("health", role=role)
    reason = ": The disk of tierbot.db is full." if role == "owner" else ""
    assert shown.startswith(f"The database can't be used at the moment{reason}.\n")
    assert "\nrun_command is off: " in shown
    assert "Database: revision" not in shown


async def test_old_failures_are_not_reported_as_current(bot: Bot) -> None:
    failures = (("a/new", "no", NOW - 60.0), ("b/old", "no", NOW - 7200.0))
    bot.health.answer = lambda: replace(FACTS, failures=failures)
    shown = await bot.result("health")
    assert "Failed in the last hour: a/new; the next" in shown
    assert "b/old failed 2027-01-15 06:00 UTC: no." in shown


async def test_health_shows_owners_why_keywords_were_used(bot: Bot, embedder: FakeEmbedder) -> None:
    bot.selector.start()
    await until(lambda: not bot.selector.fallback_reason)
    assert "by their words alone" not in await bot.result("health")
    embedder.fates = [EmbedderFailed("/srv/model is still loading")]
    await bot.selector.match("green and quiet")
    assert "\nTools are found by their words alone: /srv/model is still loading.\n" in await bot.result("health")
    for role in ("user", "admin"):
        assert "/srv/model" not in await bot.result("health", role=role)
