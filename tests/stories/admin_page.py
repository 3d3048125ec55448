"""A bot with its admin page, an HTTP client that is signed in, and people with usage."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import httpx
from sqlalchemy import Connection, insert

from bot.app import App
from routing.ports import Clock
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import ChatMessage, Usage
from routing.types.messages import ChatKey, UserKey
from routing.types.people import Pairing, Profile
from routing.types.schedules import Schedule
from routing.types.tiers import Tier
from routing.types.usage import CallRecord
from storage import schema
from storage.stores import Stores
from tests.ports import free_port
from tests.stories.harness import BotHarness, running

TOKEN = "an-admin-token-for-tests"
PAGES = (
    "/",
    "/usage",
    "/providers",
    "/catalogue",
    "/catalogue/entry?id=openai/gpt-5.1",
    "/router",
    "/playground?text=Will+it+rain+in+Rome+tomorrow%3F",
    "/people",
    "/people/1",
    "/reminders",
    "/tools",
    "/doctor",
    "/logs",
    "/changes",
)
NAMES = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Katherine Johnson", "Edsger Dijkstra", "Barbara Liskov")
MODELS: tuple[tuple[Tier, str], ...] = (
    ("balanced", "openai/gpt-5.1"),
    ("smart", "anthropic/claude-sonnet-4-5"),
    ("coding", "openai/gpt-5.2"),
)
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_DIGEST = re.compile(r'name="(digest_\w+)" value="([^"]+)"')


@dataclass(slots=True)
class AdminPage:
    """`http` follows no redirects; it is signed in after `sign_in`."""

    app: App
    http: httpx.AsyncClient
    csrf: str = ""

    async def sign_in(self, token: str = TOKEN) -> httpx.Response:
        response = await self.http.post("/sign-in", data={"token": token, "next": "/"})
        if response.status_code == 303:
            self.csrf = _CSRF.findall((await self.http.get("/")).text)[0]
        return response

    async def post(self, path: str, **fields: str | Sequence[str]) -> httpx.Response:
        """Sends a form with the session's token."""
        return await self.http.post(path, data={"csrf": self.csrf, **fields})

    async def form(self, page: str, path: str, **fields: str | Sequence[str]) -> httpx.Response:
        """Sends a form of a page, with the digests of the files that the page was made from."""
        digests = dict(_DIGEST.findall((await self.http.get(page)).text))
        return await self.post(path, **digests, **fields)

    async def save(self, review: httpx.Response) -> httpx.Response:
        """Saves a proposal and returns the page after it."""
        assert review.status_code == 303, review.text
        saved = await self.post(review.headers["location"])
        assert saved.status_code == 303, saved.text
        return await self.http.get(saved.headers["location"])


@asynccontextmanager
async def admin_page(on: BotHarness, steady: Clock | None = None) -> AsyncIterator[AdminPage]:
    """The bot, with the page on a free port."""
    port = free_port()
    on.env |= {"ADMIN_ADDRESS": f"127.0.0.1:{port}", "ADMIN_TOKEN": TOKEN}
    async with (
        running(on, steady=steady) as app,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as http,
    ):
        yield AdminPage(app, http)


async def populate(stores: Stores, now: float) -> None:
    """Six people with two weeks of usage, reminders, accounts and a stranger who waits. The same every day."""
    for number, name in enumerate(NAMES):
        user = UserKey("telegram", str(2001 + number))
        person = await stores.people.admit(user, name, "admin" if number == 1 else "user", "configuration")
        await stores.people.seen(user, Profile(name, name.split()[0].lower(), "en"))
        conversation = (await stores.history.current(ChatKey("telegram", user.user_id))).id
        await stores.ledger.finish([], [], _turn(f"now{number}", conversation, person.id, number))
        await stores.database.write(
            partial(_history, person=person.id, number=number, conversation=conversation, now=now)
        )
        if number % 2:
            due = now + 3600 * (number + 1)
            chat = ChatKey("telegram", user.user_id)
            await stores.schedules.add(
                Schedule(person.id, chat, True, "reminder", "private text", "", "UTC", due, now), 10
            )
    await stores.people.ask(Pairing(UserKey("telegram", "3001"), "Donald Knuth", "ABCDEFGH", 1e12, "dek"), 30)


def _turn(turn_id: str, conversation: int, person: int, number: int) -> TurnRecord:
    tier, model = MODELS[number % len(MODELS)]
    usage = Usage(1_200 + 300 * number, 400, 0, Decimal("0.004") * (number + 1))
    calls = (CallRecord(tier, model, usage, 2.0 + number),)
    facts = TurnFacts(tier, "default", model, 2.0 + number, first_token_seconds=0.8)
    answer = (ChatMessage("assistant", "private answer", made_by=model),)
    return TurnRecord(turn_id, conversation, person, "private question", messages=answer, calls=calls, facts=facts)


def _history(connection: Connection, person: int, number: int, conversation: int, now: float) -> None:
    """Hourly sums of the last two weeks."""
    noon = int(datetime.fromtimestamp(now, UTC).replace(hour=12, minute=0, second=0).timestamp()) // 3600
    rows = []
    for day in range(1, 14):
        tier, model = MODELS[(number + day) % len(MODELS)]
        calls = 4 + (3 * day + 5 * number) % 11
        rows.append(
            {
                "hour": noon - 24 * day,
                "person_id": person,
                "conversation_id": conversation,
                "tier": tier,
                "model": model,
                "calls": calls,
                "input_tokens": 1_500 * calls,
                "output_tokens": 350 * calls,
                "cached_tokens": 0,
                "cost_nano": 3_100_000 * calls,
                "unknown": 0,
                "charged_nano": 3_100_000 * calls,
                "uncharged_tokens": 0,
            }
        )
    connection.execute(insert(schema.usage_hours), rows)


def fill_people(connection: Connection, count: int) -> None:
    """So many people with an account each."""
    people = [{"id": 10_000 + n, "name": f"Person {n}", "role": "user", "created_at": 1.0} for n in range(count)]
    accounts = [
        {"platform": "telegram", "user_id": str(900_000 + n), "person_id": 10_000 + n, "linked_at": 0.0,
         "username": f"user{n}", "language": "en"}
        for n in range(count)
    ]  # fmt: skip
    connection.execute(insert(schema.people), people)
    connection.execute(insert(schema.identities), accounts)
