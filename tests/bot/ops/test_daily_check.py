"""Owners hear once a day what is wrong, and only if it is new or lasts."""

from __future__ import annotations

from collections.abc import Sequence

from bot.findings import Finding, ok, warn
from bot.ops.daily_check import DAY_SECONDS, MAX_PROBLEMS, DailyCheck, examine_locally
from handlers.languages import Say
from routing.errors import Reason
from tests.bot.ops.doctor import inspected, migrated
from tests.fakes import ManualClock
from tests.stories.harness import BotHarness, ask, running, settled

DISK = warn("disk", Reason("{size} free", size="40 MB"), Reason("Free some space before it is full."))
DATE = warn("date", Reason("the clock says {year}, so no certificate is valid", year="1970"), Reason("Fix that line."))


class MemoryState:
    """A state store in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.values.get(key)

    async def put(self, key: str, value: str | None) -> None:
        self.values[key] = value or ""


class Checked:
    """A daily check of findings that a test sets. `told` are the notes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.state = MemoryState()
        self.told: list[Reason] = []
        self.found: list[Sequence[Finding]] = []
        self.check = DailyCheck(self._examine, self.state, self._tell, self.clock, confirm_seconds=0)

    async def _examine(self) -> Sequence[Finding]:
        return self.found.pop(0)

    async def _tell(self, template: str, /, **values: object) -> None:
        self.told.append(Reason(template, **values))

    async def day(self, *findings: Finding, later: Sequence[Finding] | None = None) -> int:
        """One day's check; `later` is found at the second look. Returns the number of notes."""
        self.told.clear()
        self.found = [findings, findings if later is None else later]
        await self.check.check()
        self.clock.now += DAY_SECONDS
        return len(self.told)


async def test_nothing_is_said_while_all_is_well() -> None:
    assert await Checked().day(ok("disk", "plenty")) == 0


async def test_a_problem_is_told_once_and_again_after_a_week() -> None:
    checked = Checked()
    assert [await checked.day(DISK) for _ in range(15)] == [1, *[0] * 6, 1, *[0] * 6, 1]


async def test_a_problem_with_other_figures_is_the_same_one() -> None:
    checked = Checked()
    less = warn("disk", Reason("{size} free", size="39 MB"), Reason("Free some space before it is full."))
    assert [await checked.day(DISK), await checked.day(less)] == [1, 0]


async def test_a_new_problem_is_told_with_the_old_ones() -> None:
    checked = Checked()
    assert await checked.day(DISK) == 1
    assert await checked.day(DISK, DATE) == 1
    assert "40 MB free" in checked.told[0]
    assert "the clock says 1970" in checked.told[0]
    assert await checked.day(DISK, DATE) == 0


async def test_a_problem_that_comes_back_is_new() -> None:
    checked = Checked()
    assert [await checked.day(DISK), await checked.day(), await checked.day(DISK)] == [1, 0, 1]


async def test_what_passes_within_minutes_is_no_news() -> None:
    checked = Checked()
    assert await checked.day(DISK, later=()) == 0
    assert await checked.day(DISK, later=(DATE,)) == 0


async def test_a_restart_does_not_repeat_the_note() -> None:
    checked, again = Checked(), Checked()
    assert await checked.day(DISK) == 1
    again.state, again.clock = checked.state, checked.clock
    again.check = DailyCheck(again._examine, again.state, again._tell, again.clock, confirm_seconds=0)
    assert await again.day(DISK) == 0


async def test_a_long_list_is_cut_and_translated() -> None:
    checked = Checked()
    many = [Finding(f"check{number}", "fail", DISK.detail, DISK.fix) for number in range(MAX_PROBLEMS + 2)]
    await checked.day(*many)
    german = Say("de")(checked.told[0])
    assert "• check0: 40 MB frei → Schaffe Platz, bevor er voll ist." in german
    assert german.count("check") == MAX_PROBLEMS
    assert "• und 2 weitere" in german


async def test_only_what_the_owner_has_to_look_after_is_examined(on: BotHarness) -> None:
    """The checks of a healthy bot find nothing, whatever its access mode; a broken file is found in words."""
    migrated(on)
    inspection = inspected(on, BOT_ACCESS="open")
    found = await examine_locally(inspection.environment, inspection.workspace, {}, inspection.clock)
    assert [each for each in found if each.status != "ok"] == []
    inspection.workspace.config_file.write_text("{")
    found = await examine_locally(inspection.environment, inspection.workspace, {}, inspection.clock)
    assert [each.name for each in found if each.status == "fail"] == ["runtime-config.json"]


async def test_a_running_bot_tells_its_owner_in_their_language(on: BotHarness) -> None:
    async def examine() -> Sequence[Finding]:
        return [DISK]

    async with running(on) as app:
        await ask(on, "/settings language Deutsch")
        messaging = app.messaging
        check = DailyCheck(examine, messaging.stores.state, messaging.tell, messaging.clock, confirm_seconds=0)
        await check.check()
        await check.check()
        note = await on.tg.reply(matching="🩺")
        assert "• disk: 40 MB frei → Schaffe Platz, bevor er voll ist." in note.text
        await settled(on)
        assert sum("🩺" in message.text for message in on.tg.chat_of(None).from_bot()) == 1
