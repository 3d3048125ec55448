"""The tools of one turn: what its person may use, what the message is about, what the model's size can take."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from routing.calls import ToolCall
from routing.chooser import Activated, ToolChooser, ToolSelection
from routing.errors import ToolFailed
from routing.models import Models
from routing.outcome import ToolScope, Traits
from routing.ports import Tools
from routing.presentation import DISCOVERY, Candidate, Presentation, Shown, present, tokens
from routing.sizes import Size
from routing.toolkits import ToolCard, Toolkit

FOLLOW_UP_CHARS = 60
""""And tomorrow?": a longer message says by itself what it is about."""
LIKELY = 0.5
"""The probability from which on a question is about a toolkit of its own."""
FADING = 2.0
"""Odds that a question loses against the one behind it."""
SHARE_OF_WINDOW = 8
"""At most such a part of a model's context window is for definitions of tools."""
MOST_FOUND = 5
DESCRIBED_CHARS = 160

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
    first, `used` the tools that were called in it."""
    chosen = await chooser.choose(message)
    offered = {toolkit.name: toolkit for toolkit in toolkits}
    found = {each.toolkit: each for each in chosen.activated if each.toolkit in offered}
    relevance = dict(chosen.relevance)
    for before in await _inherited(chooser, message, earlier, offered, bool(found)):
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


async def _inherited(
    chooser: ToolChooser, message: str, earlier: Sequence[str], offered: Mapping[str, Toolkit], found: bool
) -> list[ToolSelection]:
    """What a follow-up goes on with: the question before it, and the one before that where the first is one, too: it
    was likely about nothing but what is always there."""
    inherited: list[ToolSelection] = []
    if found and len(message) > FOLLOW_UP_CHARS:
        return inherited
    for before in earlier[:2]:
        inherited.append(await chooser.choose(before))
        likely = (offered.get(each.toolkit) for each in inherited[-1].activated if each.score >= LIKELY)
        if any(toolkit is not None and not toolkit.base for toolkit in likely):
            break
    return inherited


class TurnTools:
    """`routing.ports.Tools` for one turn. What a model was once shown it is shown to the end of the turn, in the same
    order: providers' prompt caches live on that."""

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
        self._added: dict[str, ToolCard] = {}

    @property
    def selection(self) -> ToolSelection:
        """What the turn began with."""
        return self._selection

    def shown(self, model: str, window: int) -> Shown:
        """What a model is shown in its next call; `window` is its context window in tokens."""
        if not self._models.takes_tools(model):
            return Shown(())
        size = self._models.size(model).size
        if (size, window) not in self._begun:
            self._begun[size, window] = present(self._candidates(), size, self._limits(size, window))
        begun = self._begun[size, window]
        known = {spec.name for spec in begun.specs if spec.description}
        more = tuple(card.spec(size) for name, card in self._added.items() if name not in known)
        kept = tuple(spec for spec in begun.specs if spec.name in known or spec.name not in self._added)
        return replace(begun, specs=(*kept, *more))

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
        return tokens([card.spec(size) for card in self._cards.values()])

    def traits(self, name: str) -> Traits:
        return self._tools.traits(name)

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """A tool that was told by name only is run, too; wrong arguments bring its schema, and the next call has it."""
        if call.name in self._off:
            name = self._off[call.name]
            raise ToolFailed(f"The user has switched off {name}. Only they can switch it on: /tools on {name}.")
        if call.name in self._cards and call.name not in self._told(scope.size):
            self._added[call.name] = self._cards[call.name]
        return await self._tools.run(call, replace(scope, discover=partial(self.discover, size=scope.size)))

    async def discover(self, query: str, size: Size = "XL") -> str:
        """Look for more tools than models of this size see; what is found can be called for the rest of the turn."""
        chosen = await self._chooser.choose(query)
        seen = self._told(size)
        hidden = [card for name, card in self._cards.items() if name not in seen and name not in self._added]
        if not hidden:
            return "There are no other tools than those that you see."
        meant = {each.toolkit for each in chosen.activated}
        of = {card.name: toolkit.name for toolkit in self._toolkits for card in toolkit.tools}
        ranked = sorted(hidden, key=lambda card: (of[card.name] not in meant, -chosen.relevance.get(card.name, 0.0)))
        found = [card for card in ranked if of[card.name] in meant][:MOST_FOUND] or ranked[: MOST_FOUND - 2]
        self._added |= {card.name: card for card in found}
        log.info("[ToolRouter] discover_tools found %s", ", ".join(card.name for card in found))
        sure = "Found" if of[found[0].name] in meant else "Nothing fits well; the nearest are"
        lines = "\n".join(f"- {card.name}: {_brief(card)}" for card in found)
        return f"{sure}, and to be called like the tools that you see:\n{lines}"

    def _told(self, size: Size) -> set[str]:
        """Tools that models of this size have the definition of."""
        return {
            spec.name
            for (own, _), shown in self._begun.items()
            if own == size
            for spec in shown.specs
            if spec.description
        }

    def _candidates(self) -> list[Candidate]:
        active = {each.toolkit for each in self._selection.activated}
        more = any(not toolkit.base for toolkit in self._toolkits)  # to be discovered, by another message at least
        relevance = self._selection.relevance
        return [
            Candidate(card, toolkit.base or toolkit.name in active, relevance.get(card.name, 0.0))
            for toolkit in self._toolkits
            for card in toolkit.tools
            if card.name != DISCOVERY or more
        ]

    def _limits(self, size: Size, window: int) -> Presentation:
        usual = self._models.config.presentations[size]
        return replace(usual, most_tokens=min(usual.most_tokens, window // SHARE_OF_WINDOW))


def _brief(card: ToolCard) -> str:
    """What it is for, in a line."""
    text = " ".join(card.texts["M"].description.split())
    return text if len(text) <= DESCRIBED_CHARS else f"{text[:DESCRIBED_CHARS]}…"
