"""A loopback Discord: `async with DiscordServer() as dc:` serves REST at `dc.root` and a gateway at `dc.gateway`.

`with pointed(dc):` (sdk.py) points discord.py at both. Ids are ints everywhere here, snowflakes on the wire.

DiscordServer(token, port=0, *, username="tierbot", privileged=("message_content",), limits=False, clock=time.time,
              response_limit=60.0, heartbeat_interval=41.25, identify_gap=0.0)
    privileged      which of "members", "presences", "message_content" the application has; others close with 4014
    limits          five sends and edits in five seconds a channel, then 429
    clock           Unix seconds; `dc.advance(seconds)` moves the server's time on (tokens, nonces, interactions age)
    identify_gap    seconds that two IDENTIFYs must be apart, 5 at Discord; one too early is answered with op 9
    response_limit  seconds until an unanswered interaction is unknown (10062); Discord waits 3, a busy machine longer

The world; people, guilds and channels are created when they are first named
    dc.user(who=None, *, locale="en-US", is_bot=False) -> User       by value, id or name; default Alice (1001)
    dc.dm(who=None) -> Channel                      the bot's DM with a user
    dc.guild(name="Team") -> Guild                  the bot is a member; it has the text channel "general"
    dc.channel(name="general", guild="Team") -> Channel
    dc.thread(name, parent=None | Channel | Message, user=None) -> Channel
    dc.private_channel(*users) -> Channel           people without the bot: it sees interactions only
    dc.role(name, guild="Team") -> Role
    dc.forbid(channel, *permissions)                "send_messages", "view_channel" …: 50013, 50001 for the bot
    dc.allow(channel, *permissions)
    dc.kick(guild), dc.join(guild)                  the bot is removed, is added (again)
    dc.enter(guild, who), dc.leave(guild, who)      a person joins, leaves
    dc.delete_general(), dc.shards = 2              what GET /gateway/bot recommends
    dc.close_dms(who), dc.archive(thread), dc.revoke(), dc.restore() (the token), dc.grant(*privileged)

People act
    dc.say(text, user=None, channel=None, guild=None, thread=None, mention=False, reply_to=None, attachments=())
        -> Message      channel: a value, an id, a name in the guild; none of them: the user's DM.
                        attachments: (name, bytes) or (name, bytes, media type)
    dc.edit(message, text), dc.delete(message), dc.react(message, emoji, user=None), dc.unreact(…)
    dc.system(kind, user=None, channel="general")   6 pinned, 7 joined, 18 thread opened
    dc.slash("model set", {"tier": "coding"}, user=None, where=None, installed="guild" | "user") -> Interaction
    dc.suggest("model set", {"model": "gp"}, focused="model") -> Interaction
    await dc.autocomplete("model set", {"model": "gp"}, focused="model", user=None, where=None) -> [{name, value}]
    dc.press(message, "label or custom_id", user=None) -> Interaction
    dc.choose(message, "custom_id or placeholder", ["value or label"], user=None) -> Interaction
    dc.submit(interaction, {"custom_id": "text"}) -> Interaction     the modal which the bot opened
    dc.redeliver(message | interaction)             the same event once more

What the bot did
    dc.channels[id].messages, channel.from_bot() -> [Message]
        message.text, .versions (text, embeds, components, at), .flags, .ephemeral, .loading, .components, .buttons,
        .selects, .embeds, .attachments, .pings (users, roles, everyone), .reactions, .nonce, .reply_to, .deleted,
        .interaction, .at
    dc.typing                                       [Typing(channel, at)]
    dc.commands, dc.guild_commands[guild.id]        what is registered, as the bot gets it back
    dc.interactions                                 each with .response (type, data), .deferred, .ephemeral,
                                                    .acknowledged_after (seconds), .message, .followups, .choices,
                                                    .modal
    dc.requests, dc.calls("POST", "/channels/{channel_id}/messages"), dc.refusals, dc.violations
    dc.sessions                                     each with .identify, .intents, .shard, .resumes, .heartbeats
    dc.transcript()

Waiting
    await dc.wait_for(condition(dc), timeout=60)    the first true value
    await dc.ready(timeout)                         a session has identified (or resumed) and is connected
    await dc.reply(to=None, *, after=None, count=1, matching=None, timeout=60) -> Message
                                                    `to`: message, channel, user or interaction; default Alice's DM
    await dc.answered(interaction, timeout) -> Interaction           its first response has come

Failures
    dc.heartbeat_interval = 0.1                     seconds, for connections from now on
    dc.fault("POST /channels/*/messages", kind, times=1, retry_after=1.0, seconds=60.0, skip=0, when=None) -> Fault
                                                    kinds: see `Fault`; "*" is any call; .hits, .clear()
    dc.clear_faults()
    dc.gateway_silent(events=False)                 the current connections look open but are dead: no heartbeat is
                                                    acknowledged and, unless `events`, nothing comes any more
    dc.close_gateway(code=4000), dc.cut_gateway(), dc.ask_reconnect(), dc.invalidate(resumable=False)
    await dc.go_down(), await dc.come_back(), async with dc.outage()
"""

from tests.servers.discord.errors import ApiError
from tests.servers.discord.faults import Fault
from tests.servers.discord.journal import Interaction, Request, Response, Typing, Violation
from tests.servers.discord.message import Message, Pings, Version
from tests.servers.discord.server import DiscordServer
from tests.servers.discord.session import Session
from tests.servers.discord.values import Attachment, Channel, Guild, Role, User

__all__ = [
    "ApiError",
    "Attachment",
    "Channel",
    "DiscordServer",
    "Fault",
    "Guild",
    "Interaction",
    "Message",
    "Pings",
    "Request",
    "Response",
    "Role",
    "Session",
    "Typing",
    "User",
    "Version",
    "Violation",
]
