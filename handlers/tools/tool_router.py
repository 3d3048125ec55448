"""The choice of tools without the bot, for programs of one's own: `ToolRouter(model="ollama/qwen3:4b").route("…")`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from handlers.tools.authoring import AuthoredTool
from handlers.tools.manifests import FOLDER, our_toolkit
from handlers.tools.registration import native, register
from routing.presentation import PRESENTATIONS, Candidate, Shown, present
from routing.sizes import Size, size_of
from routing.toolkits import ToolCard, Toolkit

if TYPE_CHECKING:
    from routing.selection.selector import EncodingSelector


class ToolRouter:
    """Adapts tools to a model, by its name. `tools` are written as docs/tools.md has it, each found by itself;
    `toolkits` are shown together. With neither, ours are chosen from. Raises ConfigError for a tool that will not
    do."""

    def __init__(
        self,
        model: str,
        *,
        tools: Iterable[AuthoredTool] = (),
        toolkits: Iterable[Toolkit] = (),
        size: Size | None = None,
    ) -> None:
        """`size` stands above what the model's name tells."""
        self.size = size_of(model, size).size
        cards: list[ToolCard] = []
        for tool in tools:
            cards.append(register(tool, [card.name for card in cards]))
        alone = [Toolkit(card.name, card.texts["XL"].description, card.category, tools=(card,)) for card in cards]
        self._toolkits = (*alone, *toolkits) or tuple(our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json")))

    def shown(self, query: str) -> Shown:
        """Definitions, the names of the others, and what is to be said of them in the system message."""
        decision = self._selector.decide(query)
        meant = {each.name for each in decision.chosen}
        odds = iter(decision.odds.tolist())
        candidates = [
            Candidate(card, toolkit.base or toolkit.name in meant, next(odds), toolkit.base)
            for toolkit in self._toolkits
            for card in toolkit.tools
        ]
        return present(candidates, self.size, PRESENTATIONS[self.size])

    def route(self, query: str) -> list[dict[str, Any]]:
        """The function definitions of OpenAI and Ollama for this query, for a model of this size."""
        return [native(spec) for spec in self.shown(query).specs]

    @cached_property
    def _selector(self) -> EncodingSelector:
        from routing.selection import build_selector
        from routing.selection.catalogue import rows

        return build_selector(*rows(self._toolkits))
