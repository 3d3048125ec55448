"""Who may talk to the bot. Nobody is, until an owner says so."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from routing.errors import Refused
from routing.ports import Clock
from routing.stores import ChatStore, Pairing, PeopleStore, StateStore
from routing.types import ROLES, InboundMessage, Person, Role, UserKey

AccessMode = Literal["pairing", "allowlist", "open"]

CODE_SIGNS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_SECONDS = 600.0
WAITING_LIMIT = 3
WRONG_LIMIT = 5
LOCKOUT_SECONDS = 3600.0
HINT_SECONDS = 3600.0
OWNER_CODE = "owner_code"
_CODE = re.compile(rf"[{CODE_SIGNS}]{{4}}-?[{CODE_SIGNS}]{{4}}", re.IGNORECASE)
_RANK: dict[Role, int] = {role: rank for rank, role in enumerate(reversed(ROLES))}


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody who may go on. `arrived` says how they came in, when it was just now."""

    person: Person
    arrived: Literal["", "owner"] = ""


@dataclass(frozen=True, slots=True)
class Turned:
    """Somebody who may not: the answer they get (None: they have had it) and a stranger the owner should hear of."""

    refusal: Refused | None
    stranger: Pairing | None = None


def may(person: Person, role: Role) -> bool:
    """Whether a person's role is at least `role`."""
    return _RANK[person.role] >= _RANK[role]


def new_code() -> str:
    """Eight characters that nobody mistypes: 40 bits."""
    return "".join(secrets.choice(CODE_SIGNS) for _ in range(CODE_LENGTH))


def shown(code: str) -> str:
    """`ABCDEFGH` → `ABCD-EFGH`."""
    return f"{code[:4]}-{code[4:]}"


def read_code(text: str) -> str | None:
    """A code as a person types it; None when the text is something else."""
    found = _CODE.fullmatch(text.strip())
    return found.group().replace("-", "").upper() if found else None


class WrongCodes:
    """Five wrong codes lock somebody out for an hour."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong: dict[UserKey, list[float]] = {}

    def check(self, user: UserKey) -> None:
        """Raises Refused while somebody is locked out."""
        since = self._clock() - LOCKOUT_SECONDS
        recent = [at for at in self._wrong.get(user, ()) if at > since]
        if len(recent) >= WRONG_LIMIT:
            raise Refused("Too many wrong codes. Try again in an hour.")

    def count(self, user: UserKey) -> None:
        """One more."""
        self._wrong[user] = [*self._wrong.get(user, ())[-WRONG_LIMIT:], self._clock()]


class Access:
    """Decides for each message who sent it and whether they may."""

    def __init__(
        self,
        mode: AccessMode,
        owners: Collection[UserKey],
        people: PeopleStore,
        chats: ChatStore,
        state: StateStore,
        clock: Clock,
    ) -> None:
        self.mode = mode
        self._owners = frozenset(owners)
        self._people = people
        self._chats = chats
        self._state = state
        self._clock = clock
        self._hinted: dict[str, float] = {}
        self.wrong = WrongCodes(clock)

    async def appoint(self) -> None:
        """Make the configured owners known, so that they hear of strangers before they have ever written."""
        for user in self._owners:
            if await self._people.find(user) is None:
                await self._people.admit(user, "", "owner", "configuration")

    async def owner_code(self) -> str | None:
        """A fresh one-time code for the owner; None when there is one already, or codes are not used."""
        if self.mode != "pairing" or self._owners or await self._people.owners():
            await self._state.put(OWNER_CODE, None)
            return None
        code = new_code()
        await self._state.put(OWNER_CODE, _digest(code))
        return shown(code)

    async def decide(self, message: InboundMessage) -> Admitted | Turned:
        """Let somebody in, or say why not."""
        person = await self._people.find(message.user)
        if message.user in self._owners and (person is None or person.role != "owner"):
            person = await self._people.admit(message.user, message.user_name, "owner", "configuration")
        if person is None and self.mode == "open":
            person = await self._people.admit(message.user, message.user_name, "user", "open access")
        if not message.private:
            return await self._in_group(message, person)
        typed = read_code(message.text)
        owner_code = await self._state.get(OWNER_CODE) if typed is not None else None
        if typed is not None and owner_code is not None:
            return await self._try_owner_code(message, owner_code, typed)
        if person is None or (person.role == "guest" and self.mode != "open"):
            return await self._stranger(message)  # a group opens itself to its guests, not a private chat
        return self._known(person)

    def _known(self, person: Person) -> Admitted | Turned:
        if person.role == "blocked":
            return self._once(f"blocked {person.id}", Refused("You may not use this bot."))
        return Admitted(person)

    async def _in_group(self, message: InboundMessage, person: Person | None) -> Admitted | Turned:
        if person is not None and may(person, "admin") and message.text.lstrip().startswith("/"):
            return Admitted(person)
        if self.mode != "open" and not await self._chats.allowed(message.chat):
            hint = Refused("This group is not allowed yet. An owner of the bot can write: /access here on")
            return self._once(f"group {message.chat.chat_id}", hint)
        if person is None:
            person = await self._people.admit(message.user, message.user_name, "guest", "allowed group")
        return self._known(person)

    async def _stranger(self, message: InboundMessage) -> Admitted | Turned:
        if self.mode == "allowlist":
            return self._once(
                f"stranger {message.user}",
                Refused("This bot is private. Its owner can let you in with: /access allow {user}", user=message.user),
            )
        request = Pairing(message.user, message.user_name, new_code(), self._clock() + CODE_SECONDS)
        waiting = await self._people.ask(request, WAITING_LIMIT)
        if waiting is None:
            return Turned(Refused("This bot is private and several people wait to be let in. Try again later."))
        minutes = max(1, round((waiting.expires_at - self._clock()) / 60))
        sentence = Refused(
            "This bot is private. Your code is `{code}`, valid for {minutes} minutes. "
            "Ask the owner to approve it with: /access pair {code}",
            code=shown(waiting.code),
            minutes=minutes,
        )
        return Turned(sentence, waiting if waiting is request else None)

    async def _try_owner_code(self, message: InboundMessage, digest: str, typed: str) -> Admitted | Turned:
        try:
            self.wrong.check(message.user)
        except Refused as refusal:
            return Turned(refusal)
        if not hmac.compare_digest(_digest(typed), digest):
            self.wrong.count(message.user)
            await self._people.audit(str(message.user), "wrong owner code", message.user_name)
            return Turned(Refused("This is not the owner's code. The bot printed it when it started."))
        await self._state.put(OWNER_CODE, None)
        person = await self._people.admit(message.user, message.user_name, "owner", "owner code")
        return Admitted(person, arrived="owner")

    def _once(self, key: str, refusal: Refused) -> Turned:
        """The same hint at most once an hour."""
        now = self._clock()
        if now - self._hinted.get(key, -HINT_SECONDS) < HINT_SECONDS:
            return Turned(None)
        self._hinted[key] = now
        return Turned(refusal)


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
