"""Tools for the person's address book."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from handlers.accounts.accounts import Accounts
from handlers.accounts.dav import CALENDAR, CONTACTS, DavServers, find_home
from handlers.accounts.kinds import ServiceFailed
from handlers.languages import Say, languages
from handlers.replies.names import quoted
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.authoring.tool import Preview
from handlers.tools.contacts.server import AddressBooks
from handlers.tools.dependencies import ToolDependencies
from routing.errors import ToolFailed
from routing.types.tools import ToolScope, Traits

if TYPE_CHECKING:  # imported when an address book is first used
    from handlers.accounts.dav_items import Item
    from handlers.accounts.guarded_session import GuardedSession

NAME = "contacts"
KINDS = (CONTACTS, CALENDAR)
"""Most calendar servers have address books, too."""
READS = Traits(seconds=60.0, private=True)
CHANGES = Traits(parallel=False, changes=True, seconds=60.0, private=True)
DELETES = replace(CHANGES, outside=False)
WRITES = replace(DELETES, private=False)
"""Their results repeat nothing but the arguments."""
MAX_LISTED = 20
T = TypeVar("T")


def build(dependencies: ToolDependencies) -> Tools:
    if dependencies.accounts is None or dependencies.dav is None:
        return ()
    return tools_of(ContactTools(dependencies.accounts, dependencies.dav))


class ContactTools:
    """Every call logs in again with the account of the person who asks. Texts in contacts are data."""

    def __init__(self, accounts: Accounts, dav: DavServers) -> None:
        self._accounts = accounts
        self._dav = dav

    @tool(accounts=KINDS, traits=READS)
    async def find_contact(self, scope: ToolScope, query: str) -> object:
        """The contacts that contain all words."""
        words = query.casefold().split()
        if not words:
            raise ToolFailed("Give a name, a company, a number or an address to look for.")

        def work(books: AddressBooks) -> dict[str, Any]:
            from handlers.tools.contacts import cards

            found = []
            for item in books.search(words):
                card = cards.parse(item.text)
                if card is not None and cards.fits(card, words):
                    found.append({"id": books.identity(item)} | cards.shown(card))
            found.sort(key=lambda each: str(each["name"]).casefold())
            more = (
                {"left out": f"{len(found) - MAX_LISTED} more: ask for more words"} if len(found) > MAX_LISTED else {}
            )
            return {"contacts": found[:MAX_LISTED]} | more

        return await self._with(scope, work)

    @tool(accounts=KINDS, traits=WRITES)
    async def create_contact(
        self,
        scope: ToolScope,
        name: str,
        phones: list[str] | None = None,
        emails: list[str] | None = None,
        company: str = "",
        address: str = "",
        birthday: str = "",
        notes: str = "",
    ) -> object:
        """A new contact in the first address book."""

        def work(books: AddressBooks) -> dict[str, Any]:
            from handlers.tools.contacts import cards

            uid, data = cards.new(cards.Fields(name, phones, emails, company, address, birthday, notes))
            item = books.create(books.book(), uid, data)
            return {"created": {"id": books.identity(item)} | cards.shown(cards.parse(data.decode()))}

        return await self._with(scope, work)

    async def _asks_to_change(self, scope: ToolScope, id: str, **given: Any) -> str | None:
        """What would be gone; None if nothing is removed or replaced."""

        def work(books: AddressBooks) -> tuple[str, list[str]]:
            from handlers.tools.contacts import cards

            card = _read(books, id)[1]
            return cards.name_of(card), cards.lost(card, cards.Fields(**given))

        whose, lost = await self._with(scope, work)
        return Preview(_change_note(Say(scope.language), whose, lost), ("id",)) if lost else None

    @tool(accounts=KINDS, traits=CHANGES, asks=_asks_to_change)
    async def update_contact(
        self,
        scope: ToolScope,
        id: str,
        name: str = "",
        phones: list[str] | None = None,
        emails: list[str] | None = None,
        company: str = "",
        address: str = "",
        birthday: str = "",
        notes: str = "",
    ) -> object:
        """Sets what is given; the rest of the contact stays, also what the tools don't show."""

        def work(books: AddressBooks) -> dict[str, Any]:
            from handlers.tools.contacts import cards

            item, card = _read(books, id)
            given = cards.Fields(name, phones, emails, company, address, birthday, notes)
            whose, lost = cards.name_of(card), cards.lost(card, given)
            _check_confirmed(scope, lambda say: _change_note(say, whose, lost))
            data = cards.change(card, given)
            books.replace(item, data)
            return {"changed": {"id": books.identity(item)} | cards.shown(cards.parse(data.decode()))}

        return await self._with(scope, work)

    async def _asks_to_delete(self, scope: ToolScope, id: str) -> str:
        def work(books: AddressBooks) -> str:
            from handlers.tools.contacts import cards

            return cards.name_of(_read(books, id)[1])

        return Preview(_delete_note(Say(scope.language), await self._with(scope, work)), ("id",))

    @tool(accounts=KINDS, traits=DELETES, asks=_asks_to_delete)
    async def delete_contact(self, scope: ToolScope, id: str) -> str:
        """Deletes a contact."""

        def work(books: AddressBooks) -> str:
            from handlers.tools.contacts import cards

            item, card = _read(books, id)
            _check_confirmed(scope, lambda say: _delete_note(say, cards.name_of(card)))
            books.delete(item)
            return "The contact is deleted."

        return await self._with(scope, work)

    async def _with(self, scope: ToolScope, work: Callable[[AddressBooks], T]) -> T:
        """Run `work` in a thread with the person's address books. Raises ToolFailed."""
        account = await self._accounts.open(scope.person, *KINDS)

        def opened(session: GuardedSession) -> T:
            home = account.details["home"] if account.kind == CONTACTS else ""
            return work(AddressBooks(session, home or find_home(session, CONTACTS, account.details["address"])))

        try:
            return await self._dav.in_session(scope.person, account.details, account.secret, opened)
        except ServiceFailed as failed:
            kind = account.kind if failed.again == "secret" else CONTACTS
            words = f"The address book can't be used: {failed.reason}. Tell the user; /connect {kind} connects it anew."
            raise ToolFailed(words) from None


def _delete_note(say: Say, name: str) -> str:
    return say("This deletes {name} from your address book.", name=quoted(name))


def _change_note(say: Say, name: str, lost: Sequence[str]) -> str:
    values = ", ".join(map(quoted, lost[:MAX_LISTED]))
    if len(lost) > MAX_LISTED:
        words = "This removes {values} and {n} more from the entry of {name} in your address book."
        return say(words, values=values, n=len(lost) - MAX_LISTED, name=quoted(name))
    return say("This removes {values} from the entry of {name} in your address book.", values=values, name=quoted(name))


def _check_confirmed(scope: ToolScope, note: Callable[[Say], str]) -> None:
    """Raises ToolFailed if the person confirmed something else."""
    if scope.confirmed and all(note(Say(language)) != scope.confirmed for language in languages()):
        raise ToolFailed("The contact changed since the user confirmed. Nothing was done: ask again.")


def _read(books: AddressBooks, identity: str) -> tuple[Item, Any]:
    """A contact, parsed. Raises ToolFailed."""
    from handlers.tools.contacts import cards

    item = books.read(books.locate(identity))
    card = cards.parse(item.text)
    if card is None:
        raise ToolFailed("This contact can't be read.")
    return item, card
