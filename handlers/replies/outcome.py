"""Renders an outcome: the answer and how it ended, or why there is none."""

from __future__ import annotations

from decimal import Decimal

from handlers.context import CommandContext
from handlers.replies.budget_limits import refused
from handlers.replies.costs import dollars
from routing.errors import (
    ContextOverflow,
    EmptyAnswer,
    KeyRejected,
    ModelError,
    ModelUnknown,
    OutOfCredit,
    PolicyRefused,
    RateLimited,
    Reason,
    TooSlow,
    Unreachable,
)
from routing.turn.context import PICTURE_BYTES, PICTURES_SHOWN
from routing.types.budgets import BudgetExceeded
from routing.types.llm import Finish
from routing.types.model_names import provider_of
from routing.types.turns import Bound, Limit, Outcome

ENDINGS: dict[Finish, str] = {
    "cut": "✂️ The provider cut the answer off here. /retry asks again.",
    "late": "✂️ Stopped at the {seconds:g} s limit. /retry asks again.",
    "length": "✂️ The answer stops here: it reached the model's length limit. Write “go on” for the rest.",
    "stopped": "⏹ Stopped.",
    "policy": "🛑 The provider ended the answer here because of its content rules.",
}
LIMITS: dict[Bound, str] = {
    "calls": "⏱ Stopped: the limit is {value:g} model calls per answer. Write “go on” to continue.",
    "tools": "⏱ Stopped: the limit is {value:g} tool calls per answer. Write “go on” to continue.",
    "seconds": "⏱ Stopped at the {value:g} s limit. Write “go on” to continue.",
    "money": "💰 Stopped: one answer may cost up to {value}. Write “go on” to continue.",
    "budget": "💰 Stopped: the limit of {value} is used up. /budget shows it.",
}
NOTHING = "⚠️ {model} gave an empty answer twice. /retry asks again; /tier changes the model."
FAILURES: tuple[tuple[type[ModelError], str], ...] = (
    (KeyRejected, "⚠️ {model} can't be used: {reason}. Your message is saved; use /retry once the key is fixed."),
    (
        OutOfCredit,
        "⚠️ The {vendor} account is out of credit. Your message is saved; use /retry once the owner has added some.",
    ),
    (ModelUnknown, "⚠️ The provider doesn't know {model} ({reason}). Choose another model with /model, then /retry."),
    (RateLimited, "⏳ {model} is busy ({reason}). Your message is saved; try /retry in a while."),
    (EmptyAnswer, NOTHING),
    (
        PolicyRefused,
        "🛑 {model} declined this because of its content rules ({reason}). Rephrase it, or use another model.",
    ),
    (ContextOverflow, "⚠️ This is too long for {model}. Shorten it, or start over with /new."),
    (TooSlow, "⏳ {model} was too slow ({reason}). Your message is saved; /retry asks again."),
    (Unreachable, "⚠️ {model} can't be reached ({reason}). Your message is saved; /retry asks again."),
)
OTHER_FAILURE = "⚠️ {model} refused the request ({reason}). /retry asks again; /tier changes the model."


VENDORS = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    "groq": "Groq",
    "openrouter": "OpenRouter",
}


def shown(provider: str) -> str:
    """The provider's display name."""
    return VENDORS.get(provider, provider)


def answer_text(ask: CommandContext, outcome: Outcome) -> str:
    """The answer or the error, in the person's language."""
    if outcome.completion is None:
        error = outcome.error
        assert error is not None
        if isinstance(error, BudgetExceeded):
            return f"{refused(ask, error.reached)} {ask.say('Your message is saved; /retry asks again.')}"
        template = next((words for kind, words in FAILURES if isinstance(error, kind)), OTHER_FAILURE)
        vendor = shown(provider_of(error.model))
        text = ask.say(template, model=f"`{error.model}`", reason=reason(ask, error.reason, error.raw), vendor=vendor)
        if outcome.limit is None:
            return text
        return f"{text}\n\n{_limit(ask, outcome.limit)}"
    if outcome.completion.finish == "length" and not outcome.completion.text.strip():
        return ask.say(NOTHING, model=f"`{outcome.choice.model}`")
    parts = [outcome.completion.text.strip()]
    ending = ENDINGS.get(outcome.completion.finish)
    if outcome.limit is not None:
        parts.append(_limit(ask, outcome.limit))
    elif ending is not None:
        parts.append(ask.say(ending, seconds=round(outcome.completion.seconds)))
    return "\n\n".join(part for part in parts if part)


def reason(ask: CommandContext, plain: str, raw: str) -> str:
    """Why a model failed. Only owners see the provider's own message, and only in private."""
    if not raw or ask.person.role != "owner" or not ask.message.private:
        return ask.say(plain)
    return ask.say(raw) if isinstance(raw, Reason) else raw


def _limit(ask: CommandContext, limit: Limit) -> str:
    """Which limit of the turn was reached."""
    value = dollars(Decimal(str(limit.value))) if limit.bound in ("money", "budget") else limit.value
    return ask.say(LIMITS[limit.bound], value=value)


def input_warnings(ask: CommandContext, outcome: Outcome) -> list[str]:
    """Warnings about input that the model did not get, and accounts that it lacked."""
    warnings = []
    if outcome.fit.cut_question:
        words = "✂️ Your message is too long for {model}, so part of it was left out."
        warnings.append(ask.say(words, model=f"`{outcome.choice.model}`"))
    if outcome.fit.pictures_left_out:
        words = "🖼 I left out {n} of your pictures: I look at {most} at a time, up to {size} MB in total."
        left_out = outcome.fit.pictures_left_out
        warnings.append(ask.say(words, n=left_out, most=PICTURES_SHOWN, size=PICTURE_BYTES // 1_000_000))
    if outcome.fit.pictures_missing:
        words = "🖼 {n} of your pictures could not be read, so the model did not see them. Send them again."
        warnings.append(ask.say(words, n=outcome.fit.pictures_missing))
    if outcome.fit.lost:
        words = "⚠️ The older messages could not be summarised ({reason}), so {model} answered without them."
        warnings.append(ask.say(words, reason=outcome.fit.lost, model=f"`{outcome.choice.model}`"))
    hint = "🔌 I need access to your account for that: /connect {kind} asks for it, in a private chat."
    warnings += [ask.say(hint, kind=kind) for kind in outcome.connect]
    return warnings
