"""Converts commands, button presses, menu choices and forms to messages, and answers autocomplete requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import discord
from discord import app_commands

from bot.adapters.discord.channels import PLATFORM
from bot.adapters.discord.client import Json
from bot.adapters.discord.commands import as_typed, suggest
from bot.adapters.discord.context import EPHEMERAL, TOKEN_SECONDS, ClientContext, InteractionRef, created
from bot.adapters.discord.failures import CALL_ERRORS, reason
from bot.adapters.discord.parts import FORM
from bot.adapters.shared.background import Background
from bot.adapters.shared.descriptor import Commands
from bot.platform import Accept
from handlers.parsing import parse_command
from handlers.storage_retry import retry_storage
from routing.types.messages import ChatKey, InboundMessage, Press, UserKey

COMMAND, COMPONENT, AUTOCOMPLETE, FORM_SUBMIT = 2, 3, 4, 5
"""Kinds of interactions."""
SAVE_SECONDS = 1.5
"""After this time an interaction is acknowledged even if it is not saved yet; Discord waits three seconds."""
_THREAD_KINDS = frozenset({10, 11, 12})
_BOT_DM = 1  # the context of the bot's own direct messages
_CALLBACK_SECONDS = 5.0  # after this, Discord no longer knows the interaction
_OPEN_FORM, _LABEL, _TEXT_INPUT, _ONE_LINE = 9, 18, 4, 1  # Discord's numbers for forms
_MAX_TITLE, _MAX_ENTRY = 45, 1000  # characters
_UNKNOWN, _ACKNOWLEDGED = 10062, 40060  # Discord's codes for interactions

Unanswered = Callable[[InboundMessage], Coroutine[None, None, None]]
"""Returns only when it is certain that a message gets no reply."""

log = logging.getLogger(__name__)


def read(payload: Json, text: str, hidden: bool, me: discord.ClientUser | None) -> InboundMessage:
    """A command, button press, menu choice or form as a message with this text. `hidden`: only one person sees the
    answer, which also holds where the bot is not a member and was only installed by this person. Raises LookupError,
    TypeError or ValueError if the payload is malformed."""
    user, member = _user(payload), payload.get("member") or {}
    channel = payload.get("channel") or {"id": payload["channel_id"]}
    is_thread = channel.get("type") in _THREAD_KINDS and bool(channel.get("parent_id"))
    parent, thread = (channel["parent_id"], channel["id"]) if is_thread else (channel["id"], "")
    direct = _is_direct(payload)
    visiting = not direct and "0" not in (payload.get("authorizing_integration_owners") or {"0": ""})
    if visiting:  # a separate history, because others there do not see these answers
        thread = f"{thread}@{user['id']}"
    number, component = int(payload["id"]), payload["type"] == COMPONENT
    language = str(payload.get("locale") or "").partition("-")[0]
    ref = InteractionRef(number, str(payload["token"]), int(user["id"]), language, component, hidden or visiting).pack()
    return InboundMessage(
        user=UserKey(PLATFORM, str(user["id"])),
        chat=ChatKey(PLATFORM, str(parent), str(thread)),
        bot_id=str(me.id) if me else "",
        update_id=str(number),
        text=text,
        sent_at=created(number),
        kind="press" if component else "message",
        user_name=member.get("nick") or user.get("global_name") or user.get("username") or "",
        username=str(user.get("username") or ""),
        bot_name=me.name if me else "",
        private=direct or visiting,
        language=language,
        message_id=ref,
        press=Press(ref, ref) if component else None,
        form=payload["type"] == FORM_SUBMIT,
    )


def _user(payload: Json) -> Json:
    user: Json = (payload.get("member") or {}).get("user") or payload["user"]
    return user


def _is_direct(payload: Json) -> bool:
    return bool(payload.get("context", _BOT_DM if "guild_id" not in payload else 0) == _BOT_DM)


class Interactions:
    """When `take` returns, a command or button press is durable. It is acknowledged in the background once it is saved,
    or after `save_seconds`. Calls of `take` must run concurrently."""

    def __init__(
        self,
        context: ClientContext,
        accept: Accept,
        commands: Callable[[], Awaitable[Commands]],
        unanswered: Unanswered,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        self._context = context
        self._accept = accept
        self._commands = commands
        self._unanswered = unanswered
        self._save_seconds = save_seconds
        self._watching = Background("Discord")

    async def take(self, payload: Json) -> None:
        """Handle an INTERACTION_CREATE; one that can't be parsed is skipped."""
        try:
            kind = payload["type"]
            if kind == COMPONENT and (title := _form_title(payload["data"])):
                self._context.background.spawn(self._try(self._open_form(payload, title)))
                return
            message = await self._message(payload) if kind in (COMMAND, COMPONENT, FORM_SUBMIT) else None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            log.error("Discord: can't parse interaction %s: %s", payload.get("id"), type(error).__name__)
            return
        if message is not None:
            await self._save(message, payload)
        elif kind == AUTOCOMPLETE:
            self._context.background.spawn(self._autocomplete(payload))

    async def close(self) -> None:
        """Stop waiting for messages without a reply. Acknowledgements are background tasks of the context."""
        await self._watching.close(0.0)

    async def _save(self, message: InboundMessage, payload: Json) -> None:
        """Save the message. If that fails, it is not acknowledged, and the person sees that it failed."""
        # Started before the message is accepted, because it may be known at once that it gets no reply.
        no_reply = self._watching.spawn(self._unanswered(message)) if message.press is None else None
        saving = asyncio.create_task(retry_storage(self._accept, [message]))
        try:
            await asyncio.wait({saving}, timeout=self._save_seconds)
            if saving.done():
                saving.result()
            else:
                log.warning("Discord: interaction %s is acknowledged before it is saved", message.update_id)
            self._context.background.spawn(self._acknowledge(message, payload, no_reply))
            no_reply = None
            await saving
        finally:
            saving.cancel()
            if no_reply is not None:
                no_reply.cancel()

    async def _acknowledge(self, message: InboundMessage, payload: Json, no_reply: asyncio.Task[None] | None) -> None:
        """Announce a reply, and withdraw that if there is none, as after /stop."""
        if no_reply is None:
            await self._defer(payload, ephemeral=False)
            return
        ref = InteractionRef.unpack(message.message_id)
        if await self._defer(payload, ephemeral=ref is not None and ref.ephemeral):
            await asyncio.wait({no_reply}, timeout=TOKEN_SECONDS)
            if no_reply.done() and not no_reply.cancelled():
                await self._try(self._interaction(payload).delete_original_response())
        no_reply.cancel()

    async def _defer(self, payload: Json, ephemeral: bool) -> bool:
        """False if Discord no longer knows the interaction. If a call got no response, it may have succeeded."""
        asked = self._interaction(payload)
        try:
            async with asyncio.timeout(_CALLBACK_SECONDS):
                await asked.response.defer(ephemeral=ephemeral, thinking=asked.type.name != "component")
        except discord.HTTPException as error:
            if error.code == _UNKNOWN:
                self._context.forget(asked.id)
                log.warning(
                    "Discord: interaction %d was acknowledged too late; its answer is a plain message", asked.id
                )
            elif error.code != _ACKNOWLEDGED:
                log.warning("Discord: interaction %d could not be acknowledged (%s)", asked.id, reason(error))
            return error.code != _UNKNOWN
        except CALL_ERRORS as error:
            log.warning("Discord: interaction %d could not be acknowledged (%s)", asked.id, reason(error))
        return True

    async def _open_form(self, payload: Json, title: str) -> None:
        """Show a form with one line of text. What is entered comes as another interaction."""
        entry = {"type": _TEXT_INPUT, "custom_id": "text", "style": _ONE_LINE, "max_length": _MAX_ENTRY}
        labelled = {"type": _LABEL, "label": title, "component": entry}
        form = {"custom_id": "form", "title": title, "components": [labelled]}
        place = {"webhook_id": int(payload["id"]), "webhook_token": payload["token"]}
        answer = {"type": _OPEN_FORM, "data": form}
        await self._context.call("POST", "/interactions/{webhook_id}/{webhook_token}/callback", answer, **place)

    async def _autocomplete(self, payload: Json) -> None:
        suggestions = (await self._commands()).suggestions
        words = await suggest(payload["data"], UserKey(PLATFORM, str(_user(payload)["id"])), suggestions)
        choices = [app_commands.Choice(name=word, value=word) for word in words]
        await self._try(self._interaction(payload).response.autocomplete(choices))

    async def _try(self, call: Coroutine[Any, Any, object]) -> None:
        """Make a call that may fail."""
        try:
            async with asyncio.timeout(_CALLBACK_SECONDS):
                await call
        except CALL_ERRORS as error:
            log.debug("an interaction's call failed: %s", reason(error))

    def _interaction(self, payload: Any) -> discord.Interaction:
        return discord.Interaction(data=payload, state=self._context.client._connection)

    async def _message(self, payload: Json) -> InboundMessage:
        data = payload.get("data") or {}
        if payload["type"] == COMPONENT:
            text = _chosen(data)
            hidden = bool(((payload.get("message") or {}).get("flags") or 0) & EPHEMERAL)
        elif payload["type"] == FORM_SUBMIT:
            text, hidden = str(data["components"][0]["component"]["value"]), not _is_direct(payload)
        else:
            text = as_typed(data)
            hidden = not _is_direct(payload) and await self._is_private(text, str(_user(payload)["id"]))
        return read(payload, text, hidden, self._context.client.user)

    async def _is_private(self, text: str, user_id: str) -> bool:
        """Whether only one person sees the answer. This includes refusals of strangers."""
        command = parse_command(text, "")
        try:
            async with asyncio.timeout(self._save_seconds / 2):
                commands = await self._commands()
        except TimeoutError:  # the bot is starting
            return True
        spec = next((spec for spec in commands.specs if command and spec.name == command.name), None)
        if command is None or spec is None or spec.for_one(command.rest):
            return True
        return await commands.suggestions.is_stranger(UserKey(PLATFORM, user_id))


def _form_title(data: Json) -> str:
    """The title of the form that a button opens; empty if it opens none."""
    custom_id = str(data["custom_id"])
    return custom_id.removeprefix(FORM)[:_MAX_TITLE] if custom_id.startswith(FORM) else ""


def _chosen(data: Json) -> str:
    """The token of the button or menu choice."""
    values = data.get("values") or [data["custom_id"]]
    return str(values[0])
