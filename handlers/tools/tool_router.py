"""Tool selection as a library, without the bot: `ToolRouter(model="ollama/qwen3:4b").route("…")`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from handlers.tools.authoring.decorator import FunctionTool
from handlers.tools.authoring.manifests import FOLDER, our_toolkit
from handlers.tools.authoring.registration import native, register
from routing.catalog.sizes import size_of
from routing.config.presentation import PRESENTATIONS
from routing.errors import ConfigError
from routing.tools.presentation import Candidate, Shown, present
from routing.types.decisions import SIZES, Size
from routing.types.toolkits import Toolkit

if TYPE_CHECKING:
    from routing.tools.selection.ranker import EncodingRanker


class ToolRouter:
    """Adapts tools to a model. `tools` are defined as in docs/tools.md and selected one by one; the tools of a toolkit
    in `toolkits` are selected together. If both are None, the built-in tools are used; empty means no tools. Raises
    ConfigError for an invalid tool, a duplicate name or an unknown size."""

    def __init__(
        self,
        model: str,
        *,
        tools: Iterable[FunctionTool[..., Any]] | None = None,
        toolkits: Iterable[Toolkit] | None = None,
        size: Size | None = None,
    ) -> None:
        """`size` overrides the size class derived from the model's name."""
        if size is not None and size not in SIZES:
            raise ConfigError(f"The size {size!r} is none: the sizes are {', '.join(SIZES)}.")
        self.size = size_of(model, size).size
        if tools is None and toolkits is None:
            self._toolkits = tuple(our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json")))
        else:
            self._toolkits = _distinct(tuple(tools or ()), tuple(each for each in toolkits or () if each.tools))

    def shown(self, query: str) -> Shown:
        """The tool definitions, the names of the others, and the text about them for the system message."""
        decision = self._selector.decide(query)
        selected = {each.name for each in decision.chosen}
        odds = iter(decision.odds.tolist())
        candidates = [
            Candidate(card, toolkit.name in selected, next(odds), toolkit.base)
            for toolkit in self._toolkits
            for card in toolkit.tools
        ]
        return present(candidates, self.size, PRESENTATIONS[self.size])

    def route(self, query: str) -> list[dict[str, Any]]:
        """The function definitions for this query, in the format of OpenAI and Ollama."""
        return [native(spec) for spec in self.shown(query).specs]

    @cached_property
    def _selector(self) -> EncodingRanker:
        from routing.tools.selection import build_selector
        from routing.tools.selection.catalogue import rows

        return build_selector(*rows(self._toolkits))


def _distinct(tools: tuple[FunctionTool[..., Any], ...], toolkits: tuple[Toolkit, ...]) -> tuple[Toolkit, ...]:
    """Wraps each tool in its own toolkit, followed by the given toolkits."""
    cards = [register(tool) for tool in tools]
    alone = tuple(Toolkit(card.name, card.texts["XL"].description, card.category, tools=(card,)) for card in cards)
    named = [(card.name, "tools") for card in cards]
    _once("tool", [*named, *((card.name, f"the toolkit {kit.name}") for kit in toolkits for card in kit.tools)])
    _once("toolkit", [*named, *((kit.name, "toolkits") for kit in toolkits)])
    return (*alone, *toolkits)


def _once(kind: str, named: Iterable[tuple[str, str]]) -> None:
    """Raises ConfigError for a duplicate name. Each name comes with its location."""
    places: dict[str, str] = {}
    for name, place in named:
        if name in places:
            where = f"in {places[name]} and in {place}" if place != places[name] else f"twice in {place}"
            raise ConfigError(f"The {kind} {name} already exists, {where}: rename one of the two.")
        places[name] = place
