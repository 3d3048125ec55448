"""A person's connected accounts, as tools use them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from routing.errors import SecretUnreadable, ToolFailed
from routing.ports import SecretBox, ServiceAccountStore
from routing.types.accounts import ServiceAccount
from routing.types.people import Person

log = logging.getLogger("handlers.accounts")


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """An account with its password or token."""

    kind: str
    label: str
    details: Mapping[str, str]
    secret: str = field(repr=False)


class Accounts:
    """Opens accounts. Passwords are decrypted for one call at a time."""

    def __init__(self, store: ServiceAccountStore, box: SecretBox) -> None:
        self._store = store
        self._box = box

    async def has(self, person: Person, kinds: Collection[str]) -> bool:
        """Whether the person has connected an account of any of these kinds."""
        return any(each.kind in kinds for each in await self._store.of(person.id))

    async def of(self, person: Person, kind: str) -> tuple[ServiceAccount, ...]:
        """The person's accounts of this kind, oldest first."""
        return tuple(each for each in await self._store.of(person.id) if each.kind == kind)

    async def open(self, person: Person, *kinds: str, label: str | None = None) -> OpenAccount:
        """The person's newest account of the first of these kinds that they have (with this label). Raises
        ToolFailed."""
        accounts = await self._store.of(person.id)
        for kind in kinds:
            found = [each for each in accounts if each.kind == kind and label in (None, each.label)]
            if found:
                return await self._opened(found[-1])
        raise ToolFailed(f"No account is connected for this. Tell the user to send /connect {kinds[0]}.")

    async def _opened(self, account: ServiceAccount) -> OpenAccount:
        try:
            secret = await self._box.reveal(account.sealed)
        except SecretUnreadable as error:
            log.warning("The %s account of person %d can't be read: %s", account.kind, account.person_id, error)
            raise ToolFailed(
                f"The password of this account can't be read any more ({error}). Tell the user to connect it again "
                f"with /connect {account.kind}."
            ) from None
        return OpenAccount(account.kind, account.label, account.details, secret)
