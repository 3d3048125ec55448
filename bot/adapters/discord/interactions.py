"""Interactions: commands, pressed buttons and chosen options become messages; suggestions are answered at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from bot.adapters.discord.autocomplete import suggested
from bot.adapters.discord.callbacks import Callbacks
from bot.adapters.discord.origin import LIFE, Origin, created
from bot.adapters.discord.places import PLATFORM
from bot.adapters.discord.stage import EPHEMERAL, Stage
from bot.adapters.discord.tree import Json, typed
from bot.platform import Accept
from handlers.asking import CommandSpec
from handlers.parsing import parse_command
from handlers.patience import patiently
from handlers.suggestions import Suggestions
from routing.types import ChatKey, InboundMessage, Press, UserKey

COMMAND, COMPONENT, AUTOCOMPLETE = 2, 3, 4
"""Types of interactions."""
THREADS = frozenset({10, 11, 12})
"""Types of channels that are threads."""
SURE = 1.5
"""Seconds for keeping an interaction before it is acknowledged all the same: Discord gives up after three."""
BOT_DM = 1
"""The context of the bot's own direct messages."""

Unanswered = Callable[[InboundMessage], Coroutine[None, None, None]]
"""Returns only when it is certain that no reply comes to a message."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Incoming:
    """One interaction. `visiting`: it came through the person's own installation, to a place where the bot itself is
    not, and its answers are for that person. `hidden`: what was pressed is seen by one person only."""

    id: int
    token: str
    kind: int
    user: UserKey
    user_name: str
    username: str
    language: str
    chat: ChatKey
    direct: bool
    visiting: bool
    hidden: bool
    data: Json


def read(payload: Json) -> Incoming:
    """The body of an INTERACTION_CREATE. Raises LookupError, TypeError or ValueError for one of another form."""
    member = payload.get("member") or {}
    user = member.get("user") or payload["user"]
    channel = payload.get("channel") or {"id": payload["channel_id"]}
    is_thread = channel.get("type") in THREADS and bool(channel.get("parent_id"))
    home, thread = (channel["parent_id"], channel["id"]) if is_thread else (channel["id"], "")
    direct = payload.get("context", BOT_DM if "guild_id" not in payload else 0) == BOT_DM
    owners = payload.get("authorizing_integration_owners") or {"0": ""}
    visiting = not direct and "0" not in owners
    if visiting:  # its hidden answers must not be in the history of the others there
        thread = f"{thread}@{user['id']}"
    return Incoming(
        id=int(payload["id"]),
        token=str(payload["token"]),
        kind=int(payload["type"]),
        user=UserKey(PLATFORM, str(user["id"])),
        user_name=member.get("nick") or user.get("global_name") or user.get("username") or "",
        username=str(user.get("username") or ""),
        language=str(payload.get("locale") or "").partition("-")[0],
        chat=ChatKey(PLATFORM, str(home), str(thread)),
        direct=direct,
        visiting=visiting,
        hidden=bool(((payload.get("message") or {}).get("flags") or 0) & EPHEMERAL),
        data=dict(payload.get("data") or {}),
    )


class Interactions:
    """Once `take` has returned, a command or press is durable; it is acknowledged as soon as it is, in the background.
    What is under way in `take` must not hold up the next one. `sure` is `SURE`."""

    def __init__(
        self,
        stage: Stage,
        accept: Accept,
        specs: Sequence[CommandSpec],
        suggestions: Suggestions,
        unanswered: Unanswered,
        sure: float = SURE,
    ) -> None:
        self._stage = stage
        self._callbacks = Callbacks(stage)
        self._accept = accept
        self._specs = {spec.name: spec for spec in specs}
        self._suggestions = suggestions
        self._unanswered = unanswered
        self._sure = sure
        self._silences: set[asyncio.Task[None]] = set()

    async def take(self, payload: Json) -> None:
        """What the gateway brought. One that can't be read is passed over."""
        try:
            asked = read(payload)
            message = await self._message(asked) if asked.kind in (COMMAND, COMPONENT) else None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            log.error("Discord: can't parse interaction %s: %s", payload.get("id"), type(error).__name__)
            return
        if message is not None:
            await self._keep(asked, message, payload)
        elif asked.kind == AUTOCOMPLETE:
            self._stage.background.spawn(self._suggest(asked, payload))

    async def close(self) -> None:
        """Listen for silences no more; acknowledgements on their way are the stage's."""
        for silence in self._silences:
            silence.cancel()
        await asyncio.gather(*self._silences, return_exceptions=True)

    async def _keep(self, asked: Incoming, message: InboundMessage, payload: Json) -> None:
        """What could not be kept is not acknowledged, and the person sees that it failed."""
        silence = self._listen(message) if asked.kind == COMMAND else None
        keeping = asyncio.create_task(patiently(self._accept, [message]))
        try:
            await asyncio.wait({keeping}, timeout=self._sure)
            if keeping.done():
                keeping.result()
            else:
                log.warning("Discord: interaction %d is acknowledged before it is saved", asked.id)
            attend = self._announce(message, payload, silence) if silence else self._follow(payload)
            self._stage.background.spawn(attend)
            silence = None
            await keeping
        finally:
            keeping.cancel()
            if silence is not None:
                silence.cancel()

    async def _follow(self, payload: Json) -> None:
        await self._callbacks.defer(payload, ephemeral=False)

    def _listen(self, message: InboundMessage) -> asyncio.Task[None]:
        """Before it is accepted: what gets no answer may be known at once."""
        silence = asyncio.create_task(self._unanswered(message))
        self._silences.add(silence)
        silence.add_done_callback(self._silences.discard)
        return silence

    async def _announce(self, message: InboundMessage, payload: Json, silence: asyncio.Task[None]) -> None:
        """Say that an answer is coming. What gets none, such as a /stop that ends one, is not announced for ever."""
        origin = Origin.unpack(message.message_id)
        if await self._callbacks.defer(payload, ephemeral=origin is not None and origin.ephemeral):
            await asyncio.wait({silence}, timeout=LIFE)
            if silence.done() and not silence.cancelled():
                await self._callbacks.withdraw(payload)
        silence.cancel()

    async def _suggest(self, asked: Incoming, payload: Json) -> None:
        await self._callbacks.suggest(payload, await suggested(asked.data, asked.user, self._suggestions))

    async def _message(self, asked: Incoming) -> InboundMessage:
        me = self._stage.client.user
        component = asked.kind == COMPONENT
        text = _pressed(asked.data) if component else typed(asked.data)
        ephemeral = asked.hidden if component else await self._for_one(asked, text)
        hidden = ephemeral or asked.visiting
        origin = Origin(asked.id, asked.token, int(asked.user.user_id), asked.language, component, hidden).pack()
        return InboundMessage(
            user=asked.user,
            chat=asked.chat,
            bot_id=str(me.id) if me else "",
            update_id=str(asked.id),
            text=text,
            sent_at=created(asked.id),
            kind="press" if component else "message",
            user_name=asked.user_name,
            username=asked.username,
            bot_name=me.name if me else "",
            private=asked.direct or asked.visiting,
            language=asked.language,
            message_id=origin,
            press=Press(origin, origin) if component else None,
        )

    async def _for_one(self, asked: Incoming, text: str) -> bool:
        """Whether the answer is to be seen by one person only, as every refusal of a stranger is; in direct messages
        it is anyway."""
        if asked.direct:
            return False
        command = parse_command(text, "")
        spec = self._specs.get(command.name) if command else None
        if command is None or spec is None or spec.for_one(command.rest):
            return True
        return await self._suggestions.is_stranger(asked.user)


def _pressed(data: Json) -> str:
    """The token of the button, or of what was chosen from a menu."""
    values = data.get("values") or [data["custom_id"]]
    return str(values[0])
