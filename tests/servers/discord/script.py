"""People's actions on the bot's commands and messages: slash commands, buttons, menus, forms."""

import re
from typing import Literal

from tests.servers.discord.invocations import Filling, command_data
from tests.servers.discord.journal import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Interaction
from tests.servers.discord.message import Message
from tests.servers.discord.people import Where, Who
from tests.servers.discord.permissions import ALL, bits
from tests.servers.discord.rules import MAX_FILE
from tests.servers.discord.talk import Talk
from tests.servers.discord.values import Channel, Json, User
from tests.servers.discord.views import channel_json, member_json, message_json

GUILD, BOT_DM, PRIVATE = 0, 1, 2
"""Contexts of interactions."""
Installed = Literal["guild", "user"]


class Script(Talk):
    """All actions of people in a story."""

    def slash(
        self,
        name: str,
        options: Json | None = None,
        *,
        user: Who = None,
        where: Where = None,
        installed: Installed | None = None,
    ) -> Interaction:
        """A slash command, such as "model set" with its options; AssertionError if the bot did not register it so.

        `where` as in `say`; `installed` tells whose installation it goes through: by default the server's, in private
        channels and servers without the bot the user's.
        """
        return self._invoke(COMMAND, name, options or {}, Filling(), user, where, installed)

    def suggest(self, name: str, options: Json, focused: str, *, user: Who = None, where: Where = None) -> Interaction:
        """The client asks for suggestions while `focused` is typed; `autocomplete` waits for them."""
        return self._invoke(AUTOCOMPLETE, name, options, Filling(focused), user, where, None)

    def press(self, message: Message, button: str, *, user: Who = None) -> Interaction:
        """A button, by its label or custom_id."""
        known = {entry.get("label") or "": entry for entry in message.buttons if not entry.get("disabled")}
        found = [entry for label, entry in known.items() if button in (label, entry.get("custom_id"))]
        found = found or [entry for label, entry in known.items() if re.search(re.escape(button), label, re.I)]
        assert ["custom_id" in entry for entry in found] == [True], f"no button {button!r}; there are {list(known)}"
        data = {"custom_id": found[0]["custom_id"], "component_type": 2, "id": found[0].get("id", 0)}
        return self._touch(message, data, user)

    def choose(self, message: Message, menu: str, values: list[str], *, user: Who = None) -> Interaction:
        """Options of a menu, by value or label; the menu by its custom_id or placeholder."""
        menus = [entry for entry in message.selects if not entry.get("disabled")]
        found = [entry for entry in menus if menu in (entry["custom_id"], entry.get("placeholder"))]
        assert len(found) == 1, f"no menu {menu!r}; there are {[entry['custom_id'] for entry in menus]}"
        options = found[0].get("options", [])
        chosen = [option["value"] for option in options if {option["value"], option["label"]} & set(values)]
        assert len(chosen) == len(values), f"the menu has {[option['label'] for option in options]}, not {values}"
        assert found[0].get("min_values", 1) <= len(chosen) <= found[0].get("max_values", 1), "too few or too many"
        data = {"custom_id": found[0]["custom_id"], "component_type": found[0]["type"], "values": chosen}
        return self._touch(message, data | {"id": found[0].get("id", 0)}, user)

    def submit(self, opened: Interaction, values: dict[str, str]) -> Interaction:
        """Submits the form that the bot opened; values by the custom_id of each text input."""
        form = opened.modal
        assert form is not None, "the bot opened no form"
        rows = [_filled_row(row, values) for row in form["components"]]
        data: Json = {"custom_id": form["custom_id"], "components": rows, "resolved": {}}
        return self._interact(MODAL, data, opened.user, opened.channel, opened.installed, opened.source)

    def redeliver(self, event: Message | Interaction) -> None:
        """Sends the same event again, as after a lost acknowledgement."""
        if isinstance(event, Message):
            self.events.message("MESSAGE_CREATE", event)
        else:
            self.events.dispatch("INTERACTION_CREATE", event.event, event.channel.guild)

    # --- how it reaches the bot -------------------------------------------------------------------------------

    def _invoke(
        self, kind: int, name: str, options: Json, filling: Filling, user: Who, where: Where, installed: str | None
    ) -> Interaction:
        who = self.user(user)
        channel = self.place(where, who)
        is_home = channel.is_dm if channel.guild is None else channel.guild.has_bot
        installed = installed or ("guild" if is_home else "user")
        first, *path = name.removeprefix("/").split()
        command = self._registered(first, channel, installed)
        data = command_data(command, path, options, filling)
        return self._interact(kind, data, who, channel, installed, None, filling.focused_type)

    def _registered(self, name: str, channel: Channel, installed: str) -> Json:
        """The command that is offered there; a guild's command goes before a global one."""
        own = self.guild_commands.get(channel.guild.id, []) if channel.guild is not None else []
        known = {command["name"]: command for command in [*self.commands, *own] if command["type"] == 1}
        assert name in known, f"/{name} is not registered; there are {sorted(known)}"
        command = known[name]
        if "guild_id" in command:
            return command
        types = command["integration_types"]
        contexts = command["contexts"]
        if contexts is None:
            contexts = [GUILD, *([BOT_DM] if command["dm_permission"] else []), *([PRIVATE] if 1 in types else [])]
        assert _context(channel) in contexts, f"/{name} is not offered in context {_context(channel)}"
        assert (0 if installed == "guild" else 1) in types, f"/{name} is not for an installation by {installed}"
        return command

    def _touch(self, message: Message, data: Json, user: Who) -> Interaction:
        """Uses a component of a message; only its own person can use an ephemeral one."""
        owner = message.interaction.user if message.interaction is not None else None
        if user is None and owner is None and message.channel.is_dm:
            owner = message.channel.recipients[0]
        who = owner if user is None and owner is not None else self.user(user)
        assert not message.deleted, "the message was deleted"
        assert not message.ephemeral or who == owner, f"{who.name} does not see that message"
        installed = message.interaction.installed if message.interaction is not None else "guild"
        return self._interact(COMPONENT, data, who, message.channel, installed, message)

    def _interact(
        self,
        kind: int,
        data: Json,
        who: User,
        channel: Channel,
        installed: str,
        source: Message | None,
        focused_type: int = 0,
    ) -> Interaction:
        number = self.snowflake()
        asked = Interaction(
            id=number,
            token=f"interaction-token-{number}",
            kind=kind,
            user=who,
            channel=channel,
            context=_context(channel),
            installed=installed,
            created=self.now(),
            data=data,
            source=source,
            focused_type=focused_type,
        )
        asked.event = self._event(asked)
        self.interactions.append(asked)
        self.events.dispatch("INTERACTION_CREATE", asked.event, channel.guild)
        self.changed()
        return asked

    def _event(self, asked: Interaction) -> Json:
        channel, guild = asked.channel, asked.channel.guild
        body: Json = {"id": str(asked.id), "application_id": str(self.application_id), "type": asked.kind}
        body |= {"data": asked.data, "token": asked.token, "version": 1, "locale": asked.user.locale}
        body |= {"channel_id": str(channel.id), "channel": channel_json(self, channel), "context": asked.context}
        body |= {"app_permissions": str(ALL - bits(channel.forbidden)), "attachment_size_limit": MAX_FILE}
        body |= {"entitlements": [], "entitlement_sku_ids": []}
        home = "0" if guild is None else str(guild.id)
        owners = {"0": home} if asked.installed == "guild" else {"1": str(asked.user.id)}
        body["authorizing_integration_owners"] = owners
        if asked.source is not None:
            body["message"] = message_json(self, asked.source)
        if guild is None:
            return body | {"user": asked.user.json()}
        member = member_json(self, guild, asked.user) | {"permissions": str(ALL)}
        home_body = {"id": home, "locale": "en-US", "features": []}
        return body | {"guild_id": home, "guild": home_body, "guild_locale": "en-US", "member": member}


def _context(channel: Channel) -> int:
    return GUILD if channel.guild is not None else BOT_DM if channel.is_dm else PRIVATE


def _filled_row(row: Json, values: dict[str, str]) -> Json:
    """A row or a label of a form with what was typed."""
    if row["type"] == 18:
        return {"type": 18, "id": row.get("id", 0), "component": _typed(row["component"], values)}
    return {"type": 1, "id": row.get("id", 0), "components": [_typed(inner, values) for inner in row["components"]]}


def _typed(field: Json, values: dict[str, str]) -> Json:
    text = values.get(field["custom_id"], field.get("value") or "")
    assert text or field.get("required") is False, f"{field['custom_id']} must be filled in"
    assert len(text) <= (field.get("max_length") or 4000), f"{field['custom_id']} is too long"
    return {"type": field["type"], "custom_id": field["custom_id"], "value": text, "id": field.get("id", 0)}
