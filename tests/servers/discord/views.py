"""Channels, guilds and messages as JSON, in the shapes of API v10."""

from typing import TYPE_CHECKING

from tests.servers.discord.message import Message
from tests.servers.discord.permissions import ALL, bits
from tests.servers.discord.values import DM, EPHEMERAL, GROUP_DM, Channel, Guild, Json, User, moment

if TYPE_CHECKING:
    from tests.servers.discord.journal import Interaction
    from tests.servers.discord.world import World


_NOTHING = (
    *("icon", "banner", "splash", "discovery_splash", "home_header", "description", "system_channel_id"),
    *("afk_channel_id", "public_updates_channel_id", "rules_channel_id", "safety_alerts_channel_id"),
    *("vanity_url_code", "application_id", "widget_channel_id", "incidents_data", "max_presences"),
)
_ZERO = (
    *("system_channel_flags", "default_message_notifications", "explicit_content_filter", "mfa_level"),
    *("verification_level", "nsfw_level", "premium_tier", "premium_subscription_count"),
)
"""Fields of a guild."""


def member_json(world: "World", guild: Guild, user: User, *, deep: bool = True) -> Json:
    """`deep`: includes the user, as everywhere except in messages."""
    body: Json = {"avatar": None, "banner": None, "communication_disabled_until": None, "flags": 0, "nick": None}
    body |= {"joined_at": moment(world.now()), "pending": False, "premium_since": None, "mute": False, "deaf": False}
    body["roles"] = []
    return body | ({"user": user.json()} if deep else {})


def channel_json(world: "World", channel: Channel) -> Json:
    last = str(channel.messages[-1].id) if channel.messages else None
    body: Json = {"id": str(channel.id), "type": channel.kind, "last_message_id": last, "flags": 0}
    if channel.guild is None:
        body["recipients"] = [user.json() for user in channel.recipients]
        if channel.kind == GROUP_DM:
            body |= {"name": channel.name, "icon": None, "owner_id": str(channel.recipients[0].id)}
        return body
    body |= {"guild_id": str(channel.guild.id), "name": channel.name, "rate_limit_per_user": 0}
    if channel.is_thread:
        return body | _thread_fields(world, channel)
    body |= {"parent_id": None, "position": 0, "topic": None, "nsfw": False, "last_pin_timestamp": None}
    denied = {"id": str(world.bot.id), "type": 1, "allow": "0", "deny": str(bits(channel.forbidden))}
    return body | {"permission_overwrites": [denied] if channel.forbidden else []}


def _thread_fields(world: "World", thread: Channel) -> Json:
    assert thread.parent is not None
    assert thread.owner is not None
    at = moment(thread.created)
    metadata = {"archived": thread.archived, "archive_timestamp": at, "auto_archive_duration": 1440, "locked": False}
    body: Json = {"parent_id": str(thread.parent.id), "owner_id": str(thread.owner.id)}
    body["thread_metadata"] = metadata | {"create_timestamp": at}
    body |= {"message_count": len(thread.messages), "total_message_sent": len(thread.messages), "member_count": 1}
    return body


def role_json(role_id: int, name: str, permissions: int) -> Json:
    body: Json = {"id": str(role_id), "name": name, "permissions": str(permissions), "color": 0, "hoist": False}
    body |= {"colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None}, "description": None}
    body |= {"icon": None, "unicode_emoji": None, "position": 0, "managed": False, "mentionable": True}
    return body | {"flags": 0, "tags": {}}


def guild_json(world: "World", guild: Guild) -> Json:
    """The response of GET /guilds/{guild_id}."""
    body: Json = dict.fromkeys(_NOTHING) | dict.fromkeys(_ZERO, 0)
    body |= {"id": str(guild.id), "name": guild.name, "owner_id": str(guild.owner.id), "region": "deprecated"}
    body |= {"afk_timeout": 300, "widget_enabled": False, "nsfw": False, "premium_progress_bar_enabled": False}
    body |= {"preferred_locale": "en-US", "features": [], "emojis": [], "stickers": [], "max_members": 500_000}
    body |= {"max_video_channel_users": 25, "max_stage_video_channel_users": 50}
    roles = [role_json(role.id, role.name, 0) for role in guild.roles.values()]
    return body | {"roles": [role_json(guild.id, "@everyone", ALL), *roles]}


def guild_create(world: "World", guild: Guild, *, members: bool) -> Json:
    """The same with the gateway's own fields; without the members intent, the bot is the only member."""
    everybody = [world.bot, *guild.members.values()] if members else [world.bot]
    open_channels = [channel for channel in guild.channels.values() if not channel.deleted]
    body = guild_json(world, guild)
    body["channels"] = [channel_json(world, channel) for channel in open_channels if not channel.is_thread]
    threads = [channel for channel in open_channels if channel.is_thread and not channel.archived]
    body["threads"] = [channel_json(world, thread) for thread in threads if world.sees(thread)]
    body["members"] = [member_json(world, guild, user) for user in everybody]
    body |= {"member_count": len(guild.members) + 1, "joined_at": moment(world.now()), "large": False}
    body |= {"unavailable": False, "voice_states": [], "presences": [], "stage_instances": []}
    return body | {"guild_scheduled_events": [], "soundboard_sounds": []}


def message_json(world: "World", message: Message, *, readable: bool = True, deep: bool = True) -> Json:
    """`readable`: False for a bot without the message-content intent."""
    version = message.versions[-1]
    body: Json = {"id": str(message.id), "channel_id": str(message.channel.id), "author": message.author.json()}
    body |= {"type": message.kind, "timestamp": moment(message.at), "tts": False, "pinned": False}
    body |= {"edited_timestamp": None if message.edited is None else moment(message.edited), "flags": message.flags}
    body |= {"content": version.text, "embeds": version.embeds, "components": version.components}
    body["attachments"] = [attachment.json() for attachment in version.attachments]
    if not readable:
        body |= {"content": "", "embeds": [], "components": [], "attachments": []}
    known = (world.users.get(user_id) for user_id in sorted(version.pings.users))
    body["mentions"] = [user.json() for user in known if user is not None]
    body |= {"mention_roles": [str(role_id) for role_id in sorted(version.pings.roles)]}
    body["mention_everyone"] = version.pings.everyone
    if message.nonce is not None:
        body["nonce"] = message.nonce
    if message.reactions:
        body["reactions"] = [_reaction(world, emoji, who) for emoji, who in message.reactions.items()]
    if message.thread is not None:
        body["thread"] = channel_json(world, message.thread)
    if message.interaction is not None:
        body |= _origin(world, message.interaction)
    return body | (_reference(world, message, message.reply_to, readable, deep) if message.reply_to else {})


def _reaction(world: "World", emoji: str, who: set[int]) -> Json:
    counts = {"burst": 0, "normal": len(who)}
    shown = {"emoji": {"id": None, "name": emoji}, "count": len(who), "count_details": counts, "burst_colors": []}
    return shown | {"me": world.bot.id in who, "me_burst": False}


def _reference(world: "World", message: Message, answered: Message, readable: bool, deep: bool) -> Json:
    reference: Json = {"type": 0, "channel_id": str(answered.channel.id), "message_id": str(answered.id)}
    if answered.channel.guild is not None:
        reference["guild_id"] = str(answered.channel.guild.id)
    body: Json = {"message_reference": reference}
    if deep:
        shown = readable or answered.author.id == world.bot.id
        whole = message_json(world, answered, readable=shown, deep=False)
        body["referenced_message"] = None if answered.deleted else whole
    return body


def _origin(world: "World", asked: "Interaction") -> Json:
    """The part of an answer that refers to its interaction."""
    metadata: Json = {"id": str(asked.id), "type": asked.kind, "user": asked.user.json()}
    metadata["authorizing_integration_owners"] = asked.event["authorizing_integration_owners"]
    if asked.kind == 3 and asked.source is not None:
        metadata["interacted_message_id"] = str(asked.source.id)
    if asked.kind == 5:
        metadata["triggering_interaction_metadata"] = {**metadata, "type": 2}
    home = str(world.application_id)
    return {"webhook_id": home, "application_id": home, "interaction_metadata": metadata}


def message_event(world: "World", message: Message, *, readable: bool) -> Json:
    """A message with the fields that only the gateway adds."""
    channel = message.channel
    body = message_json(world, message, readable=readable) | {"channel_type": channel.kind}
    if channel.guild is not None:
        body["guild_id"] = str(channel.guild.id)
        body["member"] = member_json(world, channel.guild, message.author, deep=False)
        for mentioned in body["mentions"]:
            user = world.users[int(mentioned["id"])]
            mentioned["member"] = member_json(world, channel.guild, user, deep=False)
    return body


def is_hidden(message: Message) -> bool:
    """Ephemeral messages and private conversations never come as events."""
    return bool(message.flags & EPHEMERAL) or (message.channel.kind in (DM, GROUP_DM) and not message.channel.has_bot)
