"""The text of a question: what a person wrote, said, quoted and attached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handlers.context import CommandContext, ReceivedFile
from handlers.incoming import IncomingFiles
from handlers.replies.budget_limits import cost_of, refusal
from handlers.replies.names import plain_name
from routing.errors import Refused
from routing.ports import HistoryStore, PreferenceStore
from routing.types.budgets import BudgetExceeded
from routing.types.messages import Attachment, InboundMessage
from routing.types.usage import TurnCost

Transcribe = Callable[[Attachment, str, TurnCost, int], Awaitable[str]]
"""Transcribes a voice message. Arguments: the attachment, the code of the language or empty, the cost to charge, the
conversation id."""


class QuestionTexts:
    """`incoming` keeps what people send, and `transcribe` downloads a voice message. Both may raise Refused."""

    def __init__(
        self, history: HistoryStore, preferences: PreferenceStore, incoming: IncomingFiles, transcribe: Transcribe
    ) -> None:
        self._history = history
        self._preferences = preferences
        self._incoming = incoming
        self._transcribe = transcribe

    async def whole_text(self, ask: CommandContext, written: str) -> str:
        """Joins the quoted message, the text, the documents and the voice transcripts. Other people's words are quoted
        line by line with their author, so that the model can tell them from the person's own."""
        message = ask.message
        content = await self._content(ask, written)
        if content and message.forwarded_from is not None:
            author = plain_name(message.forwarded_from) or "someone"
            content = _quotation(f"Forwarded message from {author}, not written by me", content)
        if message.quoted:
            author = plain_name(message.quoted_from)
            quoted = _quotation(f"I reply to {author}" if author else "I reply to", message.quoted)
            content = f"{quoted}\n\n{content}".rstrip()
        return content or ("What is in this picture?" if message.attachments else "")

    async def keep_pictures(self, ask: CommandContext) -> None:
        """Keep the pictures of a message for tools; the model gets them in any case."""
        for each in _pictures(ask.message):
            try:
                await self._incoming.store(each, ask.person.id)
            except Refused as refused:
                ask.kept.append(ReceivedFile(each.name, "", refusal=refused))

    async def _content(self, ask: CommandContext, written: str) -> str:
        """The text followed by the documents and the voice transcripts. Raises Refused for a document that can't be
        kept and came without a question."""
        parts = []
        if written.strip():
            parts.append(written.strip())
        alone = not parts and len(ask.message.attachments) == 1
        for each in ask.message.attachments:
            if each.kind in ("text", "document"):
                received = await self._incoming.document(each, ask.person.id, alone)
                ask.kept.append(received)
                parts.append(received.text)
            elif each.kind == "voice":
                ask.heard.append(await self._transcribed(ask, each))
                parts.append(ask.heard[-1])
        return "\n\n".join(parts)

    async def _transcribed(self, ask: CommandContext, attachment: Attachment) -> str:
        """Transcribes a voice message and charges its sender. Raises Refused if a budget is used up."""
        conversation = await self._history.current(ask.message.chat)
        language = (await self._preferences.settings(ask.person.id)).language
        ask.live.show(ask.say("🎧 Listening …"))
        try:
            return await self._transcribe(attachment, language, cost_of(ask), conversation.id)
        except BudgetExceeded as over:
            raise refusal(ask.say, over.reached, ask.message.sent_at) from None


def _quotation(title: str, text: str) -> str:
    """Quotes another author's text. Every line is marked, so no line can fake the end of the quotation."""
    return "\n".join(f"> {line}" for line in (f"[{title}]", *text.splitlines()))


def _pictures(message: InboundMessage) -> tuple[Attachment, ...]:
    return tuple(each for each in message.attachments if each.kind == "image")


def shown_pictures(ask: CommandContext) -> tuple[Attachment, ...]:
    """The pictures of a message, and the pages of the scanned documents that were read before."""
    return (*_pictures(ask.message), *(page for each in ask.kept for page in each.pages))


def own_words(ask: CommandContext, written: str) -> str:
    """What a message with documents says itself, in writing and in voice messages that were transcribed, or else the
    names of the documents; empty for any other message."""
    names = [each.name for each in ask.message.attachments if each.kind in ("text", "document")]
    if not names or ask.message.forwarded_from is not None:
        return ""
    return "\n\n".join(filter(None, (written.strip(), *ask.heard))) or " ".join(names)


def source_of(message: InboundMessage) -> str:
    """The id that links a later edit to this question; empty for a question sent in several messages."""
    return message.message_id if message.parts == 1 else ""
