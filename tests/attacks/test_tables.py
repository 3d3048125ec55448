"""Many accounts cost an attacker nothing, so tables per account are bounded, and so is what a webhook reads."""

from __future__ import annotations

import json
from collections.abc import Sized
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from bot.adapters.discord.channels import Channels
from bot.adapters.telegram.flood import Limits, Rate, RateLimiter
from bot.adapters.telegram.webhook import nesting
from bot.inbox.command_order import CommandOrder
from bot.inbox.inbox import ANSWERED_CHATS
from handlers.access.codes import MAX_WRONG_CODES, WrongCodes
from handlers.access.rate_limit import RateLimit, Window
from handlers.council.sessions import Sessions
from handlers.running import RunningTurns
from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.tools import FileTools
from routing.bounded import MAX_ENTRIES
from routing.budget.accounts import Accounts
from routing.budget.estimates import OutputLengths
from routing.errors import Refused
from routing.health.failures import Failures
from routing.types.budgets import BudgetLimits, Ceiling
from routing.types.messages import ChatKey, InboundMessage, UserKey
from routing.types.queues import InboxEntry
from routing.types.stop import Stop
from tests.polling import until
from tests.routing.budget.fakes import NOON, FakeSpendingStore
from tests.stories.harness import BotHarness, running, settled

CHATS = 12_000
LIVE = ("_turns", "_commands", "_behind", "_unmarked", "_queue", "_unanswered", "_users", "_fixed")
"""Tables that are empty when no work is in progress."""


def test_wrong_codes_are_counted_per_account() -> None:
    wrong = WrongCodes(lambda: 0.0)
    victim = UserKey("telegram", "victim")
    for _ in range(MAX_WRONG_CODES):
        wrong.count(victim)
    with pytest.raises(Refused, match="Too many wrong codes"):
        wrong.check(victim)
    for number in range(MAX_ENTRIES):
        wrong.count(UserKey("telegram", str(number)))
    wrong.check(victim)


def test_a_rate_limit_remembers_the_newest_accounts() -> None:
    limit = RateLimit((Window(1, 60.0),))
    assert limit.take("victim", 0.0)
    with pytest.raises(Refused, match="Too many messages at once"):
        limit.take("victim", 1.0)
    for number in range(MAX_ENTRIES):
        assert limit.take(number, 2.0)
    assert limit.take("victim", 3.0)


@pytest.mark.parametrize(
    ("text", "depth"), [("1", 0), ("{}", 1), ('{"a": [[1], {"b": 2}]}', 3), ("[" * 90 + "]" * 90, 90)]
)
def test_deeply_nested_updates_are_refused(text: str, depth: int) -> None:
    assert nesting(json.loads(text)) == depth


def entries(thing: object) -> int:
    """The size of an object's largest table."""
    tables = [value for value in vars(thing).values() if isinstance(value, dict | set)]
    return max(map(len, cast("list[Sized]", tables)), default=0)


async def test_tables_stay_bounded_after_thousands_of_chats() -> None:
    now = NOON
    accounts, ceilings = Accounts(FakeSpendingStore(), lambda: now), [Ceiling("person", "day", Decimal(1))]
    unused: Any = None  # the stores are read only when a command comes
    order = CommandOrder(
        inbox=unused, people=unused, links=unused, preferences=unused, history=unused, open_access=False
    )
    turns, flood = RunningTurns(), RateLimiter(Limits(chat=Rate(1, 1.0)), lambda: now)
    sessions, channels, files = Sessions(lambda: now), Channels(unused), FileTools(PersonFiles(Path("files")))
    outputs, failures, limit = OutputLengths(), Failures(), RateLimit((Window(1, 60.0),))
    for number in range(CHATS):
        now += 1.0
        chat, user = ChatKey("telegram", str(number), str(number)), UserKey("telegram", str(number))
        entry = InboxEntry(number, InboundMessage(user, chat, "bot", str(number), "hi", now), 0, "")
        order.asked(entry)
        with turns.enter(chat, Stop(), user), sessions.enter(number):
            pass
        order.answered([entry])
        await flood.turn(chat.chat_id)
        await accounts.current(ceilings, number, chat, BudgetLimits())
        channels.join([chat])
        limit.take(number, now)
        outputs.note("smart", f"openai/{number}", 1)
        failures.note(f"openai/{number}", "?", now)
    assert entries(order) == entries(turns) == 0
    for thing in (accounts, flood, sessions, channels, files, outputs, failures, limit):
        assert entries(thing) <= MAX_ENTRIES, type(thing).__name__


async def test_queues_of_answered_chats_are_removed(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        for number in range(20):
            on.tg.say("hi" if number % 2 else "/whoami", user=f"user{number}")
        await settled(on)
        parts = (app.inbox, app.messaging.outbox, app.inbox._order, app.inbox._running)
        await until(lambda: not any(getattr(part, name, None) for part in parts for name in ("chats", *LIVE)))
        assert len(app.inbox._answered) <= ANSWERED_CHATS
