"""The calendar's tools with a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from handlers.access.roles import may
from handlers.accounts.accounts import Accounts
from handlers.accounts.dav import DavServers
from handlers.accounts.reachable import Reachable
from handlers.tools.authoring.decorator import run, tools_of
from handlers.tools.calendar.tools import CalendarTools
from routing.types.accounts import ServiceAccount
from routing.types.decisions import TierDecision
from routing.types.messages import OutgoingFile
from routing.types.people import Person
from routing.types.tools import Attach, ToolScope
from storage.people.secret_box import FernetBox
from tests.fakes import FakeServiceAccounts, ManualClock
from tests.servers.radicale import PASSWORD, USER, RadicaleServer

ANN, BEN = Person(1, "owner", "Ann"), Person(2, "user", "Ben")
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp()
LUNCH = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:w\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART:{start}\r\nSUMMARY:{title}\r\nATTENDEE:mailto:{guest}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


class Office:
    """Ann's account on the server, and calls of her tools. `sent` are the files attached to answers."""

    def __init__(self, server: RadicaleServer, folder: Path) -> None:
        self.server = server
        self.store = FakeServiceAccounts(ManualClock(NOW))
        self.box = FernetBox(folder / "secrets.key")
        self.sent: list[OutgoingFile] = []
        self.attach: Attach = self.sent.append
        self.accounts = Accounts(self.store, self.box)
        self.dav = DavServers(lambda person: Reachable(private=may(person, "admin")))
        self.tools = self._tools(CalendarTools(self.accounts, self.dav, ManualClock(NOW)))

    def _tools(self, owner: object) -> Mapping[str, Any]:
        return {each.name: each for each in tools_of(owner)}

    async def connect(self, kind: str = "calendar", password: str = PASSWORD, person: Person = ANN) -> None:
        details = {"address": self.server.address, "user": USER, "home": f"{self.server.address}{USER}/"}
        sealed = await self.box.seal(password)
        await self.store.put(ServiceAccount(person.id, kind, "test", details, sealed, NOW, NOW))

    def scope(self, person: Person = ANN, zone: str = "Europe/Berlin") -> ToolScope:
        decision = TierDecision("balanced", "default", "default")
        return ToolScope(person, 1, decision, zone, attach=self.attach)

    async def call(
        self, name: str, /, person: Person = ANN, zone: str = "Europe/Berlin", confirmed: str = "", **arguments: Any
    ) -> str:
        """The result for the model; `confirmed` is the question that Ann confirmed. Raises ToolFailed."""
        return await run(self.tools[name], arguments, replace(self.scope(person, zone), confirmed=confirmed))

    async def asks(self, name: str, /, language: str = "en", **arguments: Any) -> str | None:
        """What the person is asked before the call; None if nothing."""
        asks = self.tools[name].asks
        return cast(str | None, await asks(replace(self.scope(), language=language), **arguments)) if asks else None


@asynccontextmanager
async def office(folder: Path, connected: bool = True) -> AsyncIterator[Office]:
    (folder / "radicale").mkdir()
    with RadicaleServer(folder / "radicale") as server:
        made = Office(server, folder)
        server.calendar()
        if connected:
            await made.connect()
        yield made


async def listed(on: Office, start: str, end: str = "", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(await on.call("list_events", start=start, end=end, **more))["events"]
    return found


def times(events: list[dict[str, Any]]) -> list[str]:
    return [f"{each['start'][4:]} {each['title']}" for each in events]
