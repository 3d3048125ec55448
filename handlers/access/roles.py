"""Decides who may use the bot. By default, only people whom an owner admitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from handlers.access.codes import CODE_SECONDS, WrongCodes, new_code, posted_codes, read_code, shown
from handlers.access.linking import LINKED, Linking
from handlers.parsing import typed_command
from routing.bounded import Bounded
from routing.errors import Refused
from routing.one_time_codes import hashed, matches
from routing.ports import ChatStore, Clock, PeopleStore, StateStore
from routing.types.messages import InboundMessage, UserKey
from routing.types.people import ROLES, Pairing, Person, Profile, Role

AccessMode = Literal["pairing", "allowlist", "open"]

MAX_WAITING = 30
"""Maximum number of waiting strangers. A new one replaces the one who has waited longest."""
HINT_SECONDS = 3600.0
NO_OWNER = (
    "I have no owner yet. If you run me, send me the owner code: it is in my start log, after “Owner code:”. If you "
    "missed it, restart me; each start prints a new one."
)
OWNER_ADMITTED = "👑 You are the owner now. Write anything to begin; /help lists the commands."
CLOSED_GROUP = "This group isn't enabled yet. The owner can run /access here on."
CLOSED_SERVER = "This server isn't enabled yet. The owner can run /access here on."
OWNER_CODE_BURNED = (
    "⚠️ Others could read that owner code, so it no longer works. I have printed a new one in my start log; send it to "
    "me in private."
)
LINK_CODE_BURNED = (
    "⚠️ Others could read that code, so it no longer works. Make a new one with /access link and send it to me in "
    "private."
)
PAIRING_CODE_BURNED = "⚠️ Others could read that code, so it no longer works. Write to me in private to get a new one."
OWNER_CODE = "owner_code"
NO_PERSON = 0
"""An id that no person has."""
_RANK: dict[Role, int] = {role: rank for rank, role in enumerate(reversed(ROLES))}


@dataclass(frozen=True, slots=True)
class Greeting:
    """The message shown to a person admitted by this message. /start with the code shows its own."""

    template: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Admitted:
    """An admitted person. If there is a greeting, this message admitted them, and it is the whole reply."""

    person: Person
    greeting: Greeting | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected sender: the reply (None if they already got it) and the stranger to announce to the owners."""

    refusal: Refused | None
    stranger: Pairing | None = None


def print_owner_code(code: str) -> None:
    """Prints the code to the terminal or journal, which only the owner of the machine can read."""
    print(f"Owner code: {code}  (send it to the bot in a private chat to become its owner)", flush=True)


def may(person: Person, role: Role) -> bool:
    """Whether a person's role is at least `role`."""
    return _RANK[person.role] >= _RANK[role]


def check_shared(person: Person, message: InboundMessage) -> None:
    """Raises Refused if a guest would change what a group shares: the conversation and its settings."""
    if not message.private and not may(person, "user"):
        raise Refused("In a group this needs the role user; yours is guest. Nothing was changed.")


class Access:
    """Identifies the sender of each message and checks whether they may use the bot."""

    def __init__(
        self,
        mode: AccessMode,
        owners: Collection[UserKey],
        people: PeopleStore,
        chats: ChatStore,
        state: StateStore,
        linking: Linking,
        clock: Clock,
    ) -> None:
        self.mode = mode
        self.configured_owners = frozenset(owner for owner in owners if not owner.is_chat)
        self._people = people
        self._chats = chats
        self._state = state
        self._clock = clock
        self._hinted = Bounded[str, float]()
        self._issued = Bounded[UserKey, Pairing](MAX_WAITING)
        self._linking = linking
        self.wrong = linking.wrong
        self._posted = WrongCodes(clock)

    async def appoint(self) -> None:
        """Registers the configured owners, so that they hear of strangers before their first message, and limits the
        validity of stored codes to `CODE_SECONDS`."""
        await self._people.shorten(CODE_SECONDS)
        for user in self.configured_owners:
            if await self._people.find(user) is None:
                await self._people.admit(user, "", "owner", "configuration")

    async def owner_code(self, platforms: Collection[str]) -> str | None:
        """Creates a one-time owner code. None if pairing is off, owners are configured, or an owner can already be
        reached on one of `platforms`. The terminal user is an owner too, but can't be told about strangers."""
        met = [user for user in await self._people.owners() if user.platform in platforms]
        if self.mode != "pairing" or self.configured_owners or met:
            await self._state.put(OWNER_CODE, None)
            return None
        return await self.new_owner_code()

    async def new_owner_code(self) -> str:
        """Replaces the owner code, also where there is an owner already."""
        code = new_code()
        await self._state.put(OWNER_CODE, hashed(code))
        return shown(code)

    async def find(self, user: UserKey) -> Person | None:
        """The person behind an account, also one who would be admitted with their first message; None for a
        stranger."""
        person = await self._people.find(user)
        return Person(NO_PERSON, "user", "") if person is None and self.mode == "open" else person

    async def decide(self, message: InboundMessage) -> Admitted | Rejected:
        """Admits or rejects the sender of a message."""
        if message.scheduled is not None:
            return await self._scheduled(message)
        person = await self._people.find(message.user)
        language = message.language if message.private else ""  # a Discord server has its own
        profile = Profile(message.user_name, message.username, language)
        if message.by_chat:
            person = _as_guest(person)
        elif message.user in self.configured_owners and (person is None or person.role != "owner"):
            person = await self._people.admit_sender(message.user, profile, "owner", "configuration")
        elif person is None and self.mode == "open":
            person = await self._people.admit_sender(message.user, profile, "user", "open access")
        elif person is not None:
            person = await self._people.seen(message.user, profile) or person
        if not message.private:
            return await self._expire_posted_codes(message, person) or await self._in_group(message, person)
        typed = _sent_code(message)
        owner_code = await self._state.get(OWNER_CODE) if typed is not None else None
        if typed is not None and owner_code is not None:
            return await self._try_owner_code(message, owner_code, typed)
        if person is None or (person.role == "guest" and self.mode != "open"):
            return await self._stranger(message, person)  # a group's guests have no access in private
        return self._known(person)

    async def _scheduled(self, message: InboundMessage) -> Admitted | Rejected:
        """Decides on a scheduled prompt. Its text is no code, and a refusal is not announced."""
        person = await self._people.find(message.user)
        if person is None or not may(person, "user"):
            return Rejected(None)
        decided = self._known(person) if message.private else await self._in_group(message, person)
        return decided if isinstance(decided, Admitted) else Rejected(None)

    def _known(self, person: Person) -> Admitted | Rejected:
        if person.role == "blocked":
            return self._hint_once(f"blocked {person.id}", Refused("You may not use this bot."))
        return Admitted(person)

    async def _expire_posted_codes(self, message: InboundMessage, person: Person | None) -> Rejected | None:
        """Invalidates codes posted in a group, where others can read them. An admin's /access pair is exempt because it
        uses up the code. Comparing codes is slow, so accounts that post many wrong ones are ignored."""
        codes = posted_codes(message.text)
        if not codes or (person is not None and may(person, "admin") and _is_pairing(message)):
            return None
        try:
            self._posted.check(message.user)
        except Refused:
            return None
        for code in codes:
            if burned := await self._expire_code(code):
                return Rejected(Refused(burned))
        self._posted.count(message.user)
        return None

    async def _expire_code(self, code: str) -> str:
        """Invalidates a code and returns the sentence about it; empty if the code was not valid."""
        stored = await self._state.get(OWNER_CODE)
        if stored is not None and matches(code, stored):
            print_owner_code(await self.new_owner_code())
            return OWNER_CODE_BURNED
        if await self._linking.expire_code(code):
            return LINK_CODE_BURNED
        stranger = await self._people.expire_code(code)
        if stranger is None:
            return ""
        self._issued[stranger] = Pairing(stranger, "", "", expires_at=0.0)
        return PAIRING_CODE_BURNED

    async def _in_group(self, message: InboundMessage, person: Person | None) -> Admitted | Rejected:
        command = message.kind == "press" or message.own_text.lstrip().startswith("/")
        if person is not None and may(person, "admin") and command:
            return Admitted(person)
        if self.mode != "open" and not await self._chats.allowed(message.chat):
            hint = CLOSED_SERVER if message.chat.in_server else CLOSED_GROUP
            return self._hint_once(f"group {message.chat.chat_id} {message.user}", Refused(hint))
        if person is None:
            person = await self._people.admit(message.user, message.user_name, "guest", "allowed group")
        return self._known(person)

    async def _stranger(self, message: InboundMessage, guest: Person | None) -> Admitted | Rejected:
        typed = _link_code(message)
        if typed is not None:
            return await self._link(message, typed, guest)
        if self.mode == "allowlist":
            return self._hint_once(
                f"stranger {message.user}",
                Refused("This bot is private. Its owner can let you in with: /access allow {user}", user=message.user),
            )
        request = Pairing(
            user=message.user,
            name=message.user_name,
            code=self._code(message.user),
            expires_at=self._clock() + CODE_SECONDS,
            username=message.username,
            messages=(message,) if _is_question(message) else (),
            language=message.language[:8],
        )
        waiting = await self._people.ask(request, MAX_WAITING)
        self._issued[message.user] = waiting
        if await self._state.get(OWNER_CODE) is not None:
            return Rejected(Refused(NO_OWNER))
        minutes = max(1, round((waiting.expires_at - self._clock()) / 60))
        sentence = Refused(
            "This bot is private. Your code is `{code}`, valid for {minutes} minutes. "
            "Ask the owner to approve it with: /access pair {code}",
            code=shown(waiting.code),
            minutes=minutes,
        )
        return Rejected(sentence, waiting if waiting is request else None)

    def _code(self, user: UserKey) -> str:
        """The stranger's code while it is valid. Only its hash is stored, so they get a new one after a restart."""
        issued = self._issued.get(user)
        return issued.code if issued is not None and issued.expires_at > self._clock() else new_code()

    async def _link(self, message: InboundMessage, typed: str, guest: Person | None) -> Admitted | Rejected:
        try:
            person = await self._linking.redeem(message.user, typed, guest)
        except Refused as refusal:
            return Rejected(refusal)
        return Admitted(person, Greeting(LINKED, {"accounts": await self._linking.names(person)}))

    async def _try_owner_code(self, message: InboundMessage, stored: str, typed: str) -> Admitted | Rejected:
        try:
            self.wrong.check(message.user)
        except Refused as refusal:
            return Rejected(refusal)
        if not matches(typed, stored):
            self.wrong.count(message.user)
            await self._people.audit(str(message.user), "wrong owner code", message.user_name)
            return Rejected(Refused("This is not the owner code. I print it when I start; a restart prints a new one."))
        await self._state.put(OWNER_CODE, None)
        person = await self._people.admit(message.user, message.user_name, "owner", "owner code")
        return Admitted(person, Greeting(OWNER_ADMITTED, {}))

    def _hint_once(self, key: str, refusal: Refused) -> Rejected:
        """Rejects with a hint at most once an hour per key."""
        now = self._clock()
        hinted = self._hinted.get(key)
        if hinted is not None and now - hinted < HINT_SECONDS:
            return Rejected(None)
        self._hinted[key] = now
        return Rejected(refusal)


def _sent_code(message: InboundMessage) -> str | None:
    """The code that a message consists of, also after /start: a link to the bot sends it so."""
    typed = typed_command(message)
    return read_code(typed.rest if typed is not None and typed.name == "start" else message.own_text)


def _is_question(message: InboundMessage) -> bool:
    """Whether a stranger's message is a question to answer once they are admitted."""
    return message.kind == "message" and typed_command(message) is None and read_code(message.own_text) is None


def _as_guest(person: Person | None) -> Person | None:
    """Limits a group or channel to the guest role, because anyone may write in its name."""
    return replace(person, role="guest") if person is not None and may(person, "guest") else person


def _is_pairing(message: InboundMessage) -> bool:
    typed = typed_command(message)
    return typed is not None and typed.name == "access" and [word.lower() for word in typed.arguments[:1]] == ["pair"]


def _link_code(message: InboundMessage) -> str | None:
    """The code after /access link, if any."""
    typed = typed_command(message)
    if typed is None or typed.name != "access" or [word.lower() for word in typed.arguments[:1]] != ["link"]:
        return None
    return typed.arguments[1] if typed.arguments[1:] else None
