"""An ordinary message: the router answers it, and what it says becomes a reply and a record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handlers.asking import Ask, Reply
from handlers.fences import fenced
from routing.calls import Finish
from routing.conversation.truncation import emergency
from routing.errors import (
    ContextOverflow,
    EmptyAnswer,
    KeyRejected,
    ModelError,
    ModelUnknown,
    PolicyRefused,
    RateLimited,
    Refused,
    Unreachable,
)
from routing.outcome import Bound, Outcome
from routing.records import HistoryStore, TurnRecord
from routing.router import Router
from routing.tiers import split_prefix
from routing.types import Attachment, Button, InboundMessage, Question, Tier

MOST_TEXT_BYTES = 200_000
"""A text document above this is not read."""

_ENDINGS: dict[Finish, str] = {
    "cut": "✂️ The answer broke off here: the provider ended it early. /retry asks again.",
    "late": "✂️ The answer broke off here: it was not done in time. /retry asks again.",
    "length": "✂️ The answer stops here: it reached the model's length limit. Write “go on” for the rest.",
    "stopped": "⏹ Stopped.",
    "policy": "🛑 The provider ended the answer here because of its content rules.",
}
_LIMITS: dict[Bound, str] = {
    "calls": "⏱ I stop here: one turn may call a model {value:g} times at most. Write “go on” to continue.",
    "tools": "⏱ I stop here: one turn may use tools {value:g} times at most. Write “go on” to continue.",
    "seconds": "⏱ I stop here: one turn may take {value:g} seconds at most. Write “go on” to continue.",
    "money": "💰 I stop here: one turn may cost ${value:g} at most. Write “go on” to continue.",
}
_FAILURES: tuple[tuple[type[ModelError], str], ...] = (
    (KeyRejected, "⚠️ {model} can't be used: {reason}. Nothing was lost; /retry asks again once that is mended."),
    (ModelUnknown, "⚠️ {model} is not known to its provider ({reason}). Choose another with /model, then /retry."),
    (RateLimited, "⏳ {model} is busy ({reason}). Your message is kept: /retry in a while."),
    (EmptyAnswer, "⚠️ {model} gave an empty answer, twice. /retry asks again; /tier changes the model."),
    (
        PolicyRefused,
        "🛑 {model} declined this because of its content rules ({reason}). Rephrase it, or use another model.",
    ),
    (ContextOverflow, "⚠️ This is longer than {model} can read. Shorten it, or begin anew with /new."),
    (Unreachable, "⚠️ {model} can't be reached ({reason}). Your message is kept: /retry asks again."),
)
_OTHER_FAILURE = "⚠️ {model} refused the request ({reason}). /retry asks again; /tier changes the model."

FetchText = Callable[[Attachment], Awaitable[str]]


class Chat:
    """`read_text` fetches a text document, `transcribe` turns a voice message into words; both may raise Refused."""

    def __init__(self, router: Router, history: HistoryStore, read_text: FetchText, transcribe: FetchText) -> None:
        self._router = router
        self._history = history
        self._read_text = read_text
        self._transcribe = transcribe

    async def answer(self, ask: Ask) -> Reply:
        """Answer a message with all that came with it."""
        prefix, written = split_prefix(ask.message.text)
        if prefix is not None and not (written.strip() or ask.message.attachments or ask.message.quoted):
            raise Refused("Write your question behind !{tier}, in the same message.", tier=prefix)
        await ask.live.working()
        conversation = await self._history.current(ask.message.chat)
        text = await self.whole_text(ask.message, written)
        pictures = _pictures(ask.message)
        question = Question(ask.person, conversation.id, text, pictures, prefix=prefix, source=_source(ask.message))
        return await self.turn(ask, question)

    async def unanswered(self, ask: Ask, words: str) -> Reply:
        """Say why a message gets no answer; it is kept, so that /retry asks it."""
        conversation = await self._history.current(ask.message.chat)
        record = TurnRecord(
            turn_id=ask.turn_id,
            conversation_id=conversation.id,
            person_id=ask.person.id,
            question=await self.whole_text(ask.message, split_prefix(ask.message.text)[1]),
            pictures=_pictures(ask.message),
            source=_source(ask.message),
        )
        return Reply(words, _retry(ask, None, record.turn_id), record)

    async def turn(self, ask: Ask, question: Question) -> Reply:
        """One turn of the router as a reply."""
        outcome = await self._router.answer(question, ask.live, ask.stop)
        notices = (self._blind_notice(ask, question, outcome), *_losses(ask, outcome))
        text = "\n\n".join(part for part in (_answer_text(ask, outcome), *notices) if part)
        answered = outcome.completion is not None and outcome.completion.finish not in ("cut", "late")
        kept = question.kept if _stands(question, outcome) else ask.turn_id
        again = () if answered else _retry(ask, question.prefix, kept)
        return Reply(text, again, _record(ask, question, outcome))

    async def whole_text(self, message: InboundMessage, written: str) -> str:
        """The message it replies to, what was written, the documents and the voice messages, as one text."""
        parts = ["\n".join(f"> {line}" for line in message.quoted.splitlines())] if message.quoted else []
        if written.strip():
            parts.append(written.strip())
        for each in message.attachments:
            if each.kind == "text":
                if each.size > MOST_TEXT_BYTES:
                    raise Refused(
                        "{name} is too large to read: {kilobytes} kB, at most {most} kB.",
                        name=each.name,
                        kilobytes=each.size // 1000,
                        most=MOST_TEXT_BYTES // 1000,
                    )
                parts.append(f"{each.name}:\n{fenced(await self._read_text(each))}")
            elif each.kind == "voice":
                parts.append(await self._transcribe(each))
        return "\n\n".join(parts) or ("What is in this picture?" if message.attachments else "")

    def _blind_notice(self, ask: Ask, question: Question, outcome: Outcome) -> str:
        model = outcome.choice.model
        if not question.pictures or self._router.models.catalog.lookup(model).supports_vision:
            return ""
        return ask.say(
            "👁 {model} can't see pictures, so it answered without yours. /tier or /model changes it.", model=model
        )


def _pictures(message: InboundMessage) -> tuple[Attachment, ...]:
    return tuple(each for each in message.attachments if each.kind == "image")


def _source(message: InboundMessage) -> str:
    """The id by which an edit is known again; none for a question that came in several messages."""
    return message.message_id if message.parts == 1 else ""


def _answer_text(ask: Ask, outcome: Outcome) -> str:
    if outcome.completion is None:
        error = outcome.error
        assert error is not None
        template = next((words for kind, words in _FAILURES if isinstance(error, kind)), _OTHER_FAILURE)
        return ask.say(template, model=f"`{error.model}`", reason=error.reason)
    parts = [outcome.completion.text.strip()]
    ending = _ENDINGS.get(outcome.completion.finish)
    if outcome.limit is not None:
        parts.append(ask.say(_LIMITS[outcome.limit.bound], value=outcome.limit.value))
    elif ending is not None:
        parts.append(ask.say(ending))
    return "\n\n".join(part for part in parts if part)


def _losses(ask: Ask, outcome: Outcome) -> list[str]:
    """What the model was not told, when that is new."""
    said = []
    if outcome.fit.cut_question:
        words = "✂️ Your message is longer than {model} can read: a part of it was left out."
        said.append(ask.say(words, model=f"`{outcome.choice.model}`"))
    if outcome.fit.lost:
        words = "⚠️ The older messages could not be summed up ({reason}); {model} answered without them."
        said.append(ask.say(words, reason=outcome.fit.lost, model=f"`{outcome.choice.model}`"))
    return said


def _retry(ask: Ask, prefix: Tier | None, about: str) -> tuple[tuple[Button, ...], ...]:
    return ((Button(ask.say("🔁 Retry"), f"/retry {prefix}" if prefix else "/retry", about),),)


def _stands(question: Question, outcome: Outcome) -> bool:
    """Nothing came of asking again: the question and the answer that there were are still the best ones."""
    nothing_new = outcome.completion is None or not outcome.completion.text.strip()
    return question.replaces is not None and nothing_new


def _record(ask: Ask, question: Question, outcome: Outcome) -> TurnRecord:
    if _stands(question, outcome):
        return TurnRecord(ask.turn_id, question.conversation_id, question.person.id, "", calls=outcome.calls)
    asked = question.text if outcome.most_chars is None else emergency(question.text, outcome.most_chars)
    return TurnRecord(
        turn_id=ask.turn_id,
        conversation_id=question.conversation_id,
        person_id=question.person.id,
        question=asked,
        pictures=question.pictures,
        said=outcome.said,
        calls=outcome.calls,
        source=question.source,
        replaces_from=question.replaces,
    )
