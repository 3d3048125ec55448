"""What owners hear without having asked."""

from __future__ import annotations

from handlers.languages import Say
from routing.ports import OutboxStore, PeopleStore
from routing.types import Button, ChatKey, OutboundMessage, UserKey


class Notices:
    """Writes to every owner in private, durably."""

    def __init__(self, people: PeopleStore, outbox: OutboxStore) -> None:
        self._people = people
        self._outbox = outbox

    async def welcome(self, user: UserKey) -> None:
        """Tell somebody in private that they may come in."""
        person = await self._people.find(user)
        words = Say(person.language if person else "")(
            "🎉 You may use me now. Write anything; /help lists the commands."
        )
        await self._outbox.add([OutboundMessage(ChatKey(user.platform, user.user_id), words)])

    async def owner_chats(self) -> tuple[ChatKey, ...]:
        """Where the owners are written to."""
        return tuple(ChatKey(user.platform, user.user_id) for user in await self._people.owners())

    async def tell_owners(self, template: str, buttons: tuple[Button, ...] = (), /, **values: object) -> None:
        """The same sentence to each owner, in their language."""
        messages = []
        for user in await self._people.owners():
            owner = await self._people.find(user)
            if owner is None:
                continue
            say = Say(owner.language)
            row = tuple(Button(say(button.label), button.command) for button in buttons)
            private = ChatKey(user.platform, user.user_id)
            rows = (row,) if row else ()
            messages.append(OutboundMessage(private, say(template, **values), owner=owner.id, buttons=rows))
        await self._outbox.add(messages)
