"""/council: several models answer, rank each other, and one of the strongest writes what comes of it."""

from __future__ import annotations

from random import SystemRandom

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.chat import Chat
from handlers.council.convening import ANYBODY, Convening, Plan, Wanted, read_wanted
from handlers.council.sittings import Sittings
from handlers.council.votes import document_text
from handlers.council.words import about, names, passed_over, progress, reckoning, verdict_text
from handlers.limits import bill_of, gone_beyond, refusal
from handlers.needs import Needs
from routing.caller import Caller
from routing.calls import ChatMessage
from routing.council.calling import ModelCalls
from routing.council.council import Council
from routing.council.paying import charged, for_books
from routing.council.prompts import MOST_QUESTION_CHARS
from routing.council.seats import LEAST_SEATS, MOST_SEATS
from routing.council.verdict import Verdict
from routing.errors import Refused
from routing.models.choice import Models
from routing.money.budget import Budget
from routing.money.standing import Reached
from routing.ports import Clock
from routing.records import HistoryStore, TurnFacts, TurnRecord
from routing.stores import ChatStore
from routing.types import TIERS, Button, Document

NUMBERS = tuple(str(number) for number in range(LEAST_SEATS, MOST_SEATS + 1))

SPEC = CommandSpec(
    "council",
    "Have 2 to 7 models answer a question, rank each other and agree",
    ("/council", "/council Is P equal to NP?", "/council smart 5 Is P equal to NP?", "/council yes", "/council votes"),
    choices=((*TIERS, *NUMBERS), NUMBERS),
    free_text=True,
    role="user",
    queued=True,
    repeatable=("votes", "no"),
)
READABLE = ("text", "voice")
"""Attachments that become words."""
VOTES = "council.md"


def build(needs: Needs) -> Handler:
    """The command with its ports. What a council may cost is held as a whole, so its calls have no purse."""
    models = needs.router.models
    caller = Caller(needs.llm, models.health, needs.steady)
    convening = Convening(models, needs.purse, needs.steady)
    budget, chats = needs.purse.budget, needs.chats
    return CouncilCommand(models, caller, convening, budget, needs.chat, chats, needs.history, needs.steady)


class CouncilCommand:
    """Says what it will take, asks first where that is much or nothing would be seen of it for minutes, and holds one
    council a person at a time."""

    def __init__(
        self,
        models: Models,
        caller: Caller,
        convening: Convening,
        budget: Budget,
        chat: Chat,
        chats: ChatStore,
        history: HistoryStore,
        clock: Clock,
    ) -> None:
        self._models = models
        self._caller = caller
        self._convening = convening
        self._budget = budget
        self._chat = chat
        self._chats = chats
        self._history = history
        self._clock = clock
        self._sittings = Sittings(clock)

    async def __call__(self, ask: Ask) -> Reply:
        left, brought = self._sittings.left(ask), ask.button.about if ask.button is not None else ""
        if (confirmed := _confirmed(ask.rest)) is not None:
            question, wanted = (brought, confirmed) if brought else (left.question, left.wanted)
            return await self._confirmed(ask, question, wanted)
        match ask.rest.lower():
            case "no":
                left.question = ""
                return Reply(ask.say("Cancelled. Nothing was asked."))
            case "votes":
                return _votes(ask, brought or left.votes)
        wanted, written = read_wanted(ask.rest)
        question = await self._question(ask, written)
        if not question:
            return await self._help(ask, wanted)
        plan = await self._convening.plan(ask, question, wanted)
        streams = await self._chats.streaming(ask.message.chat)
        if ask.attempts or not streams or plan.needs_a_yes(self._models.config.council.confirm_above):
            return self._offer(ask, plan)
        return await self._sit(ask, plan)

    async def _question(self, ask: Ask, written: str) -> str:
        """What was written, what it replies to, and the texts that came with it."""
        unreadable = [each.name for each in ask.message.attachments if each.kind not in READABLE]
        if unreadable:
            words = "A council can only read text, so it can't use {name}. Nothing was asked."
            raise Refused(words, name=unreadable[0])
        await ask.live.working()
        question = (await self._chat.whole_text(ask, written)).strip()
        if len(question) > MOST_QUESTION_CHARS:
            words = (
                "This question is too long for a council: {n} characters, and the limit is {most}. Nothing was asked."
            )
            raise Refused(words, most=MOST_QUESTION_CHARS, n=len(question))
        return question

    async def _confirmed(self, ask: Ask, question: str, wanted: Wanted) -> Reply:
        """What was interrupted is not begun again without another yes."""
        if self._sittings.used(ask):
            raise Refused("This was already asked. To ask it again, send it again with /council.")
        if not question:
            raise Refused("There is nothing to confirm here. Send your question again with /council.")
        await ask.live.working()
        plan = await self._convening.plan(ask, question, wanted)
        return self._offer(ask, plan) if ask.attempts else await self._sit(ask, plan)

    def _offer(self, ask: Ask, plan: Plan) -> Reply:
        left, n = self._sittings.left(ask), len(plan.seats)
        left.question, left.wanted = plan.question, plan.wanted
        lines = [
            ask.say("🏛 Shall I ask {n} models: {models}?", n=n, models=names(seat.model for seat in plan.seats)),
            reckoning(ask, plan.reckoned),
        ]
        if ask.attempts:
            words = "⚠️ I was interrupted. What the council had cost by then is not counted."
            lines.insert(0, ask.say(words))
        words = ask.say("🏛 Ask {n} models · {cost}", n=n, cost=about(ask, plan.reckoned))
        yes = Button(words, f"/council yes {plan.wanted}".rstrip(), plan.question)
        no = Button(ask.say("Cancel"), "/council no")
        return Reply("  \n".join([*lines, *self._passed(ask, plan)]), ((yes, no),), apart=True)

    async def _sit(self, ask: Ask, plan: Plan) -> Reply:
        """The council itself, within the limits of whoever pays."""
        with self._sittings.enter(ask):
            held = await self._budget.reserve(ask.person.id, ask.message.chat, plan.dollars)
            if isinstance(held, Reached):
                raise refusal(ask, held)
            self._sittings.use(ask)
            self._sittings.left(ask).question = ""
            bill = bill_of(ask)
            council = Council(ModelCalls(self._models, self._caller, self._clock, bill), self._clock, SystemRandom())
            with held:
                verdict = await council.run(
                    plan.question,
                    plan.seats,
                    ask.stop,
                    lambda now: ask.live.show(progress(ask, now, plan.reckoned)),
                )
                if verdict.calls:
                    held.settle(charged(verdict.calls, plan.assumed, plan.each))
        return await self._reply(ask, plan, verdict, held.reached)

    async def _reply(self, ask: Ask, plan: Plan, verdict: Verdict, over: Reached | None) -> Reply:
        said = (ChatMessage("assistant", verdict.answer, made_by=verdict.writer),) if verdict.answer else ()
        record = TurnRecord(
            ask.turn_id,
            await ask.conversation_id(self._history),
            ask.person.id,
            plan.question,
            said=said,
            calls=for_books(verdict.calls, plan.each),
            facts=_facts(plan, verdict),
        )
        beyond = [gone_beyond(ask, over, cheapest=False)] if over is not None else []
        text = "  \n".join([verdict_text(ask, verdict), *beyond, *self._passed(ask, plan)])
        if not verdict.answered:
            return Reply(text, record=record)
        left = self._sittings.left(ask)
        left.votes = document_text(ask, plan.question, verdict)
        return Reply(text, ((Button(ask.say("🗳 Votes"), "/council votes", left.votes),),), record)

    def _passed(self, ask: Ask, plan: Plan) -> list[str]:
        told = passed_over(ask, self._models, plan.passed)
        return [ask.say("Skipped: {models}.", models=told)] if told else []

    async def _help(self, ask: Ask, wanted: Wanted) -> Reply:
        words = (
            "🏛 A council: several models from different providers answer your question on their own and rank each "
            "other's answers; one of the strongest writes the final answer. Write the question after /council, or "
            "reply with /council to the message that asks it. A tier and a number from {least} to {most} before the "
            "question choose the models: /council smart 5 Is P equal to NP?"
        )
        plan = await self._convening.plan(ask, "", wanted)
        now = ask.say(
            "Right now I would ask {models}: {reckoning}.",
            models=names(each.model for each in plan.seats),
            reckoning=reckoning(ask, plan.reckoned),
        )
        return Reply("\n\n".join([ask.say(words, least=LEAST_SEATS, most=MOST_SEATS), now, *self._passed(ask, plan)]))


def _confirmed(rest: str) -> Wanted | None:
    """The members of `yes smart 5`; None for anything else: "yes or no?" is a question."""
    first, _, more = rest.partition(" ")
    if first.lower() != "yes":
        return None
    wanted, question = read_wanted(more) if more.strip() else (ANYBODY, "")
    return None if question else wanted


def _facts(plan: Plan, verdict: Verdict) -> TurnFacts:
    """As of the tier of whoever wrote the answer, or would have; a council without its synthesis for want of time timed
    out, one without a slow member did not."""
    tiers = {seat.model: seat.tier for seat in plan.seats}
    return TurnFacts(
        tier=tiers.get(verdict.writer, plan.seats[0].tier),
        source="council",
        model=verdict.writer,
        seconds=verdict.seconds,
        timed_out=verdict.trouble is not None and verdict.trouble.cause in ("late", "line"),
    )


def _votes(ask: Ask, text: str) -> Reply:
    if not text:
        raise Refused("There are no votes to show here. The button below a council's answer shows them for a week.")
    return Reply(ask.say("🗳 What each member said, and how it ranked the others."), document=Document(VOTES, text))
