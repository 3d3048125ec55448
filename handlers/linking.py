"""One person on several platforms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from handlers.codes import CODE_SECONDS, WrongCodes, new_code, read_code, shown
from handlers.notices import Notices
from handlers.running import RunningTurns
from routing.errors import Refused
from routing.ports import Clock
from routing.stores import LinkStore
from routing.types import ROLES, InboundMessage, Person, UserKey

AdoptFiles = Callable[[int, int], None]
"""Puts the folder of the first person, by id, into the second one's."""
CODE_MINUTES = round(CODE_SECONDS / 60)
LINKED = "🔗 You are one person on {accounts} now: role, tiers, models, settings, files and usage are the same."


class Linking:
    """A code made with one account and written with another proves that both belong to one person. Nobody has two
    accounts of one platform, so that a code can't let in a crowd; and power is only ever handed on by who has it."""

    def __init__(
        self,
        links: LinkStore,
        running: RunningTurns,
        adopt_files: AdoptFiles,
        notices: Notices,
        wrong: WrongCodes,
        clock: Clock,
    ) -> None:
        self._links = links
        self._running = running
        self._adopt_files = adopt_files
        self._notices = notices
        self._wrong = wrong
        self._clock = clock

    async def code(self, person: Person) -> str:
        """A fresh code of this person; the one before it is worth nothing any more."""
        code = new_code()
        await self._links.offer(person.id, code, self._clock() + CODE_SECONDS)
        return shown(code)

    async def redeem(self, message: InboundMessage, typed: str, was: Person | None) -> Person:
        """Make who wrote this code one with who made it; `was` is who they had been here. What both have set is as it
        was for who made the code. Raises Refused."""
        user = message.user
        self._wrong.check(user)
        code = read_code(typed)
        found = await self._links.find(code) if code else None
        if code is None or found is None or found.role == "blocked":
            self._wrong.count(user)
            words = "The code {code} is not valid, or has expired. /access link on your other account makes a new one."
            raise Refused(words, code=typed)
        theirs = await self._links.accounts(found.id)
        self._check(user, was, found, theirs + (await self._links.accounts(was.id) if was else ()))
        if was is not None:
            await self.end_turns(was.id)
            await asyncio.to_thread(self._adopt_files, was.id, found.id)
        await self._links.join(code, user, str(user))
        words = "🔗 {user} is linked with this account now. If that was not you: /access unlink {user}"
        await self._notices.tell_person(words, theirs, found.language, user=user)
        return found

    def _check(self, user: UserKey, was: Person | None, found: Person, accounts: tuple[UserKey, ...]) -> None:
        if was is not None and was.id == found.id:
            raise Refused("This code is your own: write it with your account on the other platform.")
        if was is not None and ROLES.index(was.role) < ROLES.index(found.role):
            words = "Your role here is {mine}, there it is {theirs}: make the code here, and write it there."
            raise Refused(words, mine=was.role, theirs=found.role)
        together = {*accounts, user}
        if len({account.platform for account in together}) < len(together):
            words = "You would have two accounts of one platform: {accounts}. /access unlink parts one of them."
            raise Refused(words, accounts=", ".join(sorted(map(str, together))))

    async def unlink(self, person: Person, user: UserKey, actor: UserKey) -> None:
        """Make one of a person's accounts a stranger's again. Raises Refused."""
        accounts = await self._links.accounts(person.id)
        if user not in accounts:
            names = ", ".join(map(str, accounts))
            raise Refused(
                "{user} is none of your accounts: {accounts}. Nothing was changed.", user=user, accounts=names
            )
        if len(accounts) == 1:
            raise Refused("{user} is your only account. /access forget me deletes it with all of yours.", user=user)
        await self._running.end(user)
        await self._links.part(user, str(actor))

    async def names(self, person: Person) -> str:
        """A person's accounts, as a line of Markdown."""
        return ", ".join(f"`{account}`" for account in await self._links.accounts(person.id))

    async def end_turns(self, person_id: int) -> None:
        """Stop whatever runs for any of a person's accounts, and wait until it is over."""
        for account in await self._links.accounts(person_id):
            await self._running.end(account)
