"""Storage fails for a while: afterwards everything is answered once. Also the retention of finished messages."""

import json
from collections.abc import Awaitable, Callable, Iterator

import pytest

from bot.adapters.telegram.settings import Pace
from routing.errors import StorageFault
from storage.confirmations import SqlActions
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.state import SqlChats
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import BEFORE_HEADERS, Script, ToolCall
from tests.stories.harness import BotHarness, BotProcess, ask, running, settled
from tests.stories.office import MAIL, Office, at_work, card
from tests.stories.test_order import texts

STEPS = [
    (SqlInbox, "accept"),
    (SqlChats, "streaming"),
    (SqlPeople, "find"),
    (SqlHistory, "current"),
    (SqlHistory, "unsummarised"),
    (SqlPreferences, "get"),
    (SqlLedger, "finish"),
    (SqlOutbox, "sent"),
]


class Fault:
    """Makes the next `times` calls of one storage step fail before they do anything."""

    def __init__(self, patch: pytest.MonkeyPatch, store: type, step: str) -> None:
        self.times = 0
        real: Callable[..., Awaitable[object]] = getattr(store, step)

        async def failing(*given: object, **named: object) -> object:
            if self.times:
                self.times -= 1
                raise StorageFault("The database can't be used at the moment (disk I/O error).")
            return await real(*given, **named)

        patch.setattr(store, step, failing)


Faulty = Callable[[type, str], Fault]


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """Makes faulty steps, with short pauses between attempts. All faults must have happened by the end."""
    monkeypatch.setattr("handlers.storage_retry.PAUSES", (0.01,))
    monkeypatch.setattr("bot.adapters.telegram.descriptor.Pace", lambda: Pace(backoff=0.02))
    faults: list[Fault] = []

    def fault(store: type, step: str) -> Fault:
        faults.append(Fault(monkeypatch, store, step))
        return faults[-1]

    yield fault
    assert [fault.times for fault in faults] == [0] * len(faults)


@pytest.mark.parametrize(("store", "step"), STEPS, ids=lambda each: getattr(each, "__name__", each))
async def test_any_storage_step_may_fail_for_a_while(on: BotHarness, faulty: Faulty, store: type, step: str) -> None:
    fault = faulty(store, step)
    async with running(on):
        await ask(on, "before")
        fault.times = 3
        messages = [on.tg.say(word) for word in ("one", "/whoami", "two")]
        replies = await on.tg.reply(messages[0], after=messages[0], count=3)
        await settled(on)
    answers = [message.text for message in replies if message.text.startswith("You said")]
    assert answers == ["You said: one", "You said: two"]
    assert len(texts(on)) == 4
    assert [call.last_user_text for call in on.ms.calls] == ["before", "one", "two"]


async def test_counting_the_attempts_of_a_resumed_message_may_fail_for_a_while(on: BotHarness, faulty: Faulty) -> None:
    gate = on.ms.gate("never said")
    async with BotProcess(on) as bot:
        on.tg.say("one")
        await gate.reached(60.0)
        await bot.kill()
    fault = faulty(SqlInbox, "begin")
    fault.times = 3
    async with running(on):
        assert (await on.tg.reply(matching="You said")).text == "You said: one"
        await settled(on)


async def test_marking_a_repeated_attempt_may_fail_for_a_while(on: BotHarness, faulty: Faulty) -> None:
    fault = faulty(SqlOutbox, "attempting")
    async with running(on):
        await ask(on, "before")
        fault.times = 3
        on.tg.fault("sendMessage", "server_error")
        assert (await ask(on, "one")).text.endswith("You said: one")
        await settled(on)


@pytest.mark.parametrize(
    ("store", "step", "times"),
    [(SqlLedger, "finish", 3), (SqlHistory, "unsummarised", 1)],
    ids=["its cost", "the conversation"],
)
async def test_a_voice_message_is_transcribed_once_while_storage_fails(
    on: BotHarness, faulty: Faulty, store: type, step: str, times: int
) -> None:
    gate = on.ms.hear("hello", gate_after=BEFORE_HEADERS)
    fault = faulty(store, step)
    async with running(on):
        on.tg.say_voice()
        await gate.reached()
        fault.times = times
        gate.open()
        assert (await on.tg.reply()).text == "You said: hello"
        await settled(on)
    assert len(on.ms.media) == 1
    assert on.rows("select count(*) from usage where tier = 'voice'") == [(1,)]


async def test_a_pressed_button_survives_a_fault(on: BotHarness, faulty: Faulty) -> None:
    """It was already stored when classifying it failed."""
    fault = faulty(SqlOutbox, "get")
    async with running(on):
        async with on.ms.outage():
            sorry = await ask(on, "my question")
        fault.times = 3
        on.tg.press("🔁 Retry", message=sorry)
        assert (await on.tg.reply(after=sorry)).text == "You said: my question"
        await settled(on)


async def test_a_fault_while_a_card_is_stored_repeats_no_tool(on: BotHarness, faulty: Faulty) -> None:
    """It may have sent a mail that the person has allowed."""
    office, fault = Office(on, allow=["send_mail"]), faulty(SqlActions, "add")

    def answer(request: ModelRequest) -> Script | str:
        results = [each.text for each in request.reading.tool_results]
        if any("has NOT run" in each for each in results):
            return "Shall I?"
        sent = any("send_mail is done" in each for each in results)
        tool, given = ("delete_all", {}) if sent else ("send_mail", MAIL)
        return Script(calls=(ToolCall(f"office_{tool}", json.dumps(given)),))

    on.ms.default = answer
    async with at_work(on):
        fault.times = 1
        asked = await card(on, "Mail Bob, then delete all")
        assert "office_delete_all" in asked.text
        await settled(on)
    assert office.done == [("send_mail", MAIL)]


async def test_old_open_messages_are_answered_and_finished_ones_deleted(on: BotHarness) -> None:
    gate = on.ms.gate("never said")
    async with running(on):
        await ask(on, "/whoami")
        await ask(on, "/tier")
    async with BotProcess(on) as bot:
        on.tg.say("important")
        await gate.reached(60.0)
        await bot.kill()
    on.change("UPDATE inbox SET received_at = received_at - 60 * 3600 WHERE id != 2")
    on.change("UPDATE inbox SET received_at = received_at - 47 * 3600 WHERE id = 2")
    assert on.rows("SELECT id, state FROM inbox ORDER BY id") == [(1, "done"), (2, "done"), (3, "waiting")]
    async with running(on):
        assert (await on.tg.reply(matching="important")).text == "You said: important"
        await settled(on)
    assert (1, "done") not in on.rows("SELECT id, state FROM inbox")
    assert (2, "done") in on.rows("SELECT id, state FROM inbox")
