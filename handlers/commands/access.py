"""/access: who may use the bot."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from handlers.access import Access, may
from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.codes import read_code
from handlers.linking import CODE_MINUTES, LINKED, MERGES, Linking
from handlers.needs import ForgetFiles, Needs
from handlers.notices import Notices
from handlers.parsing import parse_account
from routing.errors import Refused
from routing.stores import ChatStore, PeopleStore
from routing.types import ROLES, Button, Role, UserKey

SPEC = CommandSpec(
    "access",
    "Who may use this bot; link your accounts; be forgotten",
    (
        "/access",
        "/access pair ABCD-EFGH",
        "/access allow telegram:123",
        "/access block telegram:123",
        "/access role telegram:123 admin",
        "/access here on",
        "/access log",
        "/access link",
        "/access link ABCD-EFGH",
        "/access unlink discord:123",
        "/access forget me",
        "/access forget telegram:123",
    ),
    choices=(("pair", "allow", "block", "role", "here", "list", "log", "link", "unlink", "forget"),),
    personal=True,
)
LOG_LINES = 15


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return AccessCommand(needs.access, needs.linking, needs.people, needs.chats, needs.notices, needs.forget_files)


class AccessCommand:
    """Admins let people in and out; only owners make admins and owners; everybody may be forgotten."""

    def __init__(
        self,
        access: Access,
        linking: Linking,
        people: PeopleStore,
        chats: ChatStore,
        notices: Notices,
        forget_files: ForgetFiles,
    ) -> None:
        self._access = access
        self._linking = linking
        self._people = people
        self._chats = chats
        self._notices = notices
        self._forget_files = forget_files

    async def __call__(self, ask: Ask) -> Reply:
        words = [ask.arguments[0].lower(), *ask.arguments[1:]] if ask.arguments else ["list"]
        match words:
            case ["forget", "me"] | ["forget", "me", "yes"]:
                return await self._forget(ask, confirmed=len(words) == 3 and ask.pressed)
            case ["link"]:
                return await self._link(ask, "", False)
            case ["link", code] | ["link", code, "yes"]:
                return await self._link(ask, code, confirmed=len(words) == 3 and ask.pressed)
            case ["unlink"] | ["unlink", _]:
                return await self._unlink(ask, *words[1:])
        if not may(ask.person, "admin"):
            raise Refused(
                "Only admins and owners decide who may come in. You can write /access link or /access forget me."
            )
        return await self._govern(ask, words)

    async def _govern(self, ask: Ask, words: list[str]) -> Reply:
        """What admins and owners do."""
        match words:
            case ["list"]:
                return await self._list(ask)
            case ["log"]:
                return await self._log(ask)
            case ["pair", code]:
                return await self._pair(ask, code)
            case ["allow", account]:
                return await self._role(ask, account, "user")
            case ["block", account]:
                return await self._role(ask, account, "blocked")
            case ["role", account, role]:
                return await self._role(ask, account, _role(role))
            case ["forget", account]:
                return await self._forget_other(ask, parse_account(account))
            case ["here", switch] if switch.lower() in ("on", "off"):
                return await self._here(ask, switch.lower() == "on")
        raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage[1:]))

    async def _list(self, ask: Ask) -> Reply:
        lines = []
        for person, accounts in await self._people.everyone():
            names = ", ".join(f"`{account}`" for account in accounts)
            lines.append(f"- {_plain(person.name)} {names}: {ask.say(person.role)}")
        waiting = await self._people.waiting()
        for each in waiting:
            lines.append(f"- {ask.say('waiting')}: {_plain(each.name)} `{each.user}`")
        buttons = tuple((Button(f"✅ {each.name or each.user}", f"/access pair {each.user}"),) for each in waiting)
        return Reply(ask.say("Access: {mode}", mode=self._access.mode) + "\n\n" + "\n".join(lines), buttons)

    async def _log(self, ask: Ask) -> Reply:
        rows = await self._people.journal(LOG_LINES)
        lines = (
            f"- {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} `{who}`: {what}, `{detail}`"
            for at, who, what, detail in rows
        )
        return Reply("\n".join(lines) or ask.say("There is nothing here yet."))

    async def _pair(self, ask: Ask, typed: str) -> Reply:
        user = ask.message.user
        self._access.wrong.check(user)
        asked = parse_account(typed) if ":" in typed else read_code(typed)
        found = await self._people.approve(asked, str(user)) if asked else None
        if found is None:
            self._access.wrong.count(user)
            raise Refused("Nobody waits with the code {code}; it may have expired. Nothing was changed.", code=typed)
        await self._notices.welcome(found.user)
        return Reply(ask.say("✅ {name} may use me now.", name=_plain(found.name) or str(found.user)))

    async def _role(self, ask: Ask, account: str, role: Role) -> Reply:
        user = parse_account(account)
        known = await self._people.find(user)
        touches_power = role in ("owner", "admin") or (known is not None and known.role in ("owner", "admin"))
        if touches_power and not may(ask.person, "owner"):
            raise Refused("Only an owner can do that. Nothing was changed.")
        if known is not None and known.id == ask.person.id:
            raise Refused("You can't change your own role. Nothing was changed.")
        await self._people.admit(user, known.name if known else "", role, str(ask.message.user))
        if known is not None and ROLES.index(role) > ROLES.index(known.role):
            await self._linking.end_turns(known.id)  # what they have just lost must not go on
        return Reply(ask.say("✅ {user} has the role {role} now.", user=f"`{user}`", role=ask.say(role)))

    async def _here(self, ask: Ask, on: bool) -> Reply:
        if ask.message.private:
            raise Refused("Write this in the group that you mean.")
        await self._chats.set_allowed(ask.message.chat, on, str(ask.message.user))
        words = "✅ Everybody in this group may use me now, as guests." if on else "🚪 This group is closed again."
        return Reply(ask.say(words))

    async def _link(self, ask: Ask, typed: str, confirmed: bool) -> Reply:
        if not ask.message.private:
            raise Refused("Write this to me in private. Nothing was changed.")
        if not typed:
            words = (
                "🔗 On the other platform, write me in private: `/access link {code}`. The code is valid for {minutes} "
                "minutes. Both accounts are one person then: role, tiers, models, settings, files and usage follow. "
                "Give it to nobody else."
            )
            told = ask.say(words, code=await self._linking.code(ask.person), minutes=CODE_MINUTES)
            return Reply(told, secret=True)
        if not confirmed:
            maker = await self._linking.maker(ask.message.user, typed, ask.person)
            told = ask.say(MERGES, name=_plain(maker.name) or "?", accounts=await self._linking.names(maker))
            return Reply(told, ((Button(ask.say("🔗 That is me"), f"/access link {typed} yes"),),))
        person = await self._linking.redeem(ask.message.user, typed, ask.person)
        return Reply(ask.say(LINKED, accounts=await self._linking.names(person)))

    async def _unlink(self, ask: Ask, account: str = "") -> Reply:
        user = parse_account(account) if account else ask.message.user
        await self._linking.unlink(ask.person, user, ask.message.user)
        words = "✂️ {user} is no longer yours: it is a stranger's account now. What you have set stays with {accounts}."
        return Reply(ask.say(words, user=f"`{user}`", accounts=await self._linking.names(ask.person)))

    async def _forget(self, ask: Ask, confirmed: bool) -> Reply:
        if not confirmed:
            words = "This deletes your settings, your conversations and your access for good."
            button = Button(ask.say("🗑 Delete it all"), "/access forget me yes")
            return Reply(ask.say(words), ((button,),))
        await self._delete(ask.person.id, ask.message.user)
        return Reply(ask.say("🗑 Done. I don't know you any more."))

    async def _forget_other(self, ask: Ask, user: UserKey) -> Reply:
        if not may(ask.person, "owner"):
            raise Refused("Only an owner can do that. Nothing was changed.")
        known = await self._people.find(user)
        if known is None:
            raise Refused("I don't know {user}. Nothing was changed.", user=user)
        await self._delete(known.id, ask.message.user)
        return Reply(ask.say("🗑 {user} is forgotten.", user=f"`{user}`"))

    async def _delete(self, person_id: int, by: UserKey) -> None:
        await self._linking.end_turns(person_id)
        await asyncio.to_thread(self._forget_files, person_id)
        await self._people.forget(person_id, str(by))


def _role(text: str) -> Role:
    role = next((role for role in ROLES if role == text.lower()), None)
    if role is None:
        raise Refused("The roles are {roles}. Nothing was changed.", roles=", ".join(ROLES))
    return role


def _plain(name: str) -> str:
    """A stranger's name can't format our Markdown."""
    return "".join(sign for sign in name if sign.isalnum() or sign in " .-'")
