"""People's messages, and later changes to them."""

import mimetypes

from tests.servers.discord.message import Message
from tests.servers.discord.people import Home, People, Where, Who
from tests.servers.discord.pings import pings_of
from tests.servers.discord.rules import MAX_FILE, MAX_TEXT
from tests.servers.discord.values import Attachment, Channel, User
from tests.servers.uploads import Upload

mimetypes.init()
File = tuple[str, bytes] | tuple[str, bytes, str]


class Talk(People):
    """Every action is a user's; the bot gets it through the gateway."""

    def say(
        self,
        text: str,
        *,
        user: Who = None,
        channel: Where = None,
        guild: Home | None = None,
        thread: Channel | None = None,
        mention: bool | User = False,
        reply_to: Message | None = None,
        attachments: tuple[File, ...] | list[File] = (),
    ) -> Message:
        """A message typed in the user's DM with the bot; in `channel` (of `guild`, if a name), or in a `thread`.

        `mention` puts the bot's (or that user's) mention before the text; an answer pings whom it answers.
        """
        if len(text) > MAX_TEXT:
            raise ValueError("longer than a message: clients send such a text as message.txt, use attachments")
        sender = self.user(user)
        where = self._where(sender, channel, guild, thread, reply_to)
        if where.guild is not None:
            where.guild.members.setdefault(sender.id, sender)
        if mention:
            text = f"{(mention if isinstance(mention, User) else self.bot).mention} {text}"
        version = self.version(
            text,
            attachments=[self._attached(where, file) for file in attachments],
            pings=pings_of(text, where, None, reply_to),
        )
        message = self.add_message(where, sender, version, reply_to=reply_to)
        self.events.message("MESSAGE_CREATE", message)
        return message

    def system(self, kind: int, *, user: Who = None, channel: Where = "general") -> Message:
        """A message by Discord itself: 6 for a pin, 7 for a join, 18 for a new thread."""
        sender = self.user(user)
        message = self.add_message(self.place(channel, sender), sender, self.version(""), kind=kind)
        self.events.message("MESSAGE_CREATE", message)
        return message

    def edit(self, message: Message, text: str) -> Message:
        """The author edits a message."""
        old = message.versions[-1]
        pings = pings_of(text, message.channel, None, message.reply_to)
        message.versions.append(self.version(text, attachments=old.attachments, pings=pings))
        message.edited = message.versions[-1].at
        self.events.message("MESSAGE_UPDATE", message)
        self.changed()
        return message

    def delete(self, message: Message) -> None:
        message.deleted = True
        self.events.message_deleted(message)
        self.changed()

    def react(self, message: Message, emoji: str, *, user: Who = None) -> None:
        who = self.user(user)
        message.reactions.setdefault(emoji, set()).add(who.id)
        self.events.reaction("MESSAGE_REACTION_ADD", message, who, emoji)
        self.changed()

    def unreact(self, message: Message, emoji: str, *, user: Who = None) -> None:
        who = self.user(user)
        message.reactions[emoji].remove(who.id)
        if not message.reactions[emoji]:
            del message.reactions[emoji]
        self.events.reaction("MESSAGE_REACTION_REMOVE", message, who, emoji)
        self.changed()

    def _where(
        self, sender: User, channel: Where, guild: Home | None, thread: Channel | None, reply_to: Message | None
    ) -> Channel:
        if thread is not None:
            return thread
        if channel is None and guild is None and reply_to is not None:
            return reply_to.channel
        if guild is not None:
            name = channel if isinstance(channel, str | int | Channel) else "general"
            return self.channel(name, guild)
        return self.place(channel, sender)

    def _attached(self, where: Channel, file: File) -> Attachment:
        name, data = file[0], file[1]
        guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if len(data) > MAX_FILE:
            raise ValueError("larger than an upload may be")
        return self.store(where, Upload(name, data, file[2] if len(file) == 3 else guessed))
