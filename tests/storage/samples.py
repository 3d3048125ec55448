"""Sample people, chats, messages and turns."""

from __future__ import annotations

from typing import Any

from routing.types.history import TurnRecord
from routing.types.llm import ChatMessage
from routing.types.messages import Attachment, ChatKey, InboundMessage, Press, UserKey
from routing.types.usage import CallRecord

ANN, BEN = UserKey("telegram", "1"), UserKey("telegram", "2")
HOME, OTHER, TOPIC = ChatKey("telegram", "1"), ChatKey("telegram", "9"), ChatKey("telegram", "9", "7")
PHOTO = Attachment("image", "a.png", "image/png", 5, "telegram:abc")


def message(update: str, text: str = "hi", chat: ChatKey = HOME) -> InboundMessage:
    return InboundMessage(ANN, chat, "42", update, text, 5.0, attachments=(PHOTO,), press=Press("q", "m"))


def record(conversation: int, person: int, question: str, answer: str = "", **more: Any) -> TurnRecord:
    spent: dict[str, Any] = {"tier": "smart", "model": "openai/m", "usage": None, "seconds": 1.5}
    spent |= {name: more.pop(name) for name in tuple(more) if name in spent}
    messages = (ChatMessage("assistant", answer, made_by="openai/m"),) if answer else ()
    calls = (CallRecord(**spent),) if answer else ()
    return TurnRecord("t", conversation, person, question, messages=messages, calls=calls, **more)
