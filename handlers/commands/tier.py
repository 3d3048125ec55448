"""/tier: which class of model answers."""

from __future__ import annotations

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from routing import tiers
from routing.briefing import Plan
from routing.decisions import TierSource
from routing.errors import Refused
from routing.models.choice import provider_of
from routing.records import HistoryStore
from routing.router import Router
from routing.stores import PreferenceStore
from routing.types import DEFAULT_TIER, TIERS, Button, Preferences

SPEC = CommandSpec(
    "tier",
    "Show or choose the tier: balanced, smart, coding or deep",
    ("/tier", "/tier smart", "/tier smart force"),
    choices=(TIERS, ("force",)),
    personal=True,
)

WHY: dict[TierSource, str] = {
    "prefix": "the message began with !{tier}",
    "forced": "you locked it with /tier {tier} force",
    "conversation": "the model switched to it in this conversation",
    "skill": "an active skill asks for it",
    "preference": "you chose it with /tier {tier}",
    "default": "nothing else was chosen",
    "dynamic": "the turn turned to coding",
}


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return TierCommand(needs.preferences, needs.history, needs.router)


class TierCommand:
    """Shows the stored pair first, then what is in effect and why; sets it, with or without the lock."""

    def __init__(self, preferences: PreferenceStore, history: HistoryStore, router: Router) -> None:
        self._preferences = preferences
        self._history = history
        self._router = router

    async def __call__(self, ask: Ask) -> Reply:
        if ask.arguments:
            await self._set(ask)
        stored = await self._preferences.get(ask.person.id)
        conversation = await self._history.current(ask.message.chat)
        plan = await self._router.plan(ask.person, conversation.id)
        lines = [first_line(stored), *describe(ask, plan)]
        return Reply("  \n".join(lines), _keyboard(stored))

    async def _set(self, ask: Ask) -> None:
        name, *more = ask.arguments
        tier = tiers.parse(name)
        if more and [word.lower() for word in more] != ["force"]:
            raise Refused(
                "After the tier only the word force may follow: /tier {tier} force. Nothing was changed.", tier=tier
            )
        await self._preferences.set_tier(ask.person.id, tier, bool(more))
        conversation = await self._history.current(ask.message.chat)
        await self._history.set_conversation_tier(conversation.id, None)  # what the model had switched to ends here


def first_line(stored: Preferences) -> str:
    """The stored pair, the same in every language: outside tools read it."""
    return f"Tier: {stored.tier or DEFAULT_TIER}, Force: {'on' if stored.force else 'off'}"


def describe(ask: Ask, plan: Plan) -> list[str]:
    """The tier in effect and why, the model and why, who was passed over."""
    choice, decision = plan.choice, plan.decision
    reason = ask.say(WHY[decision.source], tier=decision.tier)
    lines = [ask.say("In effect: {tier}, because {reason}.", tier=decision.tier, reason=reason), model_line(ask, plan)]
    if plan.skill is not None:
        lines.append(ask.say("Skill: {name}.", name=plan.skill.name))
    if choice.source == "local":
        missing = sorted({provider_of(model) for model in choice.keyless})
        lines.append(
            ask.say(
                "No key is set for {providers}, so the small local model serves every tier.",
                providers=", ".join(missing),
            )
        )
    elif choice.keyless:
        lines.append(ask.say("Passed over, for want of a key: {models}.", models=", ".join(choice.keyless)))
    if choice.fallbacks:
        lines.append(ask.say("Next in the pool: {models}.", models=", ".join(choice.fallbacks)))
    return lines


def model_line(ask: Ask, plan: Plan) -> str:
    """The model, its reasoning level and where the choice comes from."""
    choice = plan.choice
    level = f", {ask.say('reasoning {level}', level=choice.reasoning)}" if choice.reasoning else ""
    return ask.say("Model: {model} ({source}).", model=f"`{choice.model}`{level}", source=ask.say(choice.source))


def _keyboard(stored: Preferences) -> tuple[tuple[Button, ...], ...]:
    """Two by two, a tick on the current tier, and the lock below."""
    current = stored.tier or DEFAULT_TIER
    buttons = [Button(f"✅ {tier}" if tier == current else tier, f"/tier {tier}") for tier in TIERS]
    lock = Button("🔓 Force: off" if stored.force else "🔒 Force", f"/tier {current}{'' if stored.force else ' force'}")
    return (tuple(buttons[:2]), tuple(buttons[2:]), (lock,))
