"""Who changed access and limits, for /access log and the owners."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from handlers.languages import Say
from handlers.replies.names import plain_name
from routing.ports import PeopleStore

LOG_LINES = 15
ACTION_TEXTS: dict[str, str] = {
    "owner": "{by} made {name} an owner",
    "admin": "{by} made {name} an admin",
    "user": "{by} let {name} in",
    "guest": "{by} made {name} a guest",
    "blocked": "{by} blocked {name}",
    "forget": "{by} deleted {name}",
    "link": "{by} linked {name}",
    "unlink": "{by} unlinked {name}",
    "allow chat": "{by} opened {name}",
    "close chat": "{by} closed {name}",
    "budget": "{by} set a budget: {name}",
    "wrong owner code": "{by} sent a wrong owner code",
}
"""Log lines and notices to owners, by the role given or by the action."""
ACTORS: dict[str, str] = {
    "configuration": "The configuration",
    "open access": "Open access",
    "allowed group": "An enabled group",
    "owner code": "The owner code",
    "admin page": "The admin page",
}
"""Log names for admissions that no person made."""
UNNAMED = "{by}: {name}"


async def audit_lines(people: PeopleStore, say: Say) -> list[str]:
    """The last LOG_LINES entries as Markdown list items, with people's names where they are known."""
    names: dict[str, str] = {}
    for person, users in await people.everyone():
        names |= dict.fromkeys([f"person {person.id}", *map(str, users)], person.name)
    lines = []
    for entry in await people.audit_log(LOG_LINES):
        did = ACTION_TEXTS.get(entry.change if entry.action == "admit" else entry.action, UNNAMED)
        name = _named(names, entry.subject)
        if entry.action == "budget":
            name = f"{name}: {entry.change}"
        by = say(ACTORS[entry.actor]) if entry.actor in ACTORS else _named(names, entry.actor)
        lines.append(f"- {say.time(datetime.fromtimestamp(entry.at, UTC))} {say(did, by=by, name=name)}")
    return lines


def _named(names: Mapping[str, str], account: str) -> str:
    """A person's name if known, else the account."""
    return plain_name(names.get(account, "")) or f"`{account.replace('`', '')}`"
