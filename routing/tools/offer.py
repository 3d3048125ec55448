"""The tools of one turn: those that the person may use, by relevance to the message, within the model's limits."""

from __future__ import annotations

import json
import logging
import math
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from routing.config.presentation import Presentation
from routing.errors import ToolFailed
from routing.policy.models import Models
from routing.ports import Toolbox, Tools
from routing.text import split_identifier
from routing.tools.discovered import MAX_FOUND, DiscoveredTools
from routing.tools.learned import with_learned
from routing.tools.presentation import DISCOVERY, UNLIKELY, Candidate, Shown, present
from routing.tools.selector import SURE, Activated, ToolSelection, ToolSelector
from routing.types.decisions import Size
from routing.types.learning import NOTHING_LEARNED, Learned, Lesson
from routing.types.llm import ToolCall
from routing.types.toolkits import QUARTERS, ToolCard, Toolkit, weight
from routing.types.tools import NeedsConfirmation, ToolScope, Traits
from routing.types.turns import Question

NEEDED = 0.8
"""Probability of a toolkit from which models without tool calls are skipped."""
MAX_LIKELY = 3
"""Maximum number of tools found by a search if none is activated."""
SHARE_OF_WINDOW = 8
"""Tool definitions get at most 1 / this of a model's context window."""
DESCRIBED_CHARACTERS = 160
MAX_NAMED, NAMED_CHARACTERS = 20, 80

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """What a model was shown: `shown` of `total` tools, with the estimated `tokens` of definitions and names.
    `fallback_reason` says why only words were compared."""

    model: str
    size: Size
    shown: int
    total: int
    tokens: int
    activated: tuple[Activated, ...]
    fallback_reason: str = ""
    takes_tools: bool = True

    def __str__(self) -> str:
        """The log line."""
        found = ", ".join(f"{each.toolkit}({each.why}:{each.score:.2f})" for each in self.activated)
        line = f"{self.shown}/{self.total} tools"
        if not self.takes_tools:
            return f"{line} | {self.model} takes no tools"
        words_only = f" | words only: {self.fallback_reason}" if self.fallback_reason else ""
        return f"{line} | activated: [{found}]{words_only}"


class Toolset:
    """All tools, and the selection of those for a turn."""

    def __init__(self, toolbox: Toolbox, selector: ToolSelector) -> None:
        self._toolbox = toolbox
        self._selector = selector

    async def for_turn(
        self,
        question: Question,
        off: Collection[str],
        earlier: Sequence[str],
        used: Collection[str],
        models: Models,
        learned: Learned = NOTHING_LEARNED,
    ) -> TurnTools:
        """The tools for this question's own words. `off` are the toolkits that the person switched off, `earlier` their
        last messages, newest first, and `used` the tools that were called for them. `learned` is what their examples
        say about the question."""
        offered = await self._toolbox.offered(question.person)
        toolkits = tuple(each for each in offered if each.name not in off)
        missing = await self._toolbox.missing(question.person)
        lacking = [each for each in self._toolbox.toolkits() if each.name in missing and each.name not in off]
        selection = await self._selector.select(
            question.own_words or question.text, earlier, used, (*toolkits, *lacking)
        )
        there = {each.name for each in toolkits}
        sure = [each for each in selection.activated if each.score >= SURE]
        served = any(each.toolkit in there for each in sure)  # words alone can't tell which of them is meant
        certain = ("embed",) if served else ("embed", "keyword")
        wanted = [each.toolkit for each in sure if each.toolkit in missing and each.why in certain]
        connect = tuple(dict.fromkeys(missing[name] for name in wanted))
        selection = replace(selection, activated=tuple(each for each in selection.activated if each.toolkit in there))
        if learned:
            selection = with_learned(selection, learned, toolkits, await self._selector.most_shown(len(toolkits)))
        switched_off = [each for each in offered if each.name in off]
        return TurnTools(self._toolbox, self._selector, models, toolkits, selection, switched_off, connect)


class TurnTools:
    """Implements `routing.ports.Tools` for one turn. A tool that was shown stays shown until the end of the turn,
    in the same order while there is room, for the providers' prompt caches."""

    def __init__(
        self,
        tools: Tools,
        selector: ToolSelector,
        models: Models,
        toolkits: Sequence[Toolkit],
        selection: ToolSelection,
        off: Sequence[Toolkit] = (),
        connect: tuple[str, ...] = (),
    ) -> None:
        """`toolkits` are those that the person may use, in a stable order; `off` those that they switched off.
        `connect` are the kinds of account that the message would certainly need."""
        self.connect = connect
        self._tools = tools
        self._selector = selector
        self._models = models
        self._toolkits = tuple(toolkits)
        self._cards = {card.name: card for toolkit in toolkits for card in toolkit.tools}
        self._among = frozenset(toolkit.name for toolkit in toolkits)
        self._selection = selection
        self._off = {card.name: toolkit.name for toolkit in off for card in toolkit.tools}
        self._begun: dict[tuple[Size, int], Shown] = {}
        self._searched: set[str] = set()
        self._missed: dict[str, Lesson] = {}
        self._seen: dict[Size, frozenset[str]] = {}
        self._room: dict[Size, int] = {}
        self._base = base = {card.name for toolkit in toolkits if toolkit.base for card in toolkit.tools}
        relevance = selection.relevance
        self._discovered = DiscoveredTools(
            self._cards, lambda name: math.inf if name in base else relevance.get(name, 0.0)
        )

    @property
    def selection(self) -> ToolSelection:
        return self._selection

    @property
    def missed(self) -> Sequence[Lesson]:
        """The tools that ran, or wait for a confirmation, although no model was shown them before it asked for them."""
        return tuple(self._missed.values())

    @property
    def needed(self) -> bool:
        """Whether the message certainly needs a tool beyond the base tools."""
        sure = {each.toolkit for each in self._selection.activated if each.score >= NEEDED}
        return any(toolkit.name in sure and not toolkit.base for toolkit in self._toolkits)

    def begin_call(self, model: str, window: int) -> Shown:
        """The tools for the next call of a model with a context window of `window` tokens. Records that it sees
        them."""
        if not self._models.takes_tools(model):
            return Shown(())
        size = self._models.size(model).size
        limits = self._limits(size, window)
        if (size, window) not in self._begun:
            self._begun[size, window] = present(self._candidates(), size, limits)
        shown = self._discovered.extend(self._begun[size, window], size, limits.most_tokens)
        self._room[size] = limits.most_tokens
        self._seen[size] = frozenset(spec.name for spec in shown.specs if spec.description)
        return shown

    def offer(self, model: str, shown: Shown) -> ToolOffer:
        """Figures about what the model was shown."""
        size = self._models.size(model).size
        weights = (self._cards[each.name].weights[size] if each.description else weight(each) for each in shown.specs)
        return ToolOffer(
            model=model,
            size=size,
            shown=sum(bool(spec.description) for spec in shown.specs),
            total=len(self._cards),
            tokens=shown.weighed(weights),
            activated=self._selection.activated,
            fallback_reason=self._selection.fallback_reason,
            takes_tools=self._models.takes_tools(model),
        )

    def whole(self, model: str) -> int:
        """Tokens that it would cost to show all tools in full."""
        size = self._models.size(model).size
        return round(sum(card.weights[size] for card in self._cards.values()) / QUARTERS)

    def traits(self, name: str) -> Traits:
        return self._tools.traits(name)

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """Also runs a tool that was shown by name only, unless it changes something: then the first call only returns
        its schema. The next model call defines it."""
        if call.name in self._off:
            name = self._off[call.name]
            raise ToolFailed(
                f"The user has switched off {name}. Only they can switch it on: /tools on {shlex.quote(name)}."
            )
        if call.name in self._cards:
            undefined = call.name not in self._seen.get(scope.size, ())
            self._discovered.called(call.name, undefined=undefined)
            if undefined and self.traits(call.name).changes and not self._discovered.is_explained(call.name):
                schema = json.dumps(self._cards[call.name].spec(scope.size).parameters, ensure_ascii=False)
                schema = _line(schema, QUARTERS * self._room.get(scope.size, 0))
                raise ToolFailed(f"{call.name} was not run yet: call it again as its schema says. Its schema: {schema}")
        try:
            result = await self._tools.run(call, replace(scope, discover=partial(self.discover, size=scope.size)))
        except NeedsConfirmation:
            self._note_if_missed(call.name)
            raise
        self._note_if_missed(call.name)
        return result

    def _note_if_missed(self, name: str) -> None:
        shown = any(spec.name == name and spec.description for begun in self._begun.values() for spec in begun.specs)
        if name in self._cards and name not in self._base and not shown:
            self._missed[name] = Lesson("found" if name in self._searched else "named", name)

    async def discover(self, query: str, size: Size = "XL") -> str:
        """Search the tools that models of this size don't see. What is found can be called for the rest of the turn."""
        shown = {*self._seen.get(size, ()), *self._discovered.new}
        hidden = [card for name, card in self._cards.items() if name not in shown]
        if not hidden:
            return "There are no other tools than those that you see."
        found = await self._fitting(query, hidden)
        if not found:
            log.info("[ToolRouter] discover_tools found nothing")
            return _nothing([kit for kit in self._toolkits if not {card.name for card in kit.tools} <= shown])
        self._searched |= {card.name for card in self._discovered.found(found, size, self._room.get(size, 0))}
        log.info("[ToolRouter] discover_tools found %s", ", ".join(card.name for card in found))
        lines = "\n".join(
            f"- {card.name}: {_line(card.texts['M'].description, DESCRIBED_CHARACTERS)}" for card in found
        )
        return f"Found, and to be called like the tools that you see:\n{lines}"

    async def _fitting(self, query: str, cards: Sequence[ToolCard]) -> list[ToolCard]:
        """Tools that are named, then those of activated toolkits; if there are none, the most likely ones."""
        words = _words(query)
        found_by = await self._selector.match(split_identifier(query), self._among)
        odds = found_by.relevance
        meant = {each.toolkit for each in found_by.activated}
        of = {card.name: toolkit.name for toolkit in self._toolkits for card in toolkit.tools}
        ranked = sorted(cards, key=lambda card: -odds.get(card.name, UNLIKELY))
        found = [card for card in ranked if f" {_words(card.name)} " in f" {words} "]
        found += [card for card in ranked if of[card.name] in meant and card not in found]
        likely = (card for card in ranked if odds.get(card.name, UNLIKELY) > UNLIKELY)
        return found[:MAX_FOUND] or list(likely)[:MAX_LIKELY]

    def _candidates(self) -> list[Candidate]:
        active = {each.toolkit for each in self._selection.activated}
        more = any(not toolkit.base for toolkit in self._toolkits)  # otherwise there is nothing to discover
        relevance = self._selection.relevance
        return [
            Candidate(card, selected, relevance.get(card.name, 0.0), toolkit.base)
            for toolkit, selected in ((each, each.name in active) for each in self._toolkits)
            for card in toolkit.tools
            if more or card.name != DISCOVERY
        ]

    def _limits(self, size: Size, window: int) -> Presentation:
        usual = self._models.config.presentations[size]
        return replace(usual, most_tokens=min(usual.most_tokens, window // SHARE_OF_WINDOW))


def _nothing(toolkits: Sequence[Toolkit]) -> str:
    """The answer to a search without results: the toolkits that have more tools."""
    lines = [f"- {each.name}: {_line(each.description, NAMED_CHARACTERS)}" for each in toolkits[:MAX_NAMED]]
    more = [f"… and {len(toolkits) - MAX_NAMED} more."] if len(toolkits) > MAX_NAMED else []
    return "\n".join(["Nothing fits. Search again for what one of these does, or go on without:", *lines, *more])


def _words(text: str) -> str:
    """Normalised words, for comparing names."""
    return " ".join(re.findall(r"[^\W_]+", split_identifier(text).casefold()))


def _line(text: str, most: int) -> str:
    """On one line, cut to `most` characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"
