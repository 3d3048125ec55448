"""The card that asks a person to confirm a tool call, and the handling of its buttons."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Awaitable, Callable, Container
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.context import CommandContext, CommandSpec, Reply
from handlers.replies.budget_limits import cost_of
from handlers.replies.fences import fenced
from handlers.storage_retry import retry_storage
from handlers.tools.toolbox import Toolbox
from routing.errors import Refused
from routing.ports import ActionStore, AllowanceStore, PreferenceStore
from routing.router import Router
from routing.turn.tool_executor import ToolExecutor
from routing.turn.truncation import limit_result
from routing.types.history import TurnRecord
from routing.types.llm import ChatMessage, ToolCall
from routing.types.messages import Button, Document
from routing.types.stop import Stopped
from routing.types.tools import Allowance, PendingAction, ToolScope, Traits
from routing.types.usage import TurnCost

SPEC = CommandSpec("confirm", "Confirm an action", ("/confirm once",), queued=True, press_only=True)
MAX_CHARACTERS = 2_000
"""Maximum length of the arguments on a card, in characters. Longer ones are sent as a file."""
FIRST_CHARACTERS = 1_500
MAX_RESULT_CHARACTERS = 2_500
"""Maximum length of a raw result, in characters, when no model answered."""
INTERRUPTED = (
    "The process ended while this ran: it may or may not have happened. Tell the user so, and that they should check. "
    "Do not call it again unless they ask for it."
)

FollowUp = Callable[[CommandContext, PendingAction, str, TurnCost], Awaitable[Reply]]
"""Lets the model continue with the result of a confirmed action. The cost so far is in `cost`."""

log = logging.getLogger("handlers")


@dataclass(frozen=True, slots=True)
class Card:
    """The confirmation message for one tool call."""

    text: str
    buttons: tuple[tuple[Button, ...], ...]
    document: Document | None


def card(ask: CommandContext, action: PendingAction, zone: ZoneInfo) -> Card:
    """Shows the tool, its toolkit, the note and the exact arguments, but for those that the note shows. Nothing in them
    can become a link, formatting or an invisible character."""
    listed = shown(action.arguments, action.previewed)
    words = [
        ask.say(
            "🔐 **Shall I run {tool}** ({toolkit})?", tool=f"`{action.tool}`", toolkit=f"`{_name(action.toolkit)}`"
        ),
        action.note,
        fenced(_cut(ask, listed)) if listed else "" if action.note else ask.say("It takes no arguments."),
        ask.say(
            "Nothing has been done yet. You can decide until {time}.",
            time=ask.say.time(datetime.fromtimestamp(action.expires_at, zone)),
        ),
    ]
    about = f"{action.id}:{action.digest[:16]}"

    def button(label: str, choice: str) -> Button:
        return Button(label, f"/{SPEC.name} {choice}", about, press_only=True)

    allow = [button(ask.say("✅ Allow once"), "once"), button(ask.say("✅ In this conversation"), "conversation")]
    always = [] if action.here_only else [button(ask.say("♾ Always"), "always")]
    document = Document("arguments.txt", listed) if len(listed) > MAX_CHARACTERS else None
    rows = (tuple(allow), (*always, button(ask.say("❌ Cancel"), "no")))
    return Card("\n\n".join(part for part in words if part), rows, document)


def shown(arguments: str, without: Container[str] = ()) -> str:
    """One argument per line, each value as JSON. Invisible and bidirectional control characters are escaped."""
    given = {name: value for name, value in json.loads(arguments).items() if name not in without}
    return "\n".join(_visible(f"{_key(name)}: {json.dumps(given[name], ensure_ascii=False)}") for name in given)


class Confirmations:
    """Runs an action at most once. The start is recorded before the action runs, so after a crash the person is told
    that it may or may not have happened. Its result and files are recorded before a model answers, so a crash doesn't
    lose them."""

    def __init__(
        self,
        actions: ActionStore,
        allowances: AllowanceStore,
        toolbox: Toolbox,
        router: Router,
        preferences: PreferenceStore,
        follow_up: FollowUp,
    ) -> None:
        self._actions = actions
        self._allowances = allowances
        self._toolbox = toolbox
        self._router = router
        self._preferences = preferences
        self._follow_up = follow_up
        self._running: set[int] = set()

    async def __call__(self, ask: CommandContext) -> Reply:
        action = await self._asked_about(ask)
        choice, press = ask.arguments[0], ask.message.update_id
        claimed = await self._actions.claim(action.id, "cancelled" if choice == "no" else "running", press)
        if not claimed:
            return await self._decided(ask, action.id, press)
        if choice == "no":
            return _cancelled(ask, action)
        self._running.add(action.id)
        try:
            allowed = await self._allow(ask, action, choice)
            reply = await self._run(ask, action)
            return replace(reply, text="\n\n".join(filter(None, (reply.text, allowed))))
        finally:
            self._running.discard(action.id)

    async def _asked_about(self, ask: CommandContext) -> PendingAction:
        """Looks up the action of the pressed button. Raises Refused if it is unknown or belongs to another person."""
        about = ask.button.about if ask.button is not None else ""
        number, _, digest = about.partition(":")
        action = await self._actions.get(int(number)) if number.isdecimal() else None
        if action is None or action.person_id != ask.person.id or not (digest and action.digest.startswith(digest)):
            raise Refused("This button is no longer valid.")
        return action

    async def _decided(self, ask: CommandContext, action_id: int, press: str) -> Reply:
        """Answers a press on an action that is no longer waiting. A press that is delivered again after an interruption
        gets the same reply as before."""
        action = await self._actions.get(action_id)
        if action is None:
            raise Refused("This button is no longer valid.")
        if action.state == "running" and action.id in self._running:
            raise Refused("{tool} is running already.", tool=action.tool)
        if action.state == "running" or (action.state == "unknown" and action.press == press):
            return await self._interrupted(ask, action)
        if action.press == press and action.state == "done":
            ask.files.replace(action.files)
            return await self._follow_up(ask, action, action.result, cost_of(ask))
        if action.press == press and action.state == "cancelled":
            return _cancelled(ask, action)
        if action.state == "waiting":
            raise Refused("It is too late to confirm {tool}. Nothing was done.", tool=action.tool)
        if action.state == "cancelled":
            raise Refused("You cancelled {tool}. Nothing was done; ask for it again.", tool=action.tool)
        raise Refused("You have confirmed {tool} already; it is not run twice.", tool=action.tool)

    async def _allow(self, ask: CommandContext, action: PendingAction, choice: str) -> str:
        """Allows the tool as chosen. Returns what is allowed from now on, and how to take that back."""
        version = self._toolbox.version(action.tool)
        if choice == "once" or version is None:
            return ""
        conversation_id = action.conversation_id if choice == "conversation" else None
        await self._allowances.allow(ask.person.id, Allowance(action.tool, version, conversation_id))
        words = "🔓 {tool} no longer asks you. {command} takes that back."
        if choice == "conversation":
            words = "🔓 {tool} no longer asks you in this conversation. {command} takes that back."
        return ask.say(words, tool=f"`{action.tool}`", command=f"`/tools ask {action.tool}`")

    async def _run(self, ask: CommandContext, action: PendingAction) -> Reply:
        await ask.live.working()
        settings = await self._preferences.settings(ask.person.id)
        plan = await self._router.plan(ask.person, action.conversation_id)
        sources = await self._router.outside_sources(ask.person, action.conversation_id, self._toolbox)
        cost = cost_of(ask)
        scope = ToolScope(
            ask.person,
            action.conversation_id,
            plan.decision,
            settings.time_zone,
            language=ask.say.language,
            cost=cost,
            show=ask.live.show,
            attach=ask.files.attach,
            private=ask.message.private,
            outside=lambda: sources,
        )
        config = self._router.models.config
        executor = ToolExecutor(_Confirmed(self._toolbox, action), 1, config.most_result_chars)
        calls = [_call(action)]
        results = executor.not_run(calls)
        with suppress(Stopped), ask.stop.guard():
            await executor.run(calls, scope, config.turn.seconds, results)
        result = results[0].content
        ask.files.replace(await retry_storage(self._actions.end, action.id, "done", result, ask.files.files))
        log.info("[Confirm] %s ran for person %d", action.tool, ask.person.id)
        return await self._follow_up(ask, action, result, cost)

    async def _interrupted(self, ask: CommandContext, action: PendingAction) -> Reply:
        """Tells the person, and the model in its next turn, that the action was interrupted."""
        await self._actions.end(action.id, "unknown")
        words = (
            "⚠️ I was interrupted while {tool} ran: it may or may not have happened. Check before you ask for it again."
        )
        text = ask.say(words, tool=f"`{action.tool}`")
        record = TurnRecord(
            ask.turn_id,
            action.conversation_id,
            ask.person.id,
            press_message(ask, action),
            messages=(*call_messages(action, INTERRUPTED), ChatMessage("assistant", text)),
        )
        return Reply(text, record=record)


class _Confirmed:
    """A `routing.ports.Tools` with a single tool whose call was confirmed."""

    def __init__(self, toolbox: Toolbox, action: PendingAction) -> None:
        self._toolbox = toolbox
        self._action = action

    def traits(self, name: str) -> Traits:
        return self._toolbox.traits(name)

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        return await self._toolbox.run_confirmed(self._action, scope)


def call_messages(action: PendingAction, result: str) -> tuple[ChatMessage, ChatMessage]:
    """The call and its result as chat messages for the model."""
    call = _call(action)
    return ChatMessage("assistant", "", calls=(call,)), ChatMessage("tool", result, call_id=call.id, tool=call.name)


def press_message(ask: CommandContext, action: PendingAction) -> str:
    """The button press as a user message."""
    return ask.say("I confirm {tool}.", tool=f"`{action.tool}`")


def raw_result(result: str) -> str:
    """The raw result, shown when no model answered."""
    return fenced(_visible(limit_result(result, MAX_RESULT_CHARACTERS), keep="\n\t"))


def _cancelled(ask: CommandContext, action: PendingAction) -> Reply:
    """Replaces the card, unless the card was sent as a file."""
    words = ask.say("❌ Cancelled. {tool} was not run.", tool=f"`{action.tool}`")
    return Reply(words, apart=len(shown(action.arguments)) > MAX_CHARACTERS)


def _call(action: PendingAction) -> ToolCall:
    return ToolCall(f"confirmed_{action.id}", action.tool, action.arguments)


def _cut(ask: CommandContext, text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    last = MAX_CHARACTERS - FIRST_CHARACTERS
    left_out = ask.say("[{n:,} characters are left out here; the file has all of them]", n=len(text) - MAX_CHARACTERS)
    return f"{text[:FIRST_CHARACTERS]}\n{left_out}\n{text[-last:]}"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _name(text: str) -> str:
    return _visible(text).replace("`", "'")


def _visible(text: str, keep: str = "") -> str:
    return "".join(sign if sign == " " or sign in keep or _prints(sign) else _escape(sign) for sign in text)


def _prints(sign: str) -> bool:
    return unicodedata.category(sign)[0] not in "CZ"


def _escape(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"
