"""/tier: selects the tier that answers."""

from __future__ import annotations

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.demo_model import NOTE
from handlers.dependencies import CommandDependencies
from handlers.learning import Learner
from handlers.replies.contract_view import ContractView
from routing.errors import Refused
from routing.policy import tiers
from routing.ports import HistoryStore, PreferenceStore
from routing.router import Router
from routing.turn.plan import Plan
from routing.types.decisions import ModelChoice, TierDecision, TierSource
from routing.types.messages import Button
from routing.types.model_names import provider_of
from routing.types.people import Preferences
from routing.types.tiers import AUTO, DEFAULT_TIER, TIERS, TierChoice

SPEC = CommandSpec(
    "tier",
    "Show or choose the tier: balanced, smart, coding, deep; auto lets each message choose",
    ("/tier", "/tier auto", "/tier smart", "/tier smart force", "/tier default"),
    choices=((AUTO, *TIERS, tiers.DEFAULT), ("force",)),
    changes=True,
    personal=True,
)

WHY: dict[TierSource, str] = {
    "prefix": "the message began with !{tier}",
    "forced": "you locked it with /tier {tier} force",
    "conversation": "the model switched to it in this conversation",
    "skill": "an active skill asks for it",
    "preference": "you chose it with /tier {tier}",
    "auto": "/tier auto chose it",
    "owner": "it is the owner's default",
    "default": "nothing else was chosen",
    "dynamic": "the work turned to coding",
    "council": "it was a council",
}


def build(dependencies: CommandDependencies) -> Handler:
    contract = ContractView(dependencies.router.models, dependencies.guard, dependencies.steady)
    return TierCommand(
        dependencies.preferences, dependencies.history, dependencies.router, contract, dependencies.learner
    )


class TierCommand:
    """Shows the stored choice, then the tier in effect and the reason. Sets the tier and its lock."""

    def __init__(
        self,
        preferences: PreferenceStore,
        history: HistoryStore,
        router: Router,
        contract: ContractView,
        learner: Learner,
    ) -> None:
        self._preferences = preferences
        self._history = history
        self._router = router
        self._contract = contract
        self._learner = learner

    async def __call__(self, ask: CommandContext) -> Reply:
        if ask.arguments:
            await self._set(ask)
        stored = await self._preferences.get(ask.person.id)
        conversation = await self._history.current(ask.message.chat)
        plan = await self._router.plan(ask.person, conversation.id)
        default = tiers.default_for(ask.person.role, self._router.models.config.default_tier)
        said = [first_line(stored, default), *describe(ask, plan), *owner_default(ask, stored, default)]
        lines = [*said, *await self._contract.lines(ask, plan)]
        return Reply("  \n".join(lines), _keyboard(ask, stored, default))

    async def _set(self, ask: CommandContext) -> None:
        name, *more = ask.arguments
        tier = tiers.parse_preference(name, tiers.tiers_for(ask.person.role))
        if tier is not None:
            tiers.check_role(tier, ask.person.role)
        if more and tier is None:
            raise Refused(
                "The default can't be locked. Choose a tier to lock it: /tier smart force. Nothing was changed."
            )
        if more and tier == AUTO:
            raise Refused(
                "/tier auto can't be locked, because it chooses a tier for each message. Nothing was changed."
            )
        if more and [word.lower() for word in more] != ["force"]:
            raise Refused(
                "Only the word force can follow the tier: /tier {tier} force. Nothing was changed.", tier=tier
            )
        if more and not may(ask.person, "user"):
            words = "Only the role user and above can lock a tier; yours is {role}. /tier {tier} chooses it unlocked."
            raise Refused(words, role=ask.person.role, tier=tier)
        await self._preferences.set_tier(ask.person.id, tier, bool(more))
        if not (ask.message.private or may(ask.person, "user")):
            return  # guests must not change a group's conversation
        conversation = await self._history.current(ask.message.chat)
        await self._history.set_conversation_tier(conversation.id, None)  # ends a switch made by the model
        if tier is not None and tier != AUTO:
            await self._learner.tier_chosen(ask, tier)


def first_line(stored: Preferences, default: TierChoice | None) -> str:
    """The stored choice, the same in every language because external tools parse it. Without a choice, the default is
    shown."""
    return f"Tier: {_stored(stored, default)}, Force: {'on' if stored.force else 'off'}"


def owner_default(ask: CommandContext, stored: Preferences, default: TierChoice | None) -> list[str]:
    """Says that the tier is the owner's default, if the person has not chosen one."""
    if default is None or stored.auto or stored.tier is not None:
        return []
    words = "The owner set {tier} as the default. Choose your own with /tier."
    return [ask.say(words, tier=default)]


def describe(ask: CommandContext, plan: Plan) -> list[str]:
    """The tier in effect, the model, the reasons, and the skipped models."""
    choice, decision = plan.choice, plan.decision
    if decision.source == "auto" and not decision.signals:
        words = "In effect: a tier is chosen for each message, usually {tier}."
        lines = [ask.say(words, tier=decision.tier), model_line(ask, plan)]
    else:
        words = "In effect: {tier}, because {reason}."
        lines = [ask.say(words, tier=decision.tier, reason=because(ask, decision)), model_line(ask, plan)]
    if plan.skill is not None:
        lines.append(ask.say("Skill: {name}.", name=plan.skill.name))
    if choice.source == "local":
        words = "No API key for {providers}, so the demo model answers."
        lines += [ask.say(words, providers=_providers(choice)), ask.say(NOTE)]
    elif choice.source == "stand-in":
        words = "No API key for {providers}, so {model} answers."
        lines.append(ask.say(words, providers=_providers(choice), model=f"`{choice.model}`"))
    elif choice.keyless:
        lines.append(ask.say("Skipped (no API key): {models}.", models=", ".join(choice.keyless)))
    if choice.fallbacks:
        lines.append(ask.say("If it fails: {models}.", models=", ".join(choice.fallbacks)))
    return lines


def _providers(choice: ModelChoice) -> str:
    return ", ".join(sorted({provider_of(model) for model in choice.keyless}))


def because(ask: CommandContext, decision: TierDecision) -> str:
    """Why this tier was chosen, as a clause. Names what /tier auto detected in the message."""
    reason = ask.say(WHY[decision.source], tier=decision.tier)
    signals = ", ".join(ask.say(each) for each in decision.signals)
    return f"{reason} ({signals})" if signals else reason


def model_line(ask: CommandContext, plan: Plan) -> str:
    """The model, its reasoning level and the source of the choice."""
    choice = plan.choice
    level = f", {ask.say('reasoning {level}', level=choice.reasoning)}" if choice.reasoning else ""
    model = f"`{choice.model}`{level}"
    if choice.source == "local":  # its name says that it is local
        return ask.say("Model: {model}.", model=model)
    return ask.say("Model: {model} ({source}).", model=model, source=ask.say(choice.source))


def _keyboard(ask: CommandContext, stored: Preferences, default: TierChoice | None) -> tuple[tuple[Button, ...], ...]:
    """Two buttons per row, the current tier ticked. Then the lock, if available, and the way back to the owner's
    default."""
    role = ask.person.role
    current, usable = _stored(stored, default), (*tiers.tiers_for(role), AUTO)
    buttons = [Button(f"✅ {tier}" if tier == current else tier, f"/tier {tier}") for tier in usable]
    back: tuple[tuple[Button, ...], ...] = ()
    if default is not None and (stored.auto or stored.tier is not None):
        words = ask.say("↩ Owner's default ({tier})", tier=default)
        back = ((Button(words, f"/tier {tiers.DEFAULT}"),),)
    if current == AUTO or role == "guest":
        return (*(tuple(buttons[at : at + 2]) for at in range(0, len(buttons), 2)), *back)
    lock = Button(
        ask.say("🔓 Unlock" if stored.force else "🔒 Force"), f"/tier {current}{'' if stored.force else ' force'}"
    )
    return (tuple(buttons[:2]), tuple(buttons[2:4]), (buttons[4], lock), *back)


def _stored(stored: Preferences, default: TierChoice | None) -> TierChoice:
    return AUTO if stored.auto else stored.tier or default or DEFAULT_TIER
