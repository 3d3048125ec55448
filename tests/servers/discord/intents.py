"""Gateway intents: what a session subscribed to and may read (gateway documentation, "List of Intents")."""

from tests.servers.discord.message import Message

GUILDS, MEMBERS, PRESENCES = 1 << 0, 1 << 1, 1 << 8
GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING = 1 << 9, 1 << 10, 1 << 11
DIRECT_MESSAGES, DIRECT_REACTIONS, DIRECT_TYPING = 1 << 12, 1 << 13, 1 << 14
MESSAGE_CONTENT = 1 << 15
KNOWN = (1 << 17) - 1 | 0b11 << 20 | 0b11 << 24
"""Every bit that the documentation names; any other closes with 4013."""

PRIVILEGED = {"members": MEMBERS, "presences": PRESENCES, "message_content": MESSAGE_CONTENT}
APPLICATION_FLAGS = {"members": 1 << 15, "presences": 1 << 13, "message_content": 1 << 19}
"""The flags of an application below a hundred guilds that was granted the intent ("limited")."""


def disallowed(intents: int, granted: set[str]) -> list[str]:
    """The privileged intents that were requested but not granted."""
    return [name for name, bit in PRIVILEGED.items() if intents & bit and name not in granted]


def is_readable(message: Message, bot_id: int, has_content: bool) -> bool:
    """Whether the bot gets the text: with the intent, in its DMs, in its own messages, and where it is mentioned."""
    if has_content or message.channel.is_dm or message.author.id == bot_id:
        return True
    return bot_id in message.versions[-1].pings.users
