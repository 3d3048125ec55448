"""Users, guilds and channels by any name that a test uses, and events about them."""

from collections.abc import Callable

from tests.servers.discord.intents import PRIVILEGED
from tests.servers.discord.message import Message
from tests.servers.discord.permissions import bits
from tests.servers.discord.values import DM, GROUP_DM, PUBLIC_THREAD, TEXT, Channel, Guild, Role, User
from tests.servers.discord.world import ALICE, World

Who = User | int | str | None
Home = Guild | int | str
Where = Channel | Message | User | int | str | None


class People(World):
    """People, guilds and channels are created when they are first named: `user="bob"`, `user=42`, `guild="Team"` just
    work."""

    def __init__(self, bot: User, clock: Callable[[], float], privileged: set[str]) -> None:
        super().__init__(bot, clock, privileged)
        self.users[ALICE.id] = ALICE

    def user(self, who: Who = None, *, locale: str = "en-US", is_bot: bool = False) -> User:
        """A user by value, id or name; by default Alice (id 1001). `is_bot`: another bot."""
        match who:
            case None:
                return ALICE
            case User():
                found = who
            case int():
                found = self.users.get(who) or User(who, f"User{who}", is_bot, locale)
            case str():
                named = (user for user in self.users.values() if user.name.lower() == who.lower())
                found = next(named, None) or User(2000 + self.serial(), who.capitalize(), is_bot, locale)
        return self.users.setdefault(found.id, found)

    def dm(self, who: Who = None) -> Channel:
        """The bot's DM with a user."""
        return self.dm_with(self.user(who))

    def guild(self, which: Home = "Team", *, has_bot: bool = True) -> Guild:
        """A guild by value, id or name, with the channel "general" and, by default, the bot."""
        if isinstance(which, Guild):
            return which
        for known in self.guilds.values():
            if which in (known.id, known.name):
                return known
        new_id, name = (which, f"Guild {which}") if isinstance(which, int) else (self.snowflake(), which)
        made = self.guilds[new_id] = Guild(new_id, name, ALICE, has_bot, {ALICE.id: ALICE})
        general = Channel(self.snowflake(), TEXT, "general", guild=made)
        self.add_channel(general)
        if has_bot:
            self.events.guild_joined(made)
        return made

    def channel(self, which: Channel | int | str = "general", guild: Home = "Team") -> Channel:
        """A text channel by value, id or name in the guild."""
        if isinstance(which, Channel):
            return which
        if isinstance(which, int):
            return self.channels[which]
        home = self.guild(guild)
        for known in home.channels.values():
            if known.name == which and not known.is_thread and not known.deleted:
                return known
        made = self.add_channel(Channel(self.snowflake(), TEXT, which, guild=home))
        self.events.channel("CHANNEL_CREATE", made)
        return made

    def thread(self, name: str, parent: Channel | Message | str = "general", *, user: Who = None) -> Channel:
        """A thread by name in a channel, or on a message; opened by the user if it doesn't exist."""
        starter = parent if isinstance(parent, Message) else None
        home = parent.channel if isinstance(parent, Message) else self.channel(parent)
        for known in self.channels.values():
            if known.parent is home and known.name == name and not known.deleted:
                return known
        return self.open_thread(home, name, self.user(user), PUBLIC_THREAD, starter)

    def private_channel(self, *people: Who) -> Channel:
        """A private chat of two or more people without the bot, which sees only interactions."""
        members = [self.user(who) for who in people or (None, "bob")]
        kind = DM if len(members) == 2 else GROUP_DM
        for known in self.channels.values():
            if known.kind == kind and not known.has_bot and known.recipients == members:
                return known
        return self.add_channel(Channel(self.snowflake(), kind, recipients=members, has_bot=False))

    def role(self, name: str, guild: Home = "Team") -> Role:
        home = self.guild(guild)
        named = (role for role in home.roles.values() if role.name == name)
        made = next(named, None) or Role(self.snowflake(), name)
        return home.roles.setdefault(made.id, made)

    def place(self, where: Where, who: User) -> Channel:
        """The channel meant by a value, a message in it, a user (their DM), an id or a name in Team; None: the
        user's own DM."""
        match where:
            case None:
                return self.dm(who)
            case User():
                return self.dm(where)
            case Message():
                return where.channel
        return self.channel(where)

    # --- what happens to them ---------------------------------------------------------------------------------

    def forbid(self, where: Channel | str, *permissions: str) -> None:
        """The bot loses permissions in a channel, such as "send_messages" or "view_channel"."""
        bits(permissions)
        channel = self.channel(where)
        channel.forbidden.update(permissions)
        self.events.channel("CHANNEL_UPDATE", channel)

    def allow(self, where: Channel | str, *permissions: str) -> None:
        """The bot gets the permissions back."""
        channel = self.channel(where)
        channel.forbidden.difference_update(permissions)
        self.events.channel("CHANNEL_UPDATE", channel)

    def delete_general(self) -> None:
        """The channel "general" is deleted."""
        channel = self.channel()
        channel.deleted = True
        self.events.channel("CHANNEL_DELETE", channel)
        self.changed()

    def archive(self, thread: Channel) -> None:
        """Archives a thread; a message opens it again, an edit does not."""
        thread.archived = True
        self.events.thread("THREAD_UPDATE", thread)
        self.changed()

    def kick(self, which: Home = "Team") -> Guild:
        """The bot is removed from the guild."""
        guild = self.guild(which)
        guild.has_bot = False
        self.events.guild_left(guild)
        self.changed()
        return guild

    def join(self, which: Home = "Team") -> Guild:
        """The bot is added to the guild (again)."""
        guild = self.guild(which, has_bot=False)
        if not guild.has_bot:
            guild.has_bot = True
            self.events.guild_joined(guild)
        self.changed()
        return guild

    def enter(self, which: Home, who: Who) -> None:
        """A person joins the guild; only sessions with the members intent get the event."""
        guild, user = self.guild(which), self.user(who)
        guild.members[user.id] = user
        self.events.member("GUILD_MEMBER_ADD", guild, user)

    def leave(self, which: Home, who: Who) -> None:
        guild, user = self.guild(which), self.user(who)
        del guild.members[user.id]
        self.events.member("GUILD_MEMBER_REMOVE", guild, user)

    def close_dms(self, who: Who) -> None:
        """The user accepts no messages from the bot: 50007."""
        self.dm(who).closed = True
        self.changed()

    def grant(self, *privileged: str) -> None:
        """The owner enables exactly these privileged intents in the portal."""
        if unknown := set(privileged) - PRIVILEGED.keys():
            raise ValueError(f"no such privileged intents: {unknown}")
        self.privileged.clear()
        self.privileged.update(privileged)
