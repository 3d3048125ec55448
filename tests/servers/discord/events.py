"""Gateway events: each goes to the sessions that subscribed to it, with the fields they may read."""

from typing import TYPE_CHECKING

from tests.servers.discord import intents, views
from tests.servers.discord.message import Message
from tests.servers.discord.session import Session
from tests.servers.discord.values import Channel, Guild, Json, User

if TYPE_CHECKING:
    from tests.servers.discord.world import World


class Events:
    """Disconnected sessions keep their events for a RESUME."""

    def __init__(self, world: "World") -> None:
        self.sessions: list[Session] = []
        self._world = world

    def dispatch(self, event: str, body: Json, guild: Guild | None, intent: int = 0) -> None:
        for session in self.sessions:
            if session.takes(guild, intent):
                session.push(event, body)

    def message(self, event: str, message: Message) -> None:
        """MESSAGE_CREATE or MESSAGE_UPDATE; the text only for those who may read it."""
        if views.is_hidden(message) or not self._world.sees(message.channel):
            return
        guild = message.channel.guild
        intent = intents.DIRECT_MESSAGES if guild is None else intents.GUILD_MESSAGES
        for session in self.sessions:
            if session.takes(guild, intent):
                has_content = bool(session.intents & intents.MESSAGE_CONTENT)
                readable = intents.is_readable(message, self._world.bot.id, has_content)
                session.push(event, views.message_event(self._world, message, readable=readable))

    def message_deleted(self, message: Message) -> None:
        if views.is_hidden(message) or not self._world.sees(message.channel):
            return
        guild = message.channel.guild
        intent = intents.DIRECT_MESSAGES if guild is None else intents.GUILD_MESSAGES
        body = {"id": str(message.id), "channel_id": str(message.channel.id)}
        self.dispatch("MESSAGE_DELETE", body | _home(guild), guild, intent)

    def reaction(self, event: str, message: Message, user: User, emoji: str) -> None:
        """MESSAGE_REACTION_ADD or MESSAGE_REACTION_REMOVE."""
        guild = message.channel.guild
        body: Json = {"user_id": str(user.id), "channel_id": str(message.channel.id), "message_id": str(message.id)}
        body |= {"emoji": {"id": None, "name": emoji}, "burst": False, "type": 0} | _home(guild)
        if event.endswith("ADD"):
            body["message_author_id"] = str(message.author.id)
        if guild is not None and event.endswith("ADD"):
            body["member"] = views.member_json(self._world, guild, user)
        self.dispatch(event, body, guild, intents.DIRECT_REACTIONS if guild is None else intents.GUILD_REACTIONS)

    def thread(self, event: str, thread: Channel) -> None:
        """THREAD_CREATE, THREAD_UPDATE or THREAD_DELETE."""
        if thread.guild is None or not self._world.sees(thread):
            return
        body = views.channel_json(self._world, thread)
        if event == "THREAD_DELETE":
            body = {key: body[key] for key in ("id", "guild_id", "parent_id", "type")}
        elif event == "THREAD_CREATE":
            body["newly_created"] = True
        self.dispatch(event, body, thread.guild, intents.GUILDS)

    def channel(self, event: str, channel: Channel) -> None:
        """CHANNEL_CREATE, CHANNEL_UPDATE or CHANNEL_DELETE of a guild's channel."""
        if channel.guild is not None and channel.guild.has_bot:
            self.dispatch(event, views.channel_json(self._world, channel), channel.guild, intents.GUILDS)

    def guild_joined(self, guild: Guild) -> None:
        """GUILD_CREATE without `unavailable`, which is how a bot tells a new guild from one coming back."""
        for session in self.sessions:
            if session.takes(guild, intents.GUILDS):
                members = bool(session.intents & intents.MEMBERS)
                body = views.guild_create(self._world, guild, members=members)
                del body["unavailable"]
                session.push("GUILD_CREATE", body)

    def guild_left(self, guild: Guild) -> None:
        """GUILD_DELETE without `unavailable`: the bot was removed."""
        self.dispatch("GUILD_DELETE", {"id": str(guild.id)}, guild, intents.GUILDS)

    def member(self, event: str, guild: Guild, user: User) -> None:
        """GUILD_MEMBER_ADD or GUILD_MEMBER_REMOVE."""
        home = {"guild_id": str(guild.id)}
        body = home | views.member_json(self._world, guild, user)
        self.dispatch(event, body if event.endswith("ADD") else home | {"user": user.json()}, guild, intents.MEMBERS)


def _home(guild: Guild | None) -> Json:
    return {} if guild is None else {"guild_id": str(guild.id)}
