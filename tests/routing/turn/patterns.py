"""Conversations as patterns with one letter per message."""

from __future__ import annotations

from collections.abc import Sequence

from routing.turn.context_window import Window
from routing.types.llm import ChatMessage, ToolCall

SMALL = Window(8_000, 50_000)


def conversation(pattern: str, size: int = 1) -> list[ChatMessage]:
    """`s` system, `u` user, `a` assistant, `c` an assistant with a call, `C` with two, `r` the next call's result,
    `x` a result whose call is missing; every text has `size` characters."""
    messages: list[ChatMessage] = []
    waiting: list[str] = []
    for at, kind in enumerate(pattern):
        text = f"{kind}{at}".ljust(size, ".")
        if kind in "cC":
            new = [f"call_{at}_{n}" for n in range("_cC".index(kind))]
            waiting += new
            calls = tuple(ToolCall(each, "f", "{}") for each in new)
            messages.append(ChatMessage("assistant", text, calls=calls))
        elif kind in "rx":
            call_id = waiting.pop(0) if kind == "r" else "gone"
            messages.append(ChatMessage("tool", text, call_id=call_id, tool="f"))
        else:
            roles: dict[str, ChatMessage] = {
                "s": ChatMessage("system", text),
                "u": ChatMessage("user", text),
                "a": ChatMessage("assistant", text),
            }
            messages.append(roles[kind])
    return messages


def whole(messages: Sequence[ChatMessage]) -> bool:
    """Every result follows its call, and every call has its result."""
    asked: set[str] = set()
    for message in messages:
        asked |= {call.id for call in message.calls}
        if message.role == "tool":
            if message.call_id not in asked:
                return False
            asked.remove(message.call_id)
    return not asked
