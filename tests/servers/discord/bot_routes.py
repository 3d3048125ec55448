"""The bot's user, guilds, the gateway's address, DMs and threads."""

from tests.servers.discord import intents
from tests.servers.discord.call import Call, Created, Handler
from tests.servers.discord.errors import ApiError, missing_access, missing_permissions, unknown
from tests.servers.discord.message import Message
from tests.servers.discord.values import PRIVATE_THREAD, PUBLIC_THREAD, Channel, Json
from tests.servers.discord.views import channel_json, guild_json, member_json
from tests.servers.discord.world import World

IDENTIFIES = 1000
"""Sessions that a bot may start per day."""


def me(world: World, call: Call) -> Json:
    return world.bot.json() | {"mfa_enabled": True, "locale": "en-US", "verified": True, "email": None, "bio": ""}


def user(world: World, call: Call) -> Json:
    found = world.users.get(call.id("user_id"))
    if found is None:
        raise unknown(10013, "User")
    return found.json()


def application(world: World, call: Call) -> Json:
    flags = sum(intents.APPLICATION_FLAGS[name] for name in world.privileged)
    nothing = ("icon", "type", "interactions_endpoint_url", "role_connections_verification_url", "team")
    body: Json = dict.fromkeys(nothing) | {"id": str(world.application_id), "name": world.bot.name, "description": ""}
    body |= {"bot": world.bot.json(), "bot_public": True, "bot_require_code_grant": False, "verify_key": "0" * 64}
    body |= {"flags": flags, "flags_new": str(flags), "redirect_uris": [], "owner": world.owner.json()}
    body |= {"integration_types_config": {"0": {}, "1": {}}, "summary": "", "hook": True}
    counted = len([guild for guild in world.guilds.values() if guild.has_bot])
    body |= {"approximate_guild_count": counted, "approximate_user_install_count": 0}
    body |= {"approximate_user_authorization_count": 0, "explicit_content_filter": 0}
    return body | {"eligible_oauth2_scopes": ["bot", "applications.commands"]}


def change_application(world: World, call: Call) -> None:
    """The owner's settings in the developer portal can't be changed by the program."""
    world.violate(call.route, "a bot leaves its application as the owner set it", call.body)
    raise ApiError(403, 50001, "Missing Access")


def gateway(world: World, call: Call) -> Json:
    return {"url": world.address.replace("http", "ws", 1)}


def gateway_bot(world: World, call: Call) -> Json:
    left = IDENTIFIES - len(world.events.sessions)
    limit = {"total": IDENTIFIES, "remaining": left, "reset_after": 86_400_000, "max_concurrency": 1}
    return gateway(world, call) | {"shards": world.shards, "session_start_limit": limit}


def guild(world: World, call: Call) -> Json:
    return guild_json(world, world.known_guild(call.id("guild_id")))


def guild_channels(world: World, call: Call) -> list[Json]:
    channels = world.known_guild(call.id("guild_id")).channels.values()
    return [channel_json(world, channel) for channel in channels if not channel.is_thread and not channel.deleted]


def active_threads(world: World, call: Call) -> Json:
    channels = world.known_guild(call.id("guild_id")).channels.values()
    threads = [channel for channel in channels if channel.is_thread and not channel.archived and not channel.deleted]
    return {"threads": [channel_json(world, thread) for thread in threads], "members": [], "has_more": False}


def my_guilds(world: World, call: Call) -> list[Json]:
    return [
        {"id": str(guild.id), "name": guild.name, "icon": None, "banner": None, "owner": False}
        | {"permissions": "0", "features": []}
        for guild in world.guilds.values()
        if guild.has_bot
    ]


def leave_guild(world: World, call: Call) -> None:
    left = world.known_guild(call.id("guild_id"))
    left.has_bot = False
    world.events.guild_left(left)
    world.changed()


def member(world: World, call: Call) -> Json:
    where = world.known_guild(call.id("guild_id"))
    found = world.bot if call.id("user_id") == world.bot.id else where.members.get(call.id("user_id"))
    if found is None:
        raise unknown(10007, "Member")
    return member_json(world, where, found)


def members(world: World, call: Call) -> list[Json]:
    """Needs the members intent in the portal, as on the gateway."""
    where = world.known_guild(call.id("guild_id"))
    if "members" not in world.privileged:
        raise missing_access()
    after, limit = call.number("after", 0), call.number("limit", 1)
    known = sorted([world.bot, *where.members.values()], key=lambda user: user.id)
    return [member_json(world, where, one) for one in known if one.id > after][:limit]


def roles(world: World, call: Call) -> list[Json]:
    listed: list[Json] = guild_json(world, world.known_guild(call.id("guild_id")))["roles"]
    return listed


def channel(world: World, call: Call) -> Json:
    return channel_json(world, world.known_channel(call.id("channel_id")))


def open_dm(world: World, call: Call) -> Json:
    recipient = world.users.get(int(call.fields.get("recipient_id") or 0))
    if recipient is None:
        raise unknown(10013, "User")
    if recipient.is_bot:
        raise ApiError(400, 50007, "Cannot send messages to this user")
    return channel_json(world, world.dm_with(recipient))


def thread_from_message(world: World, call: Call) -> Created:
    """The thread's id is the message's id."""
    parent = world.open_channel(call.id("channel_id"), "create_public_threads")
    starter = world.known_message(parent, call.id("message_id"))
    if starter.thread is not None:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    return Created(channel_json(world, _thread(world, parent, call.fields["name"], PUBLIC_THREAD, starter)))


def thread(world: World, call: Call) -> Created:
    """Without a type it is private (Start Thread without Message)."""
    kind = call.fields.get("type") or PRIVATE_THREAD
    needed = "create_private_threads" if kind == PRIVATE_THREAD else "create_public_threads"
    parent = world.open_channel(call.id("channel_id"), needed)
    return Created(channel_json(world, _thread(world, parent, call.fields["name"], kind, None)))


def _thread(world: World, parent: Channel, name: str, kind: int, starter: Message | None) -> Channel:
    if parent.guild is None or parent.is_thread:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    return world.open_thread(parent, name, world.bot, kind, starter)


def change_thread(world: World, call: Call) -> Json:
    """Archives or renames a thread; other channels belong to the owner."""
    found = world.known_channel(call.id("channel_id"))
    if not found.is_thread or (found.lacks("manage_threads") and found.owner != world.bot):
        raise missing_permissions()
    found.name = call.fields.get("name") or found.name
    found.archived = bool(call.fields.get("archived", found.archived))
    world.events.thread("THREAD_UPDATE", found)
    world.changed()
    return channel_json(world, found)


def join_thread(world: World, call: Call) -> None:
    if not world.known_channel(call.id("channel_id")).is_thread:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")


ASKING: dict[str, Handler] = {
    "GET /users/@me": me,
    "GET /users/{user_id}": user,
    "GET /applications/@me": application,
    "GET /oauth2/applications/@me": application,
    "PATCH /applications/@me": change_application,
    "GET /gateway": gateway,
    "GET /gateway/bot": gateway_bot,
    "GET /users/@me/guilds": my_guilds,
    "DELETE /users/@me/guilds/{guild_id}": leave_guild,
    "GET /guilds/{guild_id}": guild,
    "GET /guilds/{guild_id}/channels": guild_channels,
    "GET /guilds/{guild_id}/threads/active": active_threads,
    "GET /guilds/{guild_id}/members": members,
    "GET /guilds/{guild_id}/members/{user_id}": member,
    "GET /guilds/{guild_id}/roles": roles,
    "GET /channels/{channel_id}": channel,
    "PATCH /channels/{channel_id}": change_thread,
    "POST /users/@me/channels": open_dm,
    "POST /channels/{channel_id}/threads": thread,
    "POST /channels/{channel_id}/messages/{message_id}/threads": thread_from_message,
    "PUT /channels/{channel_id}/thread-members/@me": join_thread,
}
