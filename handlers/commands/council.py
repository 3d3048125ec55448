"""/council: several models answer, rank each other, and one of the strongest writes the final answer."""

from __future__ import annotations

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.council.council import ANYBODY, ROLE, CouncilSessions, Plan, Wanted, read_wanted
from handlers.council.offers import Offers
from handlers.council.replies import about, estimate_line, names, progress, skipped_members, verdict_text
from handlers.council.votes import document_text
from handlers.dependencies import CommandDependencies
from handlers.question_text import QuestionTexts
from handlers.replies.budget_limits import cost_of, over_budget_notice
from routing.council.seats import MAX_SEATS, MIN_SEATS
from routing.council.verdict import Verdict
from routing.errors import Refused
from routing.ports import ChatStore, HistoryStore
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import ChatMessage
from routing.types.messages import Button, Document
from routing.types.tiers import TIERS
from routing.types.usage import TurnCost

NUMBERS = tuple(str(number) for number in range(MIN_SEATS, MAX_SEATS + 1))

SPEC = CommandSpec(
    "council",
    "Have 2 to 7 models answer a question, rank each other and agree",
    ("/council", "/council Is P equal to NP?", "/council smart 5 Is P equal to NP?", "/council yes", "/council votes"),
    choices=((*TIERS, *NUMBERS), NUMBERS),
    free_text=True,
    role=ROLE,
    queued=True,
    repeatable=("votes", "no"),
)
READABLE = ("text", "voice")
"""Kinds of attachments that can be converted to text."""
VOTES = "council.md"


def build(dependencies: CommandDependencies) -> Handler:
    return CouncilCommand(dependencies.council, dependencies.texts, dependencies.chats, dependencies.history)


class CouncilCommand:
    """Estimates the cost first. Asks for a confirmation if the council is expensive, or if the chat does not show its
    progress."""

    def __init__(
        self, councils: CouncilSessions, texts: QuestionTexts, chats: ChatStore, history: HistoryStore
    ) -> None:
        self._councils = councils
        self._models = councils.models
        self._texts = texts
        self._chats = chats
        self._history = history
        self._offers = Offers()

    async def __call__(self, ask: CommandContext) -> Reply:
        pending, brought = self._offers.pending(ask), ask.button.about if ask.button is not None else ""
        if (confirmed := _confirmed(ask.rest)) is not None:
            question, wanted = (brought, confirmed) if brought else (pending.question, pending.wanted)
            return await self._confirmed(ask, question, wanted)
        match ask.rest.lower():
            case "no":
                pending.question = ""
                return Reply(ask.say("Cancelled. Nothing was asked."))
            case "votes":
                return _votes(ask, brought or pending.votes)
        wanted, written = read_wanted(ask.rest)
        question = await self._question(ask, written)
        if not question:
            return await self._help(ask, wanted)
        plan = await self._councils.plan(ask.say, question, wanted)
        streams = await self._chats.streaming(ask.message.chat)
        if ask.attempts or not streams or plan.needs_confirmation(self._models.config.council.confirm_above):
            return self._offer(ask, plan)
        return await self._run_council(ask, plan)

    async def _question(self, ask: CommandContext, written: str) -> str:
        """The question as text, with the quoted message and readable attachments. Raises Refused for other
        attachments."""
        unreadable = [each.name for each in ask.message.attachments if each.kind not in READABLE]
        if unreadable:
            words = "A council can only read text, so it can't use {name}. Nothing was asked."
            raise Refused(words, name=unreadable[0])
        await ask.live.working()
        return (await self._texts.whole_text(ask, written)).strip()

    async def _confirmed(self, ask: CommandContext, question: str, wanted: Wanted) -> Reply:
        """Runs a confirmed council. After an interruption it asks for another confirmation."""
        if self._offers.is_confirmed(ask):
            raise Refused("This was already asked. To ask it again, send it again with /council.")
        if not question:
            raise Refused("There is nothing to confirm here. Send your question again with /council.")
        await ask.live.working()
        plan = await self._councils.plan(ask.say, question, wanted)
        return self._offer(ask, plan) if ask.attempts else await self._run_council(ask, plan)

    def _offer(self, ask: CommandContext, plan: Plan) -> Reply:
        pending, n = self._offers.pending(ask), len(plan.seats)
        pending.question, pending.wanted = plan.question, plan.wanted
        lines = [
            ask.say("🏛 Shall I ask {n} models: {models}?", n=n, models=names(seat.model for seat in plan.seats)),
            estimate_line(ask.say, plan.reckoned),
        ]
        if ask.attempts:
            words = "⚠️ I was restarted. If the council had already begun, its cost until then is not counted."
            lines.insert(0, ask.say(words))
        words = ask.say("🏛 Ask {n} models · {cost}", n=n, cost=about(ask.say, plan.reckoned))
        yes = Button(words, f"/council yes {plan.wanted}".rstrip(), plan.question)
        no = Button(ask.say("Cancel"), "/council no")
        return Reply("  \n".join([*lines, *self._passed(ask, plan)]), ((yes, no),), apart=True)

    async def _run_council(self, ask: CommandContext, plan: Plan) -> Reply:
        """Runs the council within the payer's limits."""
        cost = cost_of(ask)
        with self._councils.sessions.enter(ask.person.id, ask.message.sent_at):
            held = await self._councils.hold(ask.say, plan, cost, ask.message.sent_at)
            self._offers.confirm(ask)
            self._offers.pending(ask).question = ""
            verdict = await self._councils.run(
                plan, held, cost, ask.stop, lambda now: ask.live.show(progress(ask.say, now, plan.reckoned))
            )
        return await self._reply(ask, plan, verdict, cost)

    async def _reply(self, ask: CommandContext, plan: Plan, verdict: Verdict, cost: TurnCost) -> Reply:
        messages = (ChatMessage("assistant", verdict.answer, made_by=verdict.writer),) if verdict.answer else ()
        record = TurnRecord(
            ask.turn_id,
            await ask.conversation_id(self._history),
            ask.person.id,
            plan.question,
            messages=messages,
            calls=tuple(cost.calls),
            facts=_facts(plan, verdict),
        )
        beyond = [over_budget_notice(ask, cost.over, cheapest=False)] if cost.over is not None else []
        text = "  \n".join([verdict_text(ask.say, verdict), *beyond, *self._passed(ask, plan)])
        if not verdict.answered:
            return Reply(text, record=record)
        pending = self._offers.pending(ask)
        pending.votes = document_text(ask.say, plan.question, verdict)
        return Reply(text, ((Button(ask.say("🗳 Votes"), "/council votes", pending.votes),),), record)

    def _passed(self, ask: CommandContext, plan: Plan) -> list[str]:
        skipped = skipped_members(ask.say, self._models, plan.skipped)
        return [ask.say("Skipped: {models}.", models=skipped)] if skipped else []

    async def _help(self, ask: CommandContext, wanted: Wanted) -> Reply:
        words = (
            "🏛 A council: several models from different providers answer your question on their own and rank each "
            "other's answers; one of the strongest writes the final answer. Write the question after /council, or "
            "reply with /council to the message that asks it. A tier and a number from {least} to {most} before the "
            "question choose the models: /council smart 5 Is P equal to NP?"
        )
        plan = await self._councils.plan(ask.say, "", wanted)
        now = ask.say(
            "Right now I would ask {models}: {reckoning}.",
            models=names(each.model for each in plan.seats),
            reckoning=estimate_line(ask.say, plan.reckoned),
        )
        return Reply("\n\n".join([ask.say(words, least=MIN_SEATS, most=MAX_SEATS), now, *self._passed(ask, plan)]))


def _confirmed(rest: str) -> Wanted | None:
    """Parses the members of `yes smart 5`; None for anything else, because "yes or no?" is a question."""
    first, _, more = rest.partition(" ")
    if first.lower() != "yes":
        return None
    wanted, question = read_wanted(more) if more.strip() else (ANYBODY, "")
    return None if question else wanted


def _facts(plan: Plan, verdict: Verdict) -> TurnFacts:
    """The turn's facts, with the tier of the model that wrote the answer or would have. A council that ran out of time
    before its synthesis counts as timed out; one that only missed a slow member does not."""
    tiers = {seat.model: seat.tier for seat in plan.seats}
    return TurnFacts(
        tier=tiers.get(verdict.writer, plan.seats[0].tier),
        source="council",
        model=verdict.writer,
        seconds=verdict.seconds,
        timed_out=verdict.failure is not None and verdict.failure.cause in ("late", "line"),
    )


def _votes(ask: CommandContext, text: str) -> Reply:
    if not text:
        raise Refused("There are no votes to show here. The button below a council's answer shows them for a week.")
    return Reply(ask.say("🗳 What each member said, and how it ranked the others."), document=Document(VOTES, text))
