"""/connect: accounts with other services, such as a calendar."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from handlers.accounts.connecting import Connecting, check_private
from handlers.context import CommandContext, CommandSpec, Handler, Reply, unknown_subcommand
from handlers.dependencies import CommandDependencies
from handlers.parsing import quoted
from routing.errors import Refused
from routing.ports import PreferenceStore, ServiceAccountStore
from routing.types.messages import Button
from routing.types.time_zones import time_zone

KINDS = ("calendar", "contacts", "email", "git")
"""The kinds of account, for completion; a test compares them with what can be connected."""
SPEC = CommandSpec(
    "connect",
    "Connect your accounts, such as a calendar",
    (
        "/connect",
        *(f"/connect {kind}" for kind in KINDS),
        "/connect off calendar",
        "/connect off calendar example.com",
    ),
    choices=((*KINDS, "off"), KINDS),
    role="user",
    personal=True,
)


def build(dependencies: CommandDependencies) -> Handler:
    return ConnectCommand(dependencies.accounts, dependencies.connecting, dependencies.preferences)


class ConnectCommand:
    """Lists, connects and deletes a person's accounts. No one else sees them."""

    def __init__(self, accounts: ServiceAccountStore, connecting: Connecting, preferences: PreferenceStore) -> None:
        self._accounts = accounts
        self._connecting = connecting
        self._preferences = preferences

    async def __call__(self, ask: CommandContext) -> Reply:
        match ask.arguments:
            case []:
                return await self._list(ask)
            case [off, name, *label] if off.lower() == "off" and (kind := self._connecting.kind(name, ask)):
                return await self._off(ask, kind.name, " ".join(label))
            case [name] if kind := self._connecting.kind(name, ask):
                return await self._connecting.begin(ask, kind)
            case [off, name, *_] if off.lower() == "off":
                raise unknown_subcommand(SPEC, "off", name, known=KINDS)
        raise unknown_subcommand(SPEC, ask.arguments[0])

    async def _list(self, ask: CommandContext) -> Reply:
        check_private(ask)
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        kinds = self._connecting.kinds
        accounts = await self._accounts.of(ask.person.id)
        count = Counter(each.kind for each in accounts)
        lines = [
            ask.say(
                "- ✅ {title}: {label}, tested on {date} · /connect off {kind}",
                title=ask.say(kinds[each.kind].title),
                label=f"`{each.label}`",
                date=ask.say.time(datetime.fromtimestamp(each.tested_at, zone)),
                kind=each.kind if count[each.kind] == 1 else f"{each.kind} {quoted(each.label)}",
            )
            for each in accounts
            if each.kind in kinds
        ]
        lines += [
            ask.say("- {title}: /connect {kind}", title=ask.say(kind.title), kind=kind.name) for kind in kinds.values()
        ]
        buttons = tuple((Button(f"🔌 {ask.say(kind.title)}", f"/connect {kind.name}"),) for kind in kinds.values())
        return Reply(f"{ask.say('🔌 **Your accounts**')}\n\n" + "\n".join(lines), buttons)

    async def _off(self, ask: CommandContext, kind: str, name: str) -> Reply:
        """Without a name, all accounts of the kind."""
        title = ask.say(self._connecting.kinds[kind].title)
        label = await self._label(ask, kind, title, name) if name else None
        if not await self._accounts.remove(ask.person.id, kind, label):
            raise Refused("{title} is not connected. Nothing was changed.", title=title)
        words = "🗑 Disconnected: {title}. The password is deleted."
        return Reply(ask.say(words, title=title))

    async def _label(self, ask: CommandContext, kind: str, title: str, name: str) -> str:
        """The label of the account that is named by it, by its server, its address or its user. Raises Refused."""
        labels = [each.label for each in await self._accounts.of(ask.person.id) if each.kind == kind]
        found = [each for each in labels if each == name] or [
            each for each in labels if name.casefold() in _names(each)
        ]
        if len(found) == 1:
            return found[0]
        if not labels:
            raise Refused("{title} is not connected. Nothing was changed.", title=title)
        words = "There is no account {name} ({title}). Yours: {labels}. Nothing was changed."
        if found:
            words = "Several accounts are called {name} ({title}): {labels}. Write one of these in quotation marks."
        shown = ", ".join(f"`{each}`" for each in found or labels)
        raise Refused(words, name=f"`{name.replace('`', '')[:100]}`", title=title, labels=shown)


def _names(label: str) -> set[str]:
    """What an account with this label is also called: `ann · https://example.com` → ann, https://example.com,
    example.com."""
    parts = label.casefold().split(" · ")
    return {*parts, *(part.rpartition("://")[2].rpartition("@")[2] for part in parts)}
