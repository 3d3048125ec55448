"""Figures without a model: the right tool's rank, whether it is shown, and the tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.bench_tools.ranking import Ranking
from benchmarks.bench_tools.strategies import BESIDE, Presented, discovery, on_the_wire, presented
from benchmarks.bench_tools.study import Prompt, Study
from benchmarks.reporting.intervals import Interval, mean, proportion
from routing.types.decisions import Size

KS = (1, 3, 5, 8, 12)


@dataclass(frozen=True, slots=True)
class Showing:
    """One prompt shown with one strategy: our token estimate and a real tokenizer's count (None without one)."""

    way: str
    size: Size
    prompt: Prompt
    presented: Presented
    estimate: int
    tokens: int | None

    @property
    def shown(self) -> bool:
        """Whether the right tool is there with its description."""
        return self.prompt.tool in self.presented.detailed

    @property
    def reachable(self) -> bool:
        """Whether it is shown at all, possibly by name only: such a call returns its schema for a second try."""
        return self.shown or self.prompt.tool in self.presented.named


def showings(
    study: Study,
    rankings: Sequence[Ranking],
    ways: Sequence[str],
    sizes: Sequence[Size],
    count: Callable[[str], int] | None,
    beside: Sequence[Ranking] = (),
) -> Iterator[Showing]:
    """Every prompt with every strategy and size class. Strategies `beside` our own tools have rankings among all
    tools."""
    finder = discovery()
    for size in sizes:
        for way in ways:
            for ranking in beside if way in BESIDE else rankings:
                one = presented(way, ranking, study.cards, size, finder)
                exact = None if count is None else count(on_the_wire(one.shown))
                yield Showing(way, size, ranking.prompt, one, one.shown.tokens, exact)


def recall_at(rankings: Sequence[Ranking], most: int) -> Interval | None:
    """How often the right tool is among the first ones."""
    return proportion([ranking.rank() <= most for ranking in rankings])


@dataclass(frozen=True, slots=True)
class Parts:
    """P(right tool) = P(right family) × P(right tool | right family)."""

    tool: Interval | None
    family: Interval | None
    within: Interval | None


def parts(outcomes: Sequence[tuple[bool, bool]]) -> Parts:
    """From whether family and tool were right; a right tool in a wrong family does not happen."""
    return Parts(
        tool=proportion([tool for _, tool in outcomes]),
        family=proportion([family for family, _ in outcomes]),
        within=proportion([tool for family, tool in outcomes if family]),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """All prompts in one way for one class: means over the prompts, the most expensive of them, and shares."""

    way: str
    size: Size
    tools: Interval
    estimate: Interval
    tokens: Interval | None
    most_tokens: int
    parts: Parts
    reachable: Interval


def row(found: Sequence[Showing], families: Mapping[str, str]) -> Row:
    """The row for one or more showings with the same strategy and size class."""
    outcomes = [
        (each.prompt.family in {families[name] for name in each.presented.detailed}, each.shown) for each in found
    ]
    exact = [each.tokens for each in found if each.tokens is not None]
    sizes = mean([len(each.presented.shown.specs) for each in found])
    estimates = mean([each.estimate for each in found])
    reachable = proportion([each.reachable for each in found])
    assert sizes is not None
    assert estimates is not None
    assert reachable is not None
    return Row(
        way=found[0].way,
        size=found[0].size,
        tools=sizes,
        estimate=estimates,
        tokens=mean(exact),
        most_tokens=max([*exact, *(each.estimate for each in found)]),
        parts=parts(outcomes),
        reachable=reachable,
    )
