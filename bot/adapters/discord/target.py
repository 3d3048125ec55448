"""Where a reply goes, and where else when that is gone."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.discord.origin import Origin, created
from handlers.languages import Say
from routing.types import OutboundMessage

TOO_LATE_FOR_ONE = (
    "📭 Your answer is private and came too late to be shown here, and I can't "
    "send you direct messages. Please ask again."
)


@dataclass(slots=True)
class Target:
    """`asked` is when the question was asked, in Unix seconds, 0 if unknown. `alone`: for whom the rest is, whose
    interaction takes no answer any more; `shut`: they take no direct messages."""

    channel_id: str
    parent_id: str
    origin: Origin | None
    edits: str
    reply_to: str
    asked: float
    alone: Origin | None = None
    shut: bool = False

    @staticmethod
    def of(message: OutboundMessage) -> Target:
        """Origins travel where ids of messages do."""
        chat, pressed = message.chat, Origin.unpack(message.edits)
        origin = pressed or Origin.unpack(message.reply_to)
        if origin is not None and message.apart:
            origin = origin.beside()
        reply_to = message.reply_to if message.reply_to.isdigit() else ""
        asked = origin.interaction_id if origin else int(reply_to or 0)
        reply_to = reply_to if reply_to != chat.topic else ""  # a thread stands below what it began with
        edits = "" if pressed else message.edits
        where = chat.topic or chat.chat_id
        return Target(where, chat.chat_id, origin, edits, reply_to, created(asked) if asked else 0.0)

    @property
    def room(self) -> str:
        """The channel for a message; `@` and the id of a person is their private one."""
        return self.channel_id if self.alone is None or self.shut else f"@{self.alone.user_id}"

    def leave_origin(self) -> None:
        """It takes no answer any more: what everybody may see goes to the channel, the rest to its person."""
        if self.origin is not None and self.origin.ephemeral:
            self.alone, self.edits = self.origin, ""
        self.origin = None

    def leave_room(self) -> bool:
        """Go on in the parent of a channel that is gone; False where there is none."""
        if self.room != self.channel_id or self.channel_id == self.parent_id:
            return False
        self.channel_id = self.parent_id
        return True

    def leave_person(self) -> str:
        """They cannot be written to: what the channel may read of it, empty where that is settled."""
        if self.alone is None or self.shut:
            return ""
        self.shut = True
        return f"<@{self.alone.user_id}> {Say(self.alone.language)(TOO_LATE_FOR_ONE)}"
