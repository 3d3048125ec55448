"""The owner breaks runtime-config.json while the bot runs: it keeps working, and notifies the owners."""

from __future__ import annotations

import json
import re

import pytest

from tests.polling import until
from tests.servers.telegram import User
from tests.stories.harness import OWNER, BotHarness, ask, running

BOB = User(1002, "Bob")
FAULT = (
    "⚠️ runtime-config.json line 1: modelRouter.temperature must be a number from 0 to 2. "
    "The last valid configuration stays in use."
)
SECOND = "⚠️ runtime-config.json line 1: critic must be an object. The last valid configuration stays in use."
VALID = "✅ The configuration is valid again and in use."
FINE = "Everything works. Details: /status full"


@pytest.fixture(autouse=True)
def frequent_reloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0.02)


class Config:
    """Edits the file as its owner would."""

    def __init__(self, on: BotHarness) -> None:
        self._path = on.workspace / "preferences" / "runtime-config.json"
        self._valid = json.loads(self._path.read_text(encoding="utf-8"))

    def write(self, **sections: object) -> None:
        """Write the valid file with these sections replaced."""
        new = self._path.with_name("new")
        new.write_text(json.dumps(self._valid | sections), encoding="utf-8")
        new.replace(self._path)


def notices(on: BotHarness, person: int = OWNER) -> list[str]:
    return [each.text for each in on.tg.private(person).messages if re.match("⚠️ runtime|✅ The conf", each.text)]


async def test_owners_are_told_once_of_each_error_and_when_it_is_fixed(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hi")
        config = Config(on)
        config.write(modelRouter={"temperature": 9})
        await on.tg.reply(OWNER, matching="temperature")
        assert FAULT in (await ask(on, "/status")).text.splitlines()
        assert FAULT in (await ask(on, "/status full")).text.splitlines()
        config.write(modelRouter={"temperature": 9}, critic=1)
        config.write(critic=1)
        await on.tg.reply(OWNER, matching="critic")
        config.write()
        await on.tg.reply(OWNER, matching="valid again")
        assert FINE in (await ask(on, "/status")).text
        assert notices(on) == [FAULT, SECOND, VALID]


async def test_others_are_not_told(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hi", user=BOB)
        Config(on).write(critic=1)
        await on.tg.reply(OWNER, matching="critic")
        assert FINE in (await ask(on, "/status", user=BOB)).text
        assert "critic" not in (await ask(on, "/status full", user=BOB)).text
        assert notices(on, BOB.id) == []


async def test_an_admin_reads_it_in_status(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hi", user=BOB)
        await ask(on, f"/access role telegram:{BOB.id} admin")
        Config(on).write(critic=1)
        await on.tg.reply(OWNER, matching="critic")
        assert SECOND in (await ask(on, "/status", user=BOB)).text.splitlines()
        assert SECOND in (await ask(on, "/status full", user=BOB)).text.splitlines()


async def test_a_german_owner_reads_it_in_german(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/settings language de")
        config = Config(on)
        config.write(critic=1)
        notice = await on.tg.reply(OWNER, matching="critic")
        assert notice.text == (
            "⚠️ runtime-config.json Zeile 1: critic muss ein Objekt sein. Die letzte gültige Konfiguration gilt weiter."
        )
        config.write()
        notice = await on.tg.reply(OWNER, matching="Konfiguration ist")
        assert notice.text == "✅ Die Konfiguration ist wieder gültig und wird verwendet."
        (on.workspace / ".env").write_text("TIER_SMART_POOL=gpt\nTIER_FAST_POOL=x/y\n", "utf-8")
        notice = await on.tg.reply(OWNER, matching="TIER_")
        assert notice.text == (
            "⚠️ TIER_FAST_POOL gehört zu einer unbekannten Stufe; die Stufen sind balanced, smart, coding, deep. (1 "
            "weitere; siehe python -m bot doctor.) Die letzte gültige Konfiguration gilt weiter."
        )


async def test_a_key_in_the_wrong_place_is_not_repeated(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hi")
        Config(on).write(tiers={"sk-proj-0123456789abcdef0123456789abcdef": {}})
        told = await on.tg.reply(OWNER, matching="is not a tier")
        assert "tiers.*** is not a tier" in told.text
        assert "0123456789" not in (await ask(on, "/status")).text


async def test_a_variable_that_needs_a_restart_is_named_once(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hi")
        config, env = Config(on), on.workspace / ".env"
        env.write_text("RETENTION_DAYS=9\n", encoding="utf-8")
        await on.tg.reply(OWNER, matching="RETENTION_DAYS")
        config.write(critic=1)
        await on.tg.reply(OWNER, matching="critic")
        config.write()
        await on.tg.reply(OWNER, matching="valid again")
        env.write_text("RETENTION_DAYS=9\nHEARTBEAT_FILE=/tmp/beat\n", encoding="utf-8")
        await on.tg.reply(OWNER, matching="HEARTBEAT_FILE")
        told = [each.text for each in on.tg.private(OWNER).messages if each.text.startswith("🔁")]
        assert [words.split()[1] for words in told] == ["RETENTION_DAYS", "HEARTBEAT_FILE"]


async def test_an_unknown_key_is_logged_once_per_load(on: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    on.config |= {"modelRoutr": {}, "tools": {"maxChars": 1}}
    words = "[Config] Ignored unknown keys in runtime-config.json: modelRoutr, tools.maxChars"

    def logged() -> int:
        return [record.getMessage() for record in caplog.records].count(words)

    async with running(on):
        await until(lambda: logged() == 1)
        Config(on).write(critic={"enabled": False})
        await until(lambda: "[Config] Reloaded" in caplog.text or logged() == 2)
        await until(lambda: logged() == 2)
