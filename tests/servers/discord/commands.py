"""Application commands: registered, listed, changed, removed; globally and for one guild."""

from typing import Any

from tests.servers.discord.call import Call, Created, Handler
from tests.servers.discord.command_rules import check_commands, kind_of
from tests.servers.discord.errors import missing_access, unknown
from tests.servers.discord.values import Json
from tests.servers.discord.world import World

_OPTIONAL = ("name_localizations", "description_localizations", "contexts", "default_member_permissions")


def overwrite(world: World, call: Call) -> list[Json]:
    """A command with an existing name and type keeps its id."""
    wanted = call.body or []
    check_commands(wanted)
    scope = _scope(world, call)
    scope[:] = [_registered(world, call, body, _named(scope, body)) for body in wanted]
    world.changed()
    return [_shown(call, command, localised=True) for command in scope]


def listed(world: World, call: Call) -> list[Json]:
    localised = call.query.get("with_localizations", "").lower() == "true"
    return [_shown(call, command, localised=localised) for command in _scope(world, call)]


def create(world: World, call: Call) -> Any:
    """A command of the same name and type is replaced."""
    scope = _scope(world, call)
    old = _named(scope, call.fields)
    check_commands([command for command in scope if command is not old] + [call.fields])
    made = _registered(world, call, call.fields, old)
    if old is None:
        scope.append(made)
        world.changed()
        return Created(made)
    scope[scope.index(old)] = made
    world.changed()
    return made


def one(world: World, call: Call) -> Json:
    return _known(world, call)


def change(world: World, call: Call) -> Json:
    old, scope = _known(world, call), _scope(world, call)
    wanted = {key: value for key, value in old.items() if key not in ("id", "application_id", "version", "guild_id")}
    wanted |= call.fields
    check_commands([command for command in scope if command is not old] + [wanted])
    made = scope[scope.index(old)] = _registered(world, call, wanted, old)
    world.changed()
    return made


def remove(world: World, call: Call) -> None:
    _scope(world, call).remove(_known(world, call))
    world.changed()


def _scope(world: World, call: Call) -> list[Json]:
    """The commands in the call's scope: global, or of a guild."""
    if call.id("application_id") != world.application_id:
        raise missing_access()
    if "guild_id" not in call.path:
        return world.commands
    guild = world.guilds.get(call.id("guild_id"))
    if guild is None or not guild.has_bot:
        raise missing_access()
    return world.guild_commands.setdefault(guild.id, [])


def _known(world: World, call: Call) -> Json:
    for command in _scope(world, call):
        if command["id"] == call.path["command_id"]:
            return command
    raise unknown(10063, "application command")


def _named(scope: list[Json], body: Json) -> Json | None:
    same = (command for command in scope if (command["name"], command["type"]) == (body["name"], kind_of(body)))
    return next(same, None)


def _registered(world: World, call: Call, body: Json, old: Json | None) -> Json:
    made: Json = {"id": old["id"] if old else str(world.snowflake()), "application_id": str(world.application_id)}
    made |= {"version": str(world.snowflake()), "type": kind_of(body), "name": body["name"]}
    made["description"] = body.get("description") or ""
    made |= {key: body.get(key) for key in _OPTIONAL}
    if made["default_member_permissions"] is not None:
        made["default_member_permissions"] = str(made["default_member_permissions"])
    made["nsfw"] = bool(body.get("nsfw"))
    if body.get("options"):
        made["options"] = [_without_nothing(option) for option in body["options"]]
    if "guild_id" in call.path:
        return made | {"guild_id": call.path["guild_id"]}
    made["integration_types"] = body.get("integration_types") or [0]
    return made | {"dm_permission": body.get("dm_permission") is not False}


def _without_nothing(option: Json) -> Json:
    kept = {key: value for key, value in option.items() if value is not None and value is not False}
    for key in ("options", "choices"):
        if key in kept:
            kept[key] = [_without_nothing(inner) for inner in kept[key]]
    return kept


def _shown(call: Call, command: Json, *, localised: bool) -> Json:
    return command if localised else {key: value for key, value in command.items() if "localizations" not in key}


_ALL = ("/applications/{application_id}/commands", "/applications/{application_id}/guilds/{guild_id}/commands")
COMMANDS: dict[str, Handler] = {}
for _path in _ALL:
    COMMANDS |= {f"PUT {_path}": overwrite, f"GET {_path}": listed, f"POST {_path}": create}
    _one = f"{_path}/{{command_id}}"
    COMMANDS |= {f"GET {_one}": one, f"PATCH {_one}": change, f"DELETE {_one}": remove}
