"""Answers to interactions: the first one, the original message afterwards, and further messages."""

from tests.servers.discord.call import Call, Handler
from tests.servers.discord.errors import ApiError, Breach, invalid, unknown
from tests.servers.discord.journal import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Interaction, Response
from tests.servers.discord.message import Message, Version
from tests.servers.discord.message_routes import change, written
from tests.servers.discord.rules import SENDABLE_FLAGS, check_message
from tests.servers.discord.values import EPHEMERAL, LOADING, Json
from tests.servers.discord.views import message_json
from tests.servers.discord.world import World

TOKEN_LIFE = 900.0
"""Lifetime of a token in seconds (documentation, "Receiving and Responding")."""
MAX_FOLLOWUPS = 5
"""Maximum number of follow-ups if the application is installed only for the user, not on the server."""
MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES, OPEN_MODAL = 4, 5, 6, 7, 8, 9
FITTING = {
    COMMAND: {MESSAGE, DEFERRED, OPEN_MODAL},
    COMPONENT: {MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE, OPEN_MODAL},
    AUTOCOMPLETE: {CHOICES},
    MODAL: {MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE},
}
_FLAGS = SENDABLE_FLAGS | EPHEMERAL


def respond(world: World, call: Call) -> Json | None:
    """The first answer; it must come within `response_limit` seconds."""
    asked = next((one for one in world.interactions if one.id == call.id("interaction_id")), None)
    if asked is None or asked.token != call.path["interaction_token"]:
        raise unknown(10062, "interaction")
    if asked.response is not None:
        raise ApiError(400, 40060, "Interaction has already been acknowledged.")
    if world.now() - asked.created > world.response_limit:
        raise unknown(10062, "interaction")
    kind, data = call.fields["type"], call.fields.get("data") or {}
    if kind not in FITTING[asked.kind] or (kind in (DEFERRED_UPDATE, UPDATE) and asked.source is None):
        raise invalid("type", "INTERACTION_APPLICATION_COMMAND_CALLBACK_TYPE", f"{kind} does not answer this")
    _carry_out(world, asked, call, kind, data)
    asked.response = Response(kind, data, world.now())
    world.changed()
    return _callback_resource(world, asked) if call.query.get("with_response", "").lower() in ("true", "1") else None


def _carry_out(world: World, asked: Interaction, call: Call, kind: int, data: Json) -> None:
    if kind == MESSAGE:
        check_message(data, call.files, flags=_FLAGS)
        asked.message = _spoken(world, asked, written(world, asked.channel, call, data), data.get("flags") or 0)
    elif kind == DEFERRED:
        check_message(data, call.files, flags=_FLAGS)
        hidden = (data.get("flags") or 0) & EPHEMERAL
        asked.message = _spoken(world, asked, world.version(""), hidden | LOADING)
    elif kind == DEFERRED_UPDATE:
        asked.message = asked.source
    elif kind == UPDATE and asked.source is not None:
        asked.message = change(world, asked.source, call, data)
    elif kind == CHOICES:
        _check_choices(asked, data.get("choices") or [])


def _check_choices(asked: Interaction, choices: list[Json]) -> None:
    wanted: dict[int, type | tuple[type, ...]] = {3: str, 4: int, 10: (int, float)}
    for number, choice in enumerate(choices):
        if not isinstance(choice["value"], wanted[asked.focused_type]):
            raise invalid(f"data.choices.{number}.value", "CHOICE_TYPE", "the value is not of the option's type")


def _spoken(world: World, asked: Interaction, version: Version, flags: int) -> Message:
    """A message of the bot in the interaction's channel; the bot need not be a member there."""
    kind = 20 if asked.kind == COMMAND and asked.message is None else 0
    message = world.add_message(asked.channel, world.bot, version, kind=kind, flags=flags, interaction=asked)
    world.events.message("MESSAGE_CREATE", message)
    return message


def _callback_resource(world: World, asked: Interaction) -> Json:
    assert asked.response is not None
    interaction: Json = {"id": str(asked.id), "type": asked.kind}
    if asked.message is not None and asked.response.type in (MESSAGE, DEFERRED, UPDATE):
        interaction |= {"response_message_id": str(asked.message.id), "response_message_loading": asked.message.loading}
        interaction["response_message_ephemeral"] = asked.message.ephemeral
    if asked.message is None or asked.response.type not in (MESSAGE, UPDATE):
        return {"interaction": interaction}
    resource = {"type": asked.response.type, "message": message_json(world, asked.message)}
    return {"interaction": interaction, "resource": resource}


# --- afterwards, by the token -------------------------------------------------------------------------------------


def read(world: World, call: Call) -> Json:
    return message_json(world, _message(world, call))


def edit(world: World, call: Call) -> Json:
    message = _message(world, call)
    if not message.loading:
        return message_json(world, change(world, message, call, call.fields))
    check_message(call.fields, call.files)
    return message_json(world, _fill(world, message, written(world, message.channel, call, call.fields)))


def delete(world: World, call: Call) -> None:
    message = _message(world, call)
    message.deleted = True
    world.events.message_deleted(message)
    world.changed()


def follow_up(world: World, call: Call) -> Json:
    """A follow-up; the first one after a deferral fills the deferred message and has its visibility."""
    asked = _asked(world, call)
    check_message(call.fields, call.files, flags=_FLAGS)
    version = written(world, asked.channel, call, call.fields)
    if asked.message is not None and asked.message.loading and not asked.message.deleted:
        return message_json(world, _fill(world, asked.message, version))
    if asked.is_users_only and len(asked.followups) >= MAX_FOLLOWUPS:
        raise ApiError(400, 40094, "This interaction has reached the maximum number of follow-up messages")
    message = _spoken(world, asked, version, call.fields.get("flags") or 0)
    asked.followups.append(message)
    world.changed()
    return message_json(world, message)


def _fill(world: World, message: Message, version: Version) -> Message:
    message.versions[:] = [version]
    message.flags &= ~LOADING
    world.events.message("MESSAGE_UPDATE", message)
    world.changed()
    return message


def _asked(world: World, call: Call) -> Interaction:
    """The interaction of this token; refused if it is unknown, expired, or not answered yet."""
    if call.id("webhook_id") != world.application_id:
        raise unknown(10015, "Webhook")
    asked = next((one for one in world.interactions if one.token == call.path["webhook_token"]), None)
    if asked is None or world.now() - asked.created > TOKEN_LIFE:
        raise ApiError(401, 50027, "Invalid Webhook Token")
    if asked.response is None or asked.response.type == CHOICES:
        raise unknown(10015, "Webhook")
    return asked


def _message(world: World, call: Call) -> Message:
    asked = _asked(world, call)
    found = asked.message
    if "message_id" in call.path:
        if not call.path["message_id"].isdigit():
            raise Breach("message_id is no id")
        known = [*asked.followups, *([asked.message] if asked.message else [])]
        found = next((message for message in known if message.id == call.id("message_id")), None)
    if found is None or found.deleted:
        raise unknown(10008, "Message")
    return found


_HOOK = "/webhooks/{webhook_id}/{webhook_token}"
INTERACTING: dict[str, Handler] = {
    "POST /interactions/{interaction_id}/{interaction_token}/callback": respond,
    f"POST {_HOOK}": follow_up,
}
for _path in (f"{_HOOK}/messages/@original", f"{_HOOK}/messages/{{message_id}}"):
    INTERACTING |= {f"GET {_path}": read, f"PATCH {_path}": edit, f"DELETE {_path}": delete}
