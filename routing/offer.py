"""The tools of one turn: what its person may use, what the message is about, what the model's size can take."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from routing.additions import MOST_FOUND, Additions
from routing.calls import ToolCall
from routing.chooser import Activated, ToolChooser, ToolSelection
from routing.errors import ToolFailed
from routing.models import Models
from routing.outcome import ToolScope, Traits
from routing.ports import Tools
from routing.presentation import DISCOVERY, Candidate, Presentation, Shown, present
from routing.sizes import Size
from routing.toolkits import QUARTERS, Toolkit

FOLLOW_UP_CHARS = 60
""""And tomorrow?": a longer message says by itself what it is about."""
FADING = 2.0
"""Odds that a question loses against the one behind it."""
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


async def select(
    chooser: ToolChooser, message: str, earlier: Sequence[str], used: Collection[str], toolkits: Sequence[Toolkit]
) -> ToolSelection:
    """What a message is about among `toolkits`, in its conversation: `earlier` are the person's last messages, newest
    first, `used` the tools that were called for them. A short message that is about nothing of its own goes on with
    the one before it; what goes on for longer has called a tool."""
    chosen = await chooser.choose(message) if message.strip() else ToolSelection()
    offered = {toolkit.name: toolkit for toolkit in toolkits}
    found = {each.toolkit: each for each in chosen.activated if each.toolkit in offered}
    relevance = dict(chosen.relevance)
    short = len(message) <= FOLLOW_UP_CHARS
    if earlier and short and all(offered[name].base for name in found):
        before = await chooser.choose(earlier[0])
        for each in before.activated:
            if each.toolkit in offered and each.toolkit not in found:
                found[each.toolkit] = replace(each, why="follow-up")
                for card in offered[each.toolkit].tools:
                    faded = before.relevance.get(card.name, 0.0) - FADING
                    relevance[card.name] = max(relevance.get(card.name, faded), faded)
    for toolkit in toolkits:
        theirs = [card.name for card in toolkit.tools if card.name in used]
        if theirs and toolkit.name not in found and not toolkit.base:
            found[toolkit.name] = Activated(toolkit.name, "used", 1.0)
        for name in theirs:
            relevance[name] = max(relevance.get(name, 0.0), 0.0)
    return ToolSelection(tuple(found.values()), relevance, chosen.doubt)


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
        self._selection = selection
        self._off = {card.name: toolkit.name for toolkit in off for card in toolkit.tools}
        self._begun: dict[tuple[Size, int], Shown] = {}
        self._seen: dict[Size, frozenset[str]] = {}
        self._room: dict[Size, int] = {}
        base = {card.name for toolkit in toolkits if toolkit.base for card in toolkit.tools}
        relevance = selection.relevance
        self._additions = Additions(self._cards, lambda name: math.inf if name in base else relevance.get(name, 0.0))

    @property
    def selection(self) -> ToolSelection:
        """What the turn began with."""
        return self._selection

    def shown(self, model: str, window: int) -> Shown:
        """What a model is shown in its next call; `window` is its context window in tokens."""
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

    def offer(self, model: str, window: int) -> ToolOffer:
        """The same in figures."""
        shown = self.shown(model, window)
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
            raise ToolFailed(f"The user has switched off {name}. Only they can switch it on: /tools on {name}.")
        if call.name in self._cards:
            unseen = call.name not in self._seen.get(scope.size, ())
            self._additions.called(call.name, unseen=unseen)
            if unseen and self.traits(call.name).changes and not self._additions.is_explained(call.name):
                schema = json.dumps(self._cards[call.name].spec(scope.size).parameters, ensure_ascii=False)
                raise ToolFailed(f"{call.name} was not run yet: call it again as its schema says. Its schema: {schema}")
        return await self._tools.run(call, replace(scope, discover=partial(self.discover, size=scope.size)))

    async def discover(self, query: str, size: Size = "XL") -> str:
        """Look for more tools than models of this size see; what is found can be called for the rest of the turn."""
        chosen = await self._chooser.choose(query)
        told = {*self._seen.get(size, ()), *self._additions.new}
        hidden = [card for name, card in self._cards.items() if name not in told]
        if not hidden:
            return "There are no other tools than those that you see."
        meant = {each.toolkit for each in chosen.activated}
        of = {card.name: toolkit for toolkit in self._toolkits for card in toolkit.tools}
        fitting = [card for card in hidden if of[card.name].name in meant]
        if not fitting:
            log.info("[ToolRouter] discover_tools found nothing")
            return _nothing([kit for kit in self._toolkits if not {card.name for card in kit.tools} <= told])
        found = sorted(fitting, key=lambda card: -chosen.relevance.get(card.name, 0.0))[:MOST_FOUND]
        self._additions.found(found, size, self._room.get(size, 0))
        log.info("[ToolRouter] discover_tools found %s", ", ".join(card.name for card in found))
        lines = "\n".join(f"- {card.name}: {_line(card.texts['M'].description, DESCRIBED_CHARS)}" for card in found)
        return f"Found, and to be called like the tools that you see:\n{lines}"

    def _candidates(self) -> list[Candidate]:
        active = {each.toolkit for each in self._selection.activated}
        more = any(not toolkit.base for toolkit in self._toolkits)  # to be discovered, by another message at least
        relevance = self._selection.relevance
        return [
            Candidate(card, selected, relevance.get(card.name, 0.0), toolkit.base)
            for toolkit, selected in ((each, each.base or each.name in active) for each in self._toolkits)
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


def _line(text: str, most: int) -> str:
    """What it is for, in a line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"
