"""Links a person's accounts on several platforms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from handlers.access.codes import CODE_SECONDS, WrongCodes, new_code, read_code, shown
from handlers.notices.notices import Notices
from handlers.running import RunningTurns
from routing.errors import Refused
from routing.ports import Clock, LinkStore
from routing.types.messages import UserKey
from routing.types.people import ROLES, Account, Adoption, Person

AdoptFiles = Callable[[int, int], None]
"""Moves the folder of the first person id into that of the second; does nothing if it doesn't exist."""
CODE_MINUTES = round(CODE_SECONDS / 60)
LINKED = "🔗 You are one person on {accounts} now: role, tiers, models, settings, files and usage are the same."

MERGES = (
    "This moves everything of this account (files, history, usage) to {name} ({accounts}), who created this code. "
    "Where both have a setting, theirs is kept. Only continue if that is you."
)


class Linking:
    """Links two accounts by a code that is created with one and sent from the other. A person has at most one account
    per platform, so a leaked code can't admit a crowd. A link never raises the creator's role, and a newer account
    can't unlink an older one."""

    def __init__(
        self,
        links: LinkStore,
        running: RunningTurns,
        adopt_files: AdoptFiles,
        notices: Notices,
        wrong: WrongCodes,
        clock: Clock,
        joined: Callable[[int, int], None],
    ) -> None:
        """`joined` is called with the old and the new person id after a merge."""
        self._joined = joined
        self._links = links
        self._running = running
        self._adopt_files = adopt_files
        self._notices = notices
        self.wrong = wrong
        self._clock = clock

    async def code(self, person: Person) -> str:
        """Creates a code for this person and invalidates the previous one."""
        code = new_code()
        await self._links.offer(person.id, code, CODE_SECONDS)
        return shown(code)

    async def code_owner(self, user: UserKey, typed: str, was: Person | None) -> Person:
        """The person who created a code that this account may use. Raises Refused."""
        self.wrong.check(user)
        code = read_code(typed)
        found = await self._links.find(code) if code else None
        if found is None or found.role == "blocked":
            self.wrong.count(user)
            words = "The code {code} is not valid, or has expired. /access link on your other account makes a new one."
            raise Refused(words, code=typed)
        await self._check(user, was, found)
        return found

    async def redeem(self, user: UserKey, typed: str, was: Person | None) -> Person:
        """Merges the account into the person who created the code. `was` is the account's current person, if any. Where
        both have a setting, the creator's is kept. Raises Refused."""
        if was is not None and await self._joined_just_now(user, was):
            return was  # the bot stopped between the link and its reply
        found = await self.code_owner(user, typed, was)
        accounts = [*await self._links.accounts(found.id), *(await self._links.accounts(was.id) if was else ())]
        if was is not None:
            await self.end_turns(was.id)
        words = "🔗 {user} is linked with this account now. If that was not you: /access unlink {user}"
        notices = self._notices.to(words, _without(accounts, user), found.language, user=user)
        self._notices.send(await self._links.join(read_code(typed) or "", user, str(user), notices))
        await self.adopt()
        return found

    async def adopt(self) -> None:
        """Moves the files of merged people. Also finishes moves that a crash interrupted."""
        for each in await self._links.adoptions():
            self._joined(each.was, each.person_id)
            await asyncio.to_thread(self._adopt_files, each.was, each.person_id)
            await self._links.adopted(Adoption(each.was, each.person_id))

    async def expire_code(self, code: str) -> bool:
        """Invalidates a code that others have seen; False if it was not valid."""
        return await self._links.expire_code(code)

    async def unlink(self, person: Person, user: UserKey, by: UserKey) -> None:
        """Separates an account from a person and notifies the remaining accounts. Raises Refused."""
        accounts = await self._links.accounts(person.id)
        since = {account.user: account.linked_at for account in accounts}
        if user not in since:
            words = "{user} is not one of your accounts: {accounts}. Nothing was changed."
            raise Refused(words, user=user, accounts=", ".join(map(str, since)))
        if len(accounts) == 1:
            raise Refused("{user} is your only account. /access forget me deletes it with all of yours.", user=user)
        if user != by and since[by] > since[user]:
            words = "{user} is older than this account: send /access unlink from there. Nothing was changed."
            raise Refused(words, user=user)
        await self._running.end(user)
        words = "✂️ {by} unlinked {user} from your accounts. It is a separate account now."
        notices = self._notices.to(words, _without(accounts, by), person.language, user=user, by=by)
        self._notices.send(await self._links.unlink(person.id, user, str(by), notices))

    async def accounts(self, person: Person) -> list[UserKey]:
        """All accounts of a person."""
        return [account.user for account in await self._links.accounts(person.id)]

    async def names(self, person: Person) -> str:
        """A person's accounts as one line of Markdown."""
        return ", ".join(f"`{user}`" for user in await self.accounts(person))

    async def end_turns(self, person_id: int) -> None:
        """Stops the turns of all accounts of a person and waits until they are over."""
        for account in await self._links.accounts(person_id):
            await self._running.end(account.user)

    async def _joined_just_now(self, user: UserKey, person: Person) -> bool:
        accounts = await self._links.accounts(person.id)
        newest = max((account.linked_at for account in accounts if account.user == user), default=0.0)
        return newest > self._clock() - CODE_SECONDS

    async def _check(self, user: UserKey, was: Person | None, found: Person) -> None:
        if was is not None and was.id == found.id:
            raise Refused("This is your own code. Send it from your account on the other platform.")
        if was is not None and ROLES.index(was.role) < ROLES.index(found.role):
            words = "Your role is {mine} here and {theirs} there. Create the code here and send it there."
            raise Refused(words, mine=was.role, theirs=found.role)
        both = [*await self._links.accounts(found.id), *(await self._links.accounts(was.id) if was else ())]
        together = {user, *(account.user for account in both)}
        if len({account.platform for account in together}) < len(together):
            words = (
                "That would give you two accounts on one platform: {accounts}. Unlink one first with /access unlink."
            )
            raise Refused(words, accounts=", ".join(sorted(map(str, together))))


def _without(accounts: Sequence[Account], user: UserKey) -> list[UserKey]:
    return [account.user for account in accounts if account.user != user]
