"""Asks a model for one word, to see whether it answers."""

from __future__ import annotations

import asyncio

from routing.errors import ModelError, Reason, Unreachable
from routing.policy.models import Models
from routing.ports import Llm
from routing.types.decisions import ModelChoice
from routing.types.llm import ChatMessage

ANSWER_TOKENS = 64
QUESTION = ChatMessage("user", "Answer with the one word: yes")


async def probe(llm: Llm, models: Models, model: str, seconds: float) -> ModelError | None:
    """The error, or None once the model begins to answer. The answer is not read to its end."""
    try:
        async with asyncio.timeout(seconds):
            choice = ModelChoice(model, None, "configured")
            async for _ in llm.stream(models.request("balanced", choice, (QUESTION,), room=ANSWER_TOKENS)):
                return None
    except TimeoutError:
        return Unreachable(model, Reason("no answer within {seconds:g} s", seconds=seconds))
    except ModelError as error:
        return error
    return Unreachable(model, "it gave an empty answer")
