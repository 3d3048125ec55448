"""A day with the bot on Telegram: real calendar and mail servers, git, and the forecast of a loopback server. The model
is scripted.

`python -m benchmarks.pictures` draws the README's picture from the transcript."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot.app import App
from tests.fakes import ShiftedClock
from tests.handlers.tools.file_tools.sample_documents import pdf
from tests.servers.git import git
from tests.servers.mail import HOST, mail
from tests.servers.open_meteo import OpenMeteoServer
from tests.servers.radicale import RadicaleServer
from tests.servers.telegram import Message
from tests.stories.accounts import connect, radicale
from tests.stories.harness import BotHarness, ask, running, tool_results
from tests.stories.mailboxes import MailServers
from tests.stories.office import ASKED, ONCE, pressed

ZONE = ZoneInfo("Europe/Berlin")
TODAY = date(2026, 11, 23)
REHEARSAL = "The rehearsal is tomorrow, on Monday, at 19:30 in the old town hall. Can you bring the scores? Bob"
REPORT = pdf(
    [
        "Choir report 2026. 41 members, six more than last year.",
        "Concerts brought 3,200 euros. The hall costs 2,900 euros, so 300 euros remain.",
    ]
)
ANSWER = {"to": "bob@example.com", "subject": "Re: Rehearsal", "body": "I will bring them!", "reply_to": "INBOX/1"}
FACT = "The user is allergic to nuts"


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the transcript. `file` is the name of what came with it, `buttons` are those below it."""

    time: str
    from_bot: bool
    text: str
    file: str
    buttons: tuple[str, ...]


Call = tuple[str, dict[str, Any]]


class Day:
    """The conversation of one person in a running bot."""

    def __init__(self, on: BotHarness, app: App, clock: ShiftedClock, servers: Servers) -> None:
        self.on, self.servers = on, servers
        self._app, self._clock = app, clock
        self._begun = len(on.tg.private().messages)
        self._hours: list[tuple[int, str]] = []
        self._cards: dict[int, tuple[str, tuple[str, ...]]] = {}

    def at(self, hour: str) -> None:
        """It is this time now. The scheduler would notice a change of the clock within a minute."""
        now = datetime.combine(TODAY, datetime.strptime(hour, "%H:%M").time(), ZONE)
        self._clock.ahead = now.timestamp() - time.time()
        self._hours.append((len(self.on.tg.private().messages), hour))
        self._app.engine.schedules.changed.set()

    def plans(self, calls: Sequence[Call], answer: str) -> None:
        """What the model does next: these calls one after the other, then this answer."""
        for call in calls:
            self.on.ms.call_tools([call])
        self.on.ms.reply(answer)

    async def asks(self, text: str, calls: Sequence[Call], answer: str, *found: str) -> Message:
        """A message and its answer. The tools of the calls must have been shown to the model at once, and must have
        told it what was `found`."""
        self.plans(calls, answer)
        before = len(self.on.ms.calls)
        replied = await ask(self.on, text)
        assert replied.text.startswith(answer), replied.text
        assert {name for name, _ in calls} <= {*self.on.ms.calls[before].reading.tool_names}
        told = "\n".join(tool_results(self.on)[-len(calls) :] if calls else [])
        assert [each for each in found if each not in told] == [], told
        return replied

    async def card(self, text: str, calls: Sequence[Call], answer: str) -> Message:
        """A message and the confirmation card that answers it. The transcript keeps the card as it is now."""
        self.plans(calls, answer)
        question = self.on.tg.say(text)
        card = await self.on.tg.reply(question, after=question, matching=lambda message: ASKED in message.text)
        self._cards[card.id] = (card.text, _buttons(card))
        return card

    def transcript(self) -> Iterator[Entry]:
        """The messages as they look in the end."""
        for at, message in enumerate(self.on.tg.private().messages):
            if at >= self._begun and not message.deleted:
                hour = [hour for begin, hour in self._hours if begin <= at][-1]
                text, buttons = self._cards.get(message.id, (message.text, _buttons(message)))
                file = message.content.get("document", {}).get("file_name", "")
                yield Entry(hour, message.from_bot, text, file, buttons)


def _buttons(message: Message) -> tuple[str, ...]:
    return tuple(str(each["text"]) for each in message.buttons)


@dataclass(frozen=True, slots=True)
class Servers:
    """The services behind the tools."""

    weather: OpenMeteoServer
    calendar: RadicaleServer
    mail: MailServers


@asynccontextmanager
async def morning(on: BotHarness, mailbox: MailServers) -> AsyncIterator[Day]:
    """A bot whose owner has connected a calendar and a mailbox, and has a repository for notes."""
    clock = ShiftedClock()
    clock.ahead = datetime(2026, 11, 23, 6, 30, tzinfo=ZONE).timestamp() - time.time()
    notes = on.workspace / "files" / "1" / "notes"
    notes.mkdir(parents=True)
    git(notes, "init", "-q")
    on.env["ACCOUNT_HOSTS"] = HOST
    letter = mail("Rehearsal", REHEARSAL)
    letter.replace_header("Message-ID", "<rehearsal@example.com>")
    letter.replace_header("Date", "Sun, 22 Nov 2026 21:10:00 +0100")
    mailbox.imap.deliver("ann", [letter])
    async with OpenMeteoServer() as sky:
        sky.rainy = {TODAY}
        on.env["WEATHER_API_ROOT"] = sky.root
        with radicale(on) as calendar:
            async with running(on, clock, time.time) as app:
                await ask(on, "/settings timezone Europe/Berlin")
                await connect(on, calendar)
                await mailbox.connect(on)
                yield Day(on, app, clock, Servers(sky, calendar, mailbox))


async def spend(day: Day) -> None:
    """From morning to evening. Raises AssertionError if anything did not really happen."""
    on, servers = day.on, day.servers
    day.at("07:00")
    fact = {"fact": FACT, "always": True}
    await day.asks("Remember that I'm allergic to nuts", [("remember", fact)], "I will keep it in mind.")
    await day.asks(
        "What's the weather in Berlin today?",
        [("get_weather", {"location": "Berlin", "date": "today"})],
        "It rains today, 8.4 mm in all, at 4 to 10 °C. Take an umbrella.",
        *("rain", "8.4"),
    )
    day.at("08:15")
    event = {"title": "Rehearsal", "start": "today 19:30", "place": "Old town hall"}
    await day.asks(
        "When is the rehearsal in Bob's mail? Put it into my calendar.",
        [("search_email", {"query": "rehearsal"}), ("read_email", {"id": "INBOX/1"}), ("create_event", event)],
        "Tonight at 19:30 in the old town hall. It is in your calendar. Bob asks you to bring the scores.",
        *("INBOX/1 (unread)", "at 19:30 in the old town hall", '"created"'),
    )
    assert "DTSTART;TZID=Europe/Berlin:20261123T193000" in servers.calendar.stored("/ann/home/")
    reminder = {"text": "Rehearsal at 19:30. Take the scores and an umbrella.", "when": "today 19:00"}
    await day.asks(
        "Remind me half an hour before it",
        [("create_reminder", reminder)],
        "I will remind you at 19:00.",
        "Mon 23 Nov, 19:00",
    )
    await answer_bob(day)
    day.at("12:30")
    summary = "The choir grew by six to 41 members. Concerts brought 3,200 €; after the hall, 300 € remain."
    day.plans([], summary)
    on.tg.say_document("report.pdf", REPORT, "application/pdf", caption="Summarise this")
    assert (await on.tg.reply(matching=summary)).text.startswith(summary)
    assert "300 euros remain" in on.ms.last.last_user_text
    day.at("15:00")
    line = {"path": "notes/choir.md", "content": "- Ask for a cheaper hall: 2,900 euros of 3,200.\n"}
    await day.asks(
        "Make a note in my repository that we need a cheaper hall, and commit it",
        [("write_file", line), ("git_commit", {"message": "Note the price of the hall", "path": "notes"})],
        "It is in notes/choir.md, and committed.",
        "Note the price of the hall",
    )
    notes = on.workspace / "files" / "1" / "notes"
    assert git(notes, "log", "--format=%an: %s") == "Alice: Note the price of the hall"
    day.at("19:00")
    await on.tg.reply(matching="⏰ Rehearsal at 19:30")
    day.at("22:00")
    await ask(on, "/new")
    await day.asks("Which cake could I bake for the choir?", [], "A lemon cake: it needs no nuts.")
    assert FACT in on.ms.last.reading.system_text


async def answer_bob(day: Day) -> None:
    """A mail that leaves only after its button."""
    sent = day.servers.mail.smtp.sent
    card = await day.card("Answer Bob's mail: I will bring them", [("send_email", ANSWER)], "Your answer is sent.")
    assert sent == []
    assert (await pressed(day.on, ONCE, card)).text == "Your answer is sent."
    assert [envelope.rcpt_tos for envelope in sent] == [["bob@example.com"]]
