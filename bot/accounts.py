"""Accounts with other services: their kinds, the key of their passwords, and connecting them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from bot.config.settings import Settings
from bot.config.workspace import Workspace
from handlers.access.roles import may
from handlers.accounts.accounts import Accounts
from handlers.accounts.connecting import Connecting
from handlers.accounts.dav import DavServers
from handlers.accounts.reachable import Reachable
from handlers.storage_retry import retry_storage
from handlers.tools.email import account as email
from handlers.tools.git import account as git
from routing.errors import SecretUnreadable
from routing.ports import Clock, PeopleStore
from routing.types.people import Person
from storage.people.secret_box import FernetBox
from storage.people.service_accounts import SqlServiceAccounts

log = logging.getLogger("bot.accounts")


@dataclass(frozen=True, slots=True)
class AccountServices:
    """What tools and commands need of accounts."""

    accounts: Accounts
    connecting: Connecting
    dav: DavServers
    reachable: Callable[[Person], Reachable]
    reseal: Callable[[], Coroutine[None, None, None]]
    """Encrypts with the first key what the others have encrypted."""


def build_accounts(
    settings: Settings, workspace: Workspace, store: SqlServiceAccounts, people: PeopleStore, clock: Clock
) -> AccountServices:
    """Read no key yet: that happens with the first account. A new kind of account is one more entry here."""
    key = settings.secrets_key.get_secret_value() if settings.secrets_key else ""
    box = FernetBox(workspace.secrets_key, key)
    hosts = settings.hosts

    def reachable(person: Person) -> Reachable:
        return Reachable(may(person, "admin"), hosts)

    async def reseal() -> None:
        try:
            if await box.has_old_keys():
                count = await retry_storage(store.reseal, box.resealed)
                words = (
                    "[Accounts] All passwords are encrypted with the first key (%d changed); the others can be removed"
                )
                log.info(words, count)
        except SecretUnreadable as error:
            log.warning("[Accounts] Passwords keep their keys: %s", error)

    dav = DavServers(reachable)
    kinds = {kind.name: kind for kind in (*dav.kinds(), email.kind(reachable), git.kind(reachable))}
    return AccountServices(Accounts(store, box), Connecting(store, people, box, kinds, clock), dav, reachable, reseal)
