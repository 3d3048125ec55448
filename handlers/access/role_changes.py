"""Gives people another role, for /access and the admin page."""

from __future__ import annotations

from handlers.access.approvals import Approvals
from handlers.access.linking import Linking
from handlers.access.roles import Access
from handlers.replies.names import plain_name
from routing.errors import Refused
from routing.ports import PeopleStore
from routing.types.messages import UserKey
from routing.types.people import ROLES, Person, Role


class RoleChanges:
    """Who may change whose role is checked before."""

    def __init__(self, people: PeopleStore, access: Access, linking: Linking, approvals: Approvals) -> None:
        self._people = people
        self._access = access
        self._linking = linking
        self._approvals = approvals

    async def give(self, user: UserKey, name: str, role: Role, actor: str) -> None:
        """Admit an account or change its person's role; recorded in the audit log. `name` is for people who are not
        known yet. Messages that a stranger wrote while waiting are answered. Raises Refused, and there is always an
        owner left."""
        if user.is_chat and role not in ("guest", "blocked"):
            raise Refused("A group or channel can be a guest at most: anyone may be writing. Nothing was changed.")
        known = await self._people.find(user)
        if role != "owner":
            if known is not None and await self._is_last_owner(known):
                words = "{name} is the only owner. Make someone else an owner first."
                raise Refused(words, name=plain_name(known.name) or user)
            await self._check_configured(user, known)
        await self._people.admit(user, known.name if known else name, role, actor)
        if known is not None and ROLES.index(role) > ROLES.index(known.role):
            await self._linking.end_turns(known.id)  # running turns must not keep the lost permissions
        await self._approvals.answer_admitted()

    async def _check_configured(self, user: UserKey, known: Person | None) -> None:
        """Raises Refused for an owner of BOT_OWNERS, whose next message would make them an owner again."""
        accounts = [user, *(await self._linking.accounts(known) if known else ())]
        configured = next((each for each in accounts if each in self._access.configured_owners), None)
        if configured is not None:
            raise Refused("Remove {user} from BOT_OWNERS first, and restart. Nothing was changed.", user=configured)

    async def check_last_owner(self, person: Person) -> None:
        """Raises Refused if the person who writes is the only owner, because no one else could admit people."""
        if await self._is_last_owner(person):
            raise Refused("You are the only owner. Make someone else an owner first: /access role @name owner")

    async def _is_last_owner(self, person: Person) -> bool:
        owners = [await self._people.find(user) for user in await self._people.owners()]
        return {owner.id for owner in owners if owner is not None} == {person.id}
