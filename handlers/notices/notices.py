"""Sends unsolicited messages to owners and other people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from handlers.languages import Say
from routing.bounded import Bounded
from routing.ports import PeopleStore
from routing.types.messages import Button, ChatKey, OutboundMessage, OutgoingFile, UserKey
from routing.types.queues import OutboxEntry

Post = Callable[[Sequence[OutboundMessage]], Awaitable[None]]
"""Queues messages durably and sends them."""
Send = Callable[[Sequence[OutboxEntry]], None]
"""Sends messages that are already queued."""


class Notices:
    """Sends private messages through the durable outbox."""

    def __init__(self, people: PeopleStore, post: Post, send: Send = lambda entries: None) -> None:
        self._people = people
        self._post = post
        self.send = send
        self._undelivered = Bounded[tuple[ChatKey, str], bool]()

    async def welcome(self, user: UserKey) -> None:
        """Tells a person in private that they were admitted."""
        person = await self._people.find(user)
        words = Say(person.language if person else "")(
            "🎉 You may use me now. Write anything; /help lists the commands."
        )
        await self._post([OutboundMessage(ChatKey.of(user), words)])

    def to(
        self, template: str, accounts: Sequence[UserKey], language: str, /, **values: object
    ) -> tuple[OutboundMessage, ...]:
        """Builds one private message per account, to be stored in the caller's transaction."""
        words = Say(language)(template, **values)
        return tuple(OutboundMessage(ChatKey.of(user), words) for user in accounts)

    async def undeliverable(self, chat: ChatKey, reason: str) -> None:
        """Tells the owners once that a chat can't be reached, unless it is an owner's own chat."""
        whom = UserKey(chat.platform, chat.person or chat.chat_id)
        if not self._undelivered.get((chat, reason)) and whom not in await self._people.owners():
            self._undelivered[chat, reason] = True
            words = "📭 A reply to {chat} can't be delivered: {reason}."
            await self.tell_owners(words, (), chat=whom, reason=reason)

    async def unconfirmed(self, message: OutboundMessage) -> None:
        """Tells a person that a reply may be missing or duplicated."""
        everyone = await self._people.everyone()
        accounts = [user for person, users in everyone if person.id == message.owner for user in users]
        person = await self._people.find(accounts[0]) if accounts else None
        words = Say(person.language if person else "")(
            "⚠️ One of my answers may be missing or duplicated: its delivery was not confirmed. If one is missing, "
            "send your message again."
        )
        answered = message.reply_to if message.reply_to.isdigit() else ""
        await self._post([OutboundMessage(message.chat, words, answered, owner=message.owner)])

    async def send_file(self, user: UserKey, person_id: int, text: str, file: OutgoingFile) -> None:
        """Sends a file with a text to a person's private chat."""
        await self._post([OutboundMessage(ChatKey.of(user), text, owner=person_id, files=(file,))])

    async def tell_owners(self, template: str, buttons: tuple[Button, ...] = (), /, **values: object) -> None:
        """Sends a sentence to every owner in their language. A `reason` is translated if it has a translation."""
        messages = []
        for user in await self._people.owners():
            owner = await self._people.find(user)
            if owner is None:
                continue
            say = Say(owner.language)
            row = tuple(Button(say(button.label), button.command) for button in buttons)
            rows = (row,) if row else ()
            reason = values.get("reason")
            text = say(template, **values | ({"reason": say(reason)} if isinstance(reason, str) else {}))
            messages.append(OutboundMessage(ChatKey.of(user), text, owner=owner.id, buttons=rows, secret=True))
        await self._post(messages)
