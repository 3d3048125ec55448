"""The tools of one turn: what its person may use, what the message is about, what the model's size can take."""

from __future__ import annotations

import json
import logging
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from routing.config.presentation import Presentation
from routing.errors import ToolFailed
from routing.policy.models import Models
from routing.ports import Tools
from routing.text import spaced
from routing.tools.candidates import DISCOVERY, Candidate
from routing.tools.chooser import Activated, ToolChooser, ToolSelection
from routing.tools.discovered import MOST_FOUND, DiscoveredTools
from routing.tools.presentation import Shown, present
from routing.types.llm import ToolCall
from routing.types.sizes import Size
from routing.types.toolkits import QUARTERS, ToolCard, Toolkit
from routing.types.tools import ToolScope, Traits

UNLIKELY = -2.5
"""Odds below which nothing is found, though it is searched for."""
NEEDED = 0.8
"""How probable it must be that a toolkit is meant for a model without tools to be passed over."""
MOST_LIKELY = 3
"""Tools that are found where none is sure."""
SHARE_OF_WINDOW = 8
"""At most such a part of a model's context window is for definitions of tools."""
DESCRIBED_CHARS = 160
MOST_NAMED, NAMED_CHARS = 20, 80

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """What one model was shown: so many of `total` tools, about so many tokens of definitions and names. `doubt` says
    why only words were compared."""

    model: str
    size: Size
    shown: int
    total: int
    tokens: int
    activated: tuple[Activated, ...]
    doubt: str = ""
    takes_tools: bool = True

    def __str__(self) -> str:
        """As the log has it."""
        found = ", ".join(f"{each.toolkit}({each.why}:{each.score:.2f})" for each in self.activated)
        line = f"{self.shown}/{self.total} tools"
        if not self.takes_tools:
            return f"{line} | {self.model} takes no tools"
        return f"{line} | activated: [{found}]{' | words only: ' + self.doubt if self.doubt else ''}"


class TurnTools:
    """`routing.ports.Tools` for one turn. What a model was once shown it is shown to the end of the turn, in the same
    order, as long as there is room for what comes in later: providers' prompt caches live on that."""

    def __init__(
        self,
        tools: Tools,
        chooser: ToolChooser,
        models: Models,
        toolkits: Sequence[Toolkit],
        selection: ToolSelection,
        off: Sequence[Toolkit] = (),
    ) -> None:
        """`toolkits` are those that the person may use, in their stable order; `off` those that they do not want."""
        self._tools = tools
        self._chooser = chooser
        self._models = models
        self._toolkits = tuple(toolkits)
        self._cards = {card.name: card for toolkit in toolkits for card in toolkit.tools}
        self._among = frozenset(toolkit.name for toolkit in toolkits)
        self._selection = selection
        self._off = {card.name: toolkit.name for toolkit in off for card in toolkit.tools}
        self._begun: dict[tuple[Size, int], Shown] = {}
        self._seen: dict[Size, frozenset[str]] = {}
        self._room: dict[Size, int] = {}
        base = {card.name for toolkit in toolkits if toolkit.base for card in toolkit.tools}
        relevance = selection.relevance
        self._additions = DiscoveredTools(
            self._cards, lambda name: math.inf if name in base else relevance.get(name, 0.0)
        )

    @property
    def selection(self) -> ToolSelection:
        """What the turn began with."""
        return self._selection

    @property
    def needed(self) -> bool:
        """Whether the message is surely about something that takes a tool of its own."""
        sure = {each.toolkit for each in self._selection.activated if each.score >= NEEDED}
        return any(toolkit.name in sure and not toolkit.base for toolkit in self._toolkits)

    def show(self, model: str, window: int) -> Shown:
        """Show a model the tools of its next call; `window` is its context window in tokens."""
        if not self._models.takes_tools(model):
            return Shown(())
        size = self._models.size(model).size
        limits = self._limits(size, window)
        if (size, window) not in self._begun:
            self._begun[size, window] = present(self._candidates(), size, limits)
        shown = self._additions.shown(self._begun[size, window], size, limits.most_tokens)
        self._room[size] = limits.most_tokens
        self._seen[size] = frozenset(spec.name for spec in shown.specs if spec.description)
        return shown

    def offer(self, model: str, shown: Shown) -> ToolOffer:
        """What the model was shown, in figures."""
        return ToolOffer(
            model=model,
            size=self._models.size(model).size,
            shown=sum(bool(spec.description) for spec in shown.specs),
            total=len(self._cards),
            tokens=shown.tokens,
            activated=self._selection.activated,
            doubt=self._selection.doubt,
            takes_tools=self._models.takes_tools(model),
        )

    def whole(self, model: str) -> int:
        """What it would cost to show everything in full, in tokens."""
        size = self._models.size(model).size
        return round(sum(card.weights[size] for card in self._cards.values()) / QUARTERS)

    def traits(self, name: str) -> Traits:
        return self._tools.traits(name)

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """A tool that was told by name only is run, too; wrong arguments bring its schema, and the next call has it.
        One that changes something brings its schema first."""
        if call.name in self._off:
            name = self._off[call.name]
            raise ToolFailed(
                f"The user has switched off {name}. Only they can switch it on: /tools on {shlex.quote(name)}."
            )
        if call.name in self._cards:
            unseen = call.name not in self._seen.get(scope.size, ())
            self._additions.called(call.name, unseen=unseen)
            if unseen and self.traits(call.name).changes and not self._additions.is_explained(call.name):
                schema = json.dumps(self._cards[call.name].spec(scope.size).parameters, ensure_ascii=False)
                schema = _line(schema, QUARTERS * self._room.get(scope.size, 0))
                raise ToolFailed(f"{call.name} was not run yet: call it again as its schema says. Its schema: {schema}")
        return await self._tools.run(call, replace(scope, discover=partial(self.discover, size=scope.size)))

    async def discover(self, query: str, size: Size = "XL") -> str:
        """Look for more tools than models of this size see; what is found can be called for the rest of the turn."""
        told = {*self._seen.get(size, ()), *self._additions.new}
        hidden = [card for name, card in self._cards.items() if name not in told]
        if not hidden:
            return "There are no other tools than those that you see."
        found = await self._fitting(query, hidden)
        if not found:
            log.info("[ToolRouter] discover_tools found nothing")
            return _nothing([kit for kit in self._toolkits if not {card.name for card in kit.tools} <= told])
        self._additions.found(found, size, self._room.get(size, 0))
        log.info("[ToolRouter] discover_tools found %s", ", ".join(card.name for card in found))
        lines = "\n".join(f"- {card.name}: {_line(card.texts['M'].description, DESCRIBED_CHARS)}" for card in found)
        return f"Found, and to be called like the tools that you see:\n{lines}"

    async def _fitting(self, query: str, cards: Sequence[ToolCard]) -> list[ToolCard]:
        """Those that are named, then those that it is about, then, where there are none, the likeliest ones: whoever
        searches wants something done."""
        words = _words(query)
        chosen = await self._chooser.choose(spaced(query), self._among)
        odds = chosen.relevance
        meant = {each.toolkit for each in chosen.activated}
        of = {card.name: toolkit.name for toolkit in self._toolkits for card in toolkit.tools}
        ranked = sorted(cards, key=lambda card: -odds.get(card.name, UNLIKELY))
        found = [card for card in ranked if f" {_words(card.name)} " in f" {words} "]
        found += [card for card in ranked if of[card.name] in meant and card not in found]
        likely = (card for card in ranked if odds.get(card.name, UNLIKELY) > UNLIKELY)
        return found[:MOST_FOUND] or list(likely)[:MOST_LIKELY]

    def _candidates(self) -> list[Candidate]:
        active = {each.toolkit for each in self._selection.activated}
        more = any(not toolkit.base for toolkit in self._toolkits)  # to be discovered, by another message at least
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
    """Which toolkits have more tools, where none fits."""
    lines = [f"- {each.name}: {_line(each.description, NAMED_CHARS)}" for each in toolkits[:MOST_NAMED]]
    more = [f"… and {len(toolkits) - MOST_NAMED} more."] if len(toolkits) > MOST_NAMED else []
    return "\n".join(["Nothing fits. Search again for what one of these does, or go on without:", *lines, *more])


def _words(text: str) -> str:
    """As names are compared."""
    return " ".join(re.findall(r"[^\W_]+", spaced(text).casefold()))


def _line(text: str, most: int) -> str:
    """What it is for, in a line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"
