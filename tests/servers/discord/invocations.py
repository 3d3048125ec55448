"""A slash command as Discord's client builds it, from the registered commands only."""

from dataclasses import dataclass, field
from typing import Any

from tests.servers.discord.command_rules import GROUP, SUBCOMMAND
from tests.servers.discord.values import Attachment, Channel, Json, Role, User

STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(3, 12)
_PLAIN: dict[int, type | tuple[type, ...]] = {STRING: str, INTEGER: int, BOOLEAN: bool, NUMBER: (int, float)}
_THINGS: dict[int, Any] = {
    USER: User,
    CHANNEL: Channel,
    ROLE: Role,
    MENTIONABLE: (User, Role),
    ATTACHMENT: Attachment,
}


@dataclass(slots=True)
class Filling:
    """The options of an interaction; `focused` names the one being typed."""

    focused: str | None = None
    focused_type: int = 0
    resolved: Json = field(default_factory=dict)

    def resolve(self, value: Any) -> None:
        """Adds the object that an option refers to."""
        kind: str = {User: "users", Channel: "channels", Role: "roles", Attachment: "attachments"}[type(value)]
        body: Json = {"id": str(value.id), "name": value.name}
        if isinstance(value, User | Attachment):
            body = value.json()
        if isinstance(value, Channel):
            body |= {"type": value.kind, "permissions": "0"}
        self.resolved.setdefault(kind, {})[str(value.id)] = body


def command_data(command: Json, path: list[str], values: Json, filling: Filling) -> Json:
    """The `data` of an interaction. `path` holds the names after the command's name. Raises AssertionError for anything
    that is not registered, or that a client would not accept."""
    options = _options(command.get("options", []), path, values, filling, command["name"])
    data: Json = {"id": command["id"], "name": command["name"], "type": command["type"]}
    if options:
        data["options"] = options
    if filling.resolved:
        data["resolved"] = filling.resolved
    return data | ({"guild_id": command["guild_id"]} if "guild_id" in command else {})


def _options(known: list[Json], path: list[str], values: Json, filling: Filling, name: str) -> list[Json]:
    nested = {option["name"]: option for option in known if option["type"] in (SUBCOMMAND, GROUP)}
    if path or nested:
        chosen = nested.get(path[0]) if path else None
        assert chosen is not None, f"/{name} has the subcommands {sorted(nested)}, not {path}"
        inner = _options(chosen.get("options", []), path[1:], values, filling, f"{name} {path[0]}")
        return [{"name": chosen["name"], "type": chosen["type"], "options": inner}]
    by_name = {option["name"]: option for option in known}
    unknown = values.keys() - by_name.keys()
    assert not unknown, f"/{name} has the options {sorted(by_name)}, not {sorted(unknown)}"
    if filling.focused is None:
        missing = [option["name"] for option in known if option.get("required") and option["name"] not in values]
        assert not missing, f"/{name} needs {missing}"
    return [_filled(by_name[key], value, filling) for key, value in values.items()]


def _filled(option: Json, value: Any, filling: Filling) -> Json:
    shown: Json = {"name": option["name"], "type": option["type"]}
    if filling.focused == option["name"]:
        assert option.get("autocomplete"), f"{option['name']} was registered without autocomplete"
        filling.focused_type = option["type"]
        return shown | {"value": value, "focused": True}
    if option["type"] in _PLAIN:
        return shown | {"value": _plain(option, value)}
    assert isinstance(value, _THINGS[option["type"]]), f"{option['name']} takes {_THINGS[option['type']]}"
    filling.resolve(value)
    return shown | {"value": str(value.id)}


def _plain(option: Json, value: Any) -> Any:
    """The value, as its choice's name or value if there are choices."""
    name, wanted = option["name"], _PLAIN[option["type"]]
    if choices := option.get("choices"):
        found = [choice["value"] for choice in choices if value in (choice["value"], choice["name"])]
        assert found, f"{name} is one of {[choice['name'] for choice in choices]}, not {value!r}"
        return found[0]
    is_right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    assert is_right, f"{name} takes {wanted}, not {value!r}"
    measure = len(value) if isinstance(value, str) else value
    kind = "length" if isinstance(value, str) else "value"
    assert option.get(f"min_{kind}", measure) <= measure <= option.get(f"max_{kind}", measure), f"{name}: {value!r}"
    return value
