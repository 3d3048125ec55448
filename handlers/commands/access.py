"""/access: who may use the bot, linking of accounts, export and deletion of data."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from handlers.access.approvals import Approvals, display_name
from handlers.access.audit_log import ACTION_TEXTS, audit_lines
from handlers.access.codes import read_code
from handlers.access.linking import CODE_MINUTES, LINKED, MERGES, Linking
from handlers.access.role_changes import RoleChanges
from handlers.access.roles import Access, may
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.notices.notices import Notices
from handlers.parsing import parse_account
from handlers.personal_data import PersonalData
from handlers.replies.names import plain_name
from routing.errors import Refused, ToolFailed
from routing.ports import ChatStore, PeopleStore
from routing.text import nearest
from routing.types.messages import Button, UserKey
from routing.types.people import ROLES, Role

SPEC = CommandSpec(
    "access",
    "Who may use this bot; link your accounts; export or delete your data",
    (
        "/access",
        "/access pair ABCD-EFGH",
        "/access allow @name",
        "/access block telegram:123",
        "/access role @name admin",
        "/access here on",
        "/access log",
        "/access link",
        "/access link ABCD-EFGH",
        "/access unlink discord:123",
        "/access export",
        "/access forget me",
        "/access forget @name",
    ),
    free_text=True,
    choices=(("pair", "allow", "block", "role", "here", "list", "log", "link", "unlink", "export", "forget"),),
    personal=True,
)
MAX_LISTED = 50
MAX_DIGITS = 6
DONE: dict[Role, str] = {
    "owner": "✅ {name} is an owner now.",
    "admin": "✅ {name} is an admin now.",
    "user": "✅ {name} can use me now.",
    "guest": "✅ {name} is a guest now.",
    "blocked": "✅ {name} is blocked.",
}
_ACCOUNT = re.compile(r"[a-z]+:-?\w+")


@dataclass(frozen=True, slots=True)
class Known:
    """An account that a typed name may refer to."""

    user: UserKey
    name: str
    username: str

    @property
    def display(self) -> str:
        return display_name(self.name, self.user, self.username)


def build(dependencies: CommandDependencies) -> Handler:
    return AccessCommand(
        dependencies.access,
        dependencies.linking,
        dependencies.people,
        dependencies.chats,
        dependencies.approvals,
        dependencies.notices,
        dependencies.personal_data,
    )


class AccessCommand:
    """Admins admit and block people. Only owners make admins and owners. Anyone may delete their own data."""

    def __init__(
        self,
        access: Access,
        linking: Linking,
        people: PeopleStore,
        chats: ChatStore,
        approvals: Approvals,
        notices: Notices,
        personal_data: PersonalData,
    ) -> None:
        self._access = access
        self._linking = linking
        self._people = people
        self._chats = chats
        self._approvals = approvals
        self._roles = RoleChanges(people, access, linking, approvals)
        self._notices = notices
        self._personal_data = personal_data

    async def __call__(self, ask: CommandContext) -> Reply:
        words = [ask.arguments[0].lower(), *ask.arguments[1:]] if ask.arguments else ["list"]
        match words:
            case ["forget", "me"] | ["forget", "me", "yes"]:
                return await self._forget(ask, confirmed=len(words) == 3 and ask.pressed)
            case ["export"]:
                return await self._export(ask)
            case ["link"]:
                return await self._link(ask, "", False)
            case ["link", code] | ["link", code, "yes"]:
                return await self._link(ask, code, confirmed=len(words) == 3 and ask.pressed)
            case ["unlink"] | ["unlink", _]:
                return await self._unlink(ask, *words[1:])
        if not may(ask.person, "admin"):
            raise Refused(
                "Only admins and owners decide who may use me. You can write /access link, /access export or "
                "/access forget me."
            )
        return await self._run_admin_command(ask, words)

    async def _run_admin_command(self, ask: CommandContext, words: list[str]) -> Reply:
        """Runs the subcommands of admins and owners."""
        match words:
            case ["list"] | ["list", _] | ["log"] if not ask.message.private:
                raise Refused("I only show this in private: send it to me in a direct message.")
            case ["list"] | ["list", _]:
                return await self._list(ask, *words[1:])
            case ["log"]:
                return await self._log(ask)
            case ["pair", code]:
                return await self._pair(ask, code)
            case ["allow", *who] if who:
                return await self._named(ask, who, "allow {}", lambda one: self._allow(ask, one))
            case ["block", *who] if who:
                return await self._named(ask, who, "block {}", lambda one: self._role(ask, one, "blocked"))
            case ["role", *who, role] if who:
                given = _role(role)
                return await self._named(ask, who, f"role {{}} {given}", lambda one: self._role(ask, one, given))
            case ["forget", *who] if who:
                return await self._named(ask, who, "forget {}", lambda one: self._forget_other(ask, one))
            case ["here", switch] if switch.lower() in ("on", "off"):
                return await self._here(ask, switch.lower() == "on")
        raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage[1:]))

    async def _named(
        self, ask: CommandContext, words: list[str], command: str, act: Callable[[Known], Awaitable[Reply]]
    ) -> Reply:
        """Runs `act` on the named account. If the name is ambiguous, or a mistake would grant power or delete data,
        buttons ask which account is meant."""
        typed = " ".join(words)
        everyone = await self._known()
        if _ACCOUNT.fullmatch(typed.lower()):
            user = parse_account(typed)
            return await act(next((each for each in everyone if each.user == user), Known(user, "", "")))
        meant = typed.casefold().removeprefix("@")
        found = [each for each in everyone if each.username.casefold() == meant]
        if not typed.startswith("@"):
            found += [each for each in everyone if plain_name(each.name).casefold() == plain_name(typed).casefold()]
        found = list(dict.fromkeys(found))
        if len(found) == 1 and command.startswith(("allow", "block")):
            return await act(found[0])
        if len(found) > 1 and not ask.message.private:
            raise Refused("Several people may be meant. Send me this in private. Nothing was changed.")
        if not found:
            near = nearest(typed, [each.name for each in everyone] + [f"@{each.username}" for each in everyone])
            if near:
                asked = "I don't know {name}. Did you mean {near}? /access lists everyone. Nothing was changed."
                raise Refused(asked, name=plain_name(typed) or "?", near=plain_name(near))
            unknown = "I don't know {name}. /access lists everyone. Nothing was changed."
            raise Refused(unknown, name=plain_name(typed) or "?")
        lines = [f"- {each.display} `{each.user}`" for each in found]
        buttons = tuple(
            (Button(f"{plain_name(each.name) or each.user} {each.user}", f"/access {command.format(each.user)}"),)
            for each in found[:MAX_LISTED]
        )
        meaning = "Who do you mean?" if len(found) > 1 else "Do you mean this account? Names can change hands."
        return Reply(ask.say(meaning) + "\n\n" + "\n".join(lines[:MAX_LISTED]), buttons)

    async def _known(self) -> list[Known]:
        """One account per known person, followed by the strangers who wait."""
        handles = await self._people.usernames()
        found = [
            Known(accounts[0], person.name, next((handles[each] for each in accounts if each in handles), ""))
            for person, accounts in await self._people.everyone()
            if accounts
        ]
        return [*found, *(Known(each.user, each.name, each.username) for each in await self._people.waiting())]

    async def _list(self, ask: CommandContext, number: str = "1") -> Reply:
        page = max(1, int(number)) if number.isdecimal() and len(number) <= MAX_DIGITS else 1
        known = await self._people.everyone(MAX_LISTED + 1, MAX_LISTED * (page - 1))
        shown = known[:MAX_LISTED]
        handles = await self._people.usernames([person.id for person, _ in shown])
        lines = []
        for person, accounts in shown:
            named = ", ".join(
                f"`{account}` (`@{handles[account]}`)" if account in handles else f"`{account}`" for account in accounts
            )
            lines.append(f"- {plain_name(person.name)} {named}: {ask.say(person.role)}")
        if len(known) > len(shown):
            lines.append(f"- {ask.say('More people: {command}', command=f'`/access list {page + 1}`')}")
        waiting = (await self._people.waiting())[-MAX_LISTED:]
        for each in waiting:
            lines.append(f"- {ask.say('waiting')}: {display_name(each.name, each.user, each.username)} `{each.user}`")
        buttons = tuple(
            (
                Button(f"✅ {plain_name(each.name) or each.user}", f"/access allow {each.user}"),
                Button(f"🚫 {plain_name(each.name) or each.user}", f"/access block {each.user}"),
            )
            for each in waiting[:10]
        )
        return Reply(ask.say("Access: {mode}", mode=ask.say(self._access.mode)) + "\n\n" + "\n".join(lines), buttons)

    async def _log(self, ask: CommandContext) -> Reply:
        return Reply("\n".join(await audit_lines(self._people, ask.say)) or ask.say("There is nothing here yet."))

    async def _pair(self, ask: CommandContext, typed: str) -> Reply:
        user = ask.message.user
        self._access.wrong.check(user)
        asked = parse_account(typed) if ":" in typed else read_code(typed)
        found = await self._people.approve(asked, str(user)) if asked else None
        if found is None:
            self._access.wrong.count(user)
            raise Refused(
                "No one is waiting with the code {code}; it may have expired. Nothing was changed.", code=typed
            )
        await self._approvals.answer_admitted()
        return await self._confirm_role(ask, Known(found.user, found.name, ""), "user")

    async def _allow(self, ask: CommandContext, one: Known) -> Reply:
        person = await self._people.find(one.user)
        if person is not None and may(person, "user"):
            raise Refused("{name} can use me already. Nothing was changed.", name=one.display)
        return await self._role(ask, one, "user")

    async def _role(self, ask: CommandContext, one: Known, role: Role) -> Reply:
        user = one.user
        known = await self._people.find(user)
        touches_power = role in ("owner", "admin") or (known is not None and known.role in ("owner", "admin"))
        if touches_power and not may(ask.person, "owner"):
            raise Refused("Only an owner can do that. Nothing was changed.")
        if known is not None and known.id == ask.person.id:
            raise Refused("You can't change your own role. Nothing was changed.")
        await self._roles.give(user, one.name, role, str(ask.message.user))
        return await self._confirm_role(ask, one, role)

    async def _confirm_role(self, ask: CommandContext, one: Known, role: Role) -> Reply:
        """Confirms the change, and tells the owners if an admin made it."""
        name = plain_name(one.name)
        name = f"{name} (`{one.user}`)" if name and role in ("owner", "admin") else name or f"`{one.user}`"
        if not may(ask.person, "owner"):
            by = plain_name(ask.person.name or ask.message.user_name) or f"`{ask.message.user}`"
            await self._notices.tell_owners(ACTION_TEXTS[role], (), by=by, name=name)
        return Reply(ask.say(DONE[role], name=name))

    async def _here(self, ask: CommandContext, on: bool) -> Reply:
        if ask.message.private:
            raise Refused("Write this in that group.")
        await self._chats.set_allowed(ask.message.chat, on, str(ask.message.user))
        opened = (
            "✅ Everyone in this group can use me now, as a guest: without the deep tier, models of their own or your "
            "files, and with a daily budget."
        )
        words = opened if on else "🚪 This group is closed again."
        return Reply(ask.say(words))

    async def _link(self, ask: CommandContext, typed: str, confirmed: bool) -> Reply:
        if not ask.message.private:
            raise Refused("Send me this in private. Nothing was changed.")
        if not typed:
            words = (
                "🔗 On the other platform, send me in private: `/access link {code}`. The code is valid for {minutes} "
                "minutes. After that both accounts are one person and share role, tiers, models, settings, files and "
                "usage. Don't give the code to anyone else."
            )
            text = ask.say(words, code=await self._linking.code(ask.person), minutes=CODE_MINUTES)
            return Reply(text, secret=True)
        if not confirmed:
            code_owner = await self._linking.code_owner(ask.message.user, typed, ask.person)
            text = ask.say(
                MERGES, name=plain_name(code_owner.name) or "?", accounts=await self._linking.names(code_owner)
            )
            return Reply(text, ((Button(ask.say("🔗 That is me"), f"/access link {typed} yes"),),))
        person = await self._linking.redeem(ask.message.user, typed, ask.person)
        return Reply(ask.say(LINKED, accounts=await self._linking.names(person)))

    async def _unlink(self, ask: CommandContext, account: str = "") -> Reply:
        user = parse_account(account) if account else ask.message.user
        await self._linking.unlink(ask.person, user, ask.message.user)
        words = "✂️ {user} is unlinked: it is a separate account now. Your settings stay with {accounts}."
        return Reply(ask.say(words, user=f"`{user}`", accounts=await self._linking.names(ask.person)))

    async def _export(self, ask: CommandContext) -> Reply:
        if not ask.message.private:
            raise Refused("I only send this in private: send it to me in a direct message.")
        try:
            return await self._personal_data.export(ask)
        except ToolFailed as failed:
            raise Refused("That did not work: {problem}", problem=failed.words) from None

    async def _forget(self, ask: CommandContext, confirmed: bool) -> Reply:
        await self._roles.check_last_owner(ask.person)
        if not confirmed:
            words = "This deletes your settings, your conversations and your access for good."
            button = Button(ask.say("🗑 Delete it all"), "/access forget me yes")
            return Reply(ask.say(words), ((button,),))
        await self._personal_data.delete(ask.person.id, ask.message.user)
        return Reply(ask.say("🗑 Done. I don't know you any more."))

    async def _forget_other(self, ask: CommandContext, one: Known) -> Reply:
        if not may(ask.person, "owner"):
            raise Refused("Only an owner can do that. Nothing was changed.")
        known = await self._people.find(one.user)
        if known is None:
            raise Refused("I don't know {user}. Nothing was changed.", user=one.user)
        await self._roles.check_last_owner(known)
        await self._personal_data.delete(known.id, ask.message.user)
        return Reply(ask.say("🗑 {user} is forgotten.", user=one.display))


def _role(text: str) -> Role:
    role = next((role for role in ROLES if role == text.lower()), None)
    if role is None:
        raise Refused("The roles are {roles}. Nothing was changed.", roles=", ".join(ROLES))
    return role
