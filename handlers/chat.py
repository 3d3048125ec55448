"""Answers ordinary messages: asks the router and turns the outcome into a reply and a turn record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from handlers.confirmations import call_messages, card, press_message, raw_result
from handlers.context import MAX_ATTEMPTS, CommandContext, Reply
from handlers.demo_model import DECLINED, NOTE, TOPICS, Demo, serves
from handlers.parsing import typed_prefix
from handlers.question_text import QuestionTexts, own_words, shown_pictures, source_of
from handlers.replies.budget_limits import cost_of
from handlers.replies.facts import remembered
from handlers.replies.footer import fallback_lines, footer
from handlers.replies.outcome import answer_text, input_warnings
from handlers.replies.retry_buttons import buttons, cheaper, retry_button
from handlers.schedules.views import late_note, short
from handlers.turn_records import record_of, retry_failed
from routing.critic.critic import Critic, Critique
from routing.errors import Refused
from routing.policy.tiers import check_role
from routing.ports import Clock, HistoryStore, PreferenceStore
from routing.router import Router
from routing.tracing import span
from routing.types.budgets import BudgetExceeded
from routing.types.history import TurnRecord
from routing.types.llm import ChatMessage
from routing.types.memory import Fact
from routing.types.model_names import LOCAL_MODEL
from routing.types.stop import Stopped
from routing.types.time_zones import time_zone
from routing.types.tools import PendingAction, ToolScope
from routing.types.turns import Outcome, Question
from routing.types.usage import TurnCost

REMEMBER = "remember"
"""The tool that stores a fact about the person."""

SCANNED_UNSEEN = (
    "🖨 The PDF has no text, only pictures of pages, and {model} can't see pictures. Choose another model with /tier or "
    "/model and use /retry, or send the text."
)


class Chat:
    """Runs the turns of questions. Most methods may raise Refused."""

    def __init__(
        self,
        router: Router,
        history: HistoryStore,
        preferences: PreferenceStore,
        texts: QuestionTexts,
        clock: Clock,
        critic: Critic,
    ) -> None:
        self._router = router
        self._critic = critic
        self._demo = Demo(clock)
        self._preferences = preferences
        self._history = history
        self._texts = texts

    async def answer(self, ask: CommandContext) -> Reply:
        """Answers a message with its attachments. A button that carries no command sends its text as the person's
        message."""
        if ask.button is not None:
            await ask.live.acknowledge(spent=not ask.attempts)
            ask = replace(ask, message=replace(ask.message, text=ask.button.command))
        prefix, written = typed_prefix(ask.message, ask.person.role)
        if prefix is not None and not (written.strip() or ask.message.attachments or ask.message.quoted):
            raise Refused("Write your question after !{tier}, in the same message.", tier=prefix)
        await ask.live.working()
        conversation_id = await ask.conversation_id(self._history)
        if ask.button is not None and ask.button.about:
            last = await self._history.last_question(conversation_id)
            if last is None or last.turn_id != ask.button.about:
                words = "This button is out of date: there is a newer answer here. Nothing was asked."
                return Reply(ask.say(words), apart=True)
        text = await self._texts.whole_text(ask, written)
        await self._texts.keep_pictures(ask)
        question = Question(
            ask.person,
            conversation_id,
            text,
            shown_pictures(ask),
            prefix=prefix,
            source=source_of(ask.message),
            fixed=ask.fixed,
            own_words=own_words(ask, written),
        )
        reply = await self.turn(ask, question)
        return reply if ask.message.scheduled is None else await self._announced(ask, reply)

    async def _announced(self, ask: CommandContext, reply: Reply) -> Reply:
        """An answer to a scheduled prompt, which nobody has just written, with the prompt."""
        assert ask.message.scheduled is not None
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        late = late_note(ask.say, ask.message.scheduled.due, ask.message.sent_at, zone)
        return replace(reply, text="\n\n".join((f"🗓 {short(ask.message.text)}", *late, reply.text)))

    async def unanswered(self, ask: CommandContext, words: str) -> Reply:
        """Explains why a message gets no answer, and stores it so that /retry can ask it."""
        _, written = typed_prefix(ask.message, ask.person.role)
        record = TurnRecord(
            turn_id=ask.turn_id,
            conversation_id=await ask.conversation_id(self._history),
            person_id=ask.person.id,
            question=await self._texts.whole_text(ask, written),
            pictures=shown_pictures(ask),
            source=source_of(ask.message),
            own_words=own_words(ask, written),
        )
        return Reply(words, ((retry_button(ask, None, record.turn_id),),), record)

    async def follow_up(self, ask: CommandContext, action: PendingAction, result: str, cost: TurnCost) -> Reply:
        """Implements `handlers.confirmations.FollowUp`: the model answers with the result of a confirmed tool. If no
        model answers, or the last attempt to do so is left, the person gets the result itself."""
        text = press_message(ask, action)
        question = Question(ask.person, action.conversation_id, text, prefix=action.tier)
        begun = call_messages(action, result)
        try:
            if ask.attempts == MAX_ATTEMPTS - 1:
                raise Refused("⚠️ I was interrupted {times} times while a model answered.", times=ask.attempts)
            reply = await self.turn(ask, question, begun, cost)
        except Refused as refused:
            why = ask.say(refused.template, **refused.values)
            told = (*begun, ChatMessage("assistant", why))
            spent = tuple(cost.calls)
            record = TurnRecord(ask.turn_id, action.conversation_id, ask.person.id, text, messages=told, calls=spent)
            reply = Reply(why, record=record)
        facts = reply.record.facts if reply.record is not None else None
        if facts is not None and facts.model:
            return reply
        words = ask.say("{tool} returned:", tool=f"`{action.tool}`")
        return replace(reply, text=f"{words}\n\n{raw_result(result)}\n\n{reply.text}")

    async def turn(
        self, ask: CommandContext, question: Question, begun: Sequence[ChatMessage] = (), cost: TurnCost | None = None
    ) -> Reply:
        """Runs one router turn and returns the reply. `begun` holds messages already exchanged in this turn; their cost
        is already on `cost`."""
        if question.prefix is not None:
            check_role(question.prefix, ask.person.role)
        if not begun and serves(self._router.models) and (demo := await self._demo_reply(ask, question)) is not None:
            return demo
        question = replace(
            question,
            language=ask.say.language,
            attach=ask.files.attach,
            private=ask.message.private,
            chat=ask.message.chat,
            scheduled=ask.message.scheduled is not None,
        )
        cost = cost or cost_of(ask)
        with span("turn", {"tierbot.turn_id": ask.turn_id}) as traced:
            outcome = await self._router.answer(question, cost, ask.live, ask.stop, begun)
            traced.set({"tierbot.tier": outcome.decision.tier, "gen_ai.response.model": outcome.choice.model})
        models = self._router.models
        reviewed = await self._peer_review(ask, question, outcome, cost)
        # after a confirmation, the question is not in the person's words
        outcome = replace(outcome, calls=tuple(cost.calls), missed=() if begun else outcome.missed)
        notices = [*_kept_notice(ask), *reviewed, *self._blind_notice(ask, question, outcome), *_scan_notice(ask)]
        notices += input_warnings(ask, outcome) + fallback_lines(ask, outcome, models)
        if outcome.completion is not None and outcome.choice.model == LOCAL_MODEL:
            notices.append(ask.say(NOTE))
        if outcome.completion is not None and await self._wants_footer(ask):
            notices.append(footer(ask, outcome))
        kept = question.kept if retry_failed(question, outcome) else ask.turn_id
        if isinstance(outcome.error, BudgetExceeded):
            tier = await self._router.affordable(ask.person, outcome.decision.tier, outcome.fit.tokens, cost)
            again = cheaper(ask, tier, question.prefix, kept)
        else:
            again = buttons(ask, question, outcome, models.config.contracts, kept)
        noted, forget = remembered(ask, await self._stored_facts(ask, outcome))
        text = "\n\n".join(filter(None, (answer_text(ask, outcome), *notices, noted))).strip()
        again = (*again, *forget)
        record = record_of(ask, question, outcome)
        if outcome.waiting is None:
            return Reply(text, again, record)
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        asked = card(ask, outcome.waiting, zone)
        return Reply(f"{text}\n\n{asked.text}".strip(), (*asked.buttons, *forget), record, document=asked.document)

    async def _stored_facts(self, ask: CommandContext, outcome: Outcome) -> tuple[Fact, ...]:
        """The facts about the person that the turn stored."""
        if not any(call.name == REMEMBER for each in outcome.messages for call in each.calls):
            return ()
        return await self._router.stored_facts(ask.person.id, ask.turn_id)

    async def _peer_review(
        self, ask: CommandContext, question: Question, outcome: Outcome, cost: TurnCost
    ) -> list[str]:
        """Objections from models of other vendors, where the tier requires peer review. Stays within the tier's
        deadline."""
        contract = self._router.models.config.contracts[outcome.decision.tier]
        answer = outcome.completion.text.strip() if outcome.completion is not None else ""
        if not contract.requires_peer_review or not answer or outcome.waiting is not None:
            return []
        critiques: Sequence[Critique] = ()
        left = min(contract.deadline_seconds, self._router.models.config.turn.seconds) - outcome.seconds
        with suppress(Stopped), ask.stop.guard():
            critiques = await self._critic.review(question.text, answer, outcome.choice.model, cost, left)
        if not critiques:
            return [ask.say("⚠️ No model of another vendor reviewed this answer.")]
        words = "🔍 Peer review: {model} disagrees: {why}"
        return [
            ask.say(words, model=f"`{each.model}`", why=f"`{each.objection}`") for each in critiques if each.objection
        ]

    async def _demo_reply(self, ask: CommandContext, question: Question) -> Reply | None:
        """The reply that replaces the demo model's answer; None if the demo model should answer."""
        plan = await self._router.plan(question.person, question.conversation_id, question.prefix)
        if plan.choice.model != LOCAL_MODEL:
            return None
        zone = (await self._preferences.settings(question.person.id)).time_zone
        scope = ToolScope(question.person, question.conversation_id, plan.decision, zone, private=ask.message.private)
        found = await self._demo.answer(question.text, scope)
        if found is None:
            return None
        text = ask.say(DECLINED, topic=ask.say(found)) if found in TOPICS else found
        record = TurnRecord(
            turn_id=ask.turn_id,
            conversation_id=question.conversation_id,
            person_id=question.person.id,
            question=question.text,
            messages=(ChatMessage("assistant", text),),
            source=question.source,
            replaces_from=question.replaces,
            own_words=question.own_words,
        )
        return Reply(text, (), record)

    def _blind_notice(self, ask: CommandContext, question: Question, outcome: Outcome) -> list[str]:
        model = outcome.choice.model
        if not question.pictures or self._router.models.catalog.lookup(model).supports_vision:
            return []
        if any(each.scanned for each in ask.kept):
            return [ask.say(SCANNED_UNSEEN, model=model)]
        words = "👁 {model} can't see pictures, so it answered without yours. /tier or /model changes it."
        return [ask.say(words, model=model)]

    async def _wants_footer(self, ask: CommandContext) -> bool:
        return (ask.fixed.settings if ask.fixed else await self._preferences.settings(ask.person.id)).footer


def _scan_notice(ask: CommandContext) -> list[str]:
    """Which scanned documents are longer than what a model is shown of them."""
    words = "🖨 {path} has no text, only {n} pictures of pages. I see the first {most}; send me the others as a PDF."
    long = [each for each in ask.kept if each.scanned > len(each.pages)]
    return [ask.say(words, path=f"`{each.path}`", n=each.scanned, most=len(each.pages)) for each in long]


def _kept_notice(ask: CommandContext) -> list[str]:
    """Where the files that came with the message are kept, and which ones are not."""
    refused = [f"⚠️ {ask.say(each.refusal.template, **each.refusal.values)}" for each in ask.kept if each.refusal]
    paths = ", ".join(f"`{each.path}`" for each in ask.kept if not each.refusal)
    return [*refused, ask.say("📂 Kept in your folder: {paths}", paths=paths)] if paths else refused
