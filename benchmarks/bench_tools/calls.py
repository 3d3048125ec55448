"""Scores a model's tool calls: right, wrong or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.bench_tools.endpoint import Answer
from benchmarks.bench_tools.recall import Parts, Showing, parts
from benchmarks.reporting.intervals import Interval, mean, proportion
from routing.tools.presentation import DISCOVERY, Shown


class Model(Protocol):
    """Answers a prompt with the tools that are shown."""

    def ask(self, prompt: str, shown: Shown) -> Answer: ...


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A showing and the model's answer to it."""

    showing: Showing
    answer: Answer

    @property
    def right(self) -> bool:
        """Whether the tool of the study was called, including by a name without a schema."""
        return self.showing.reachable and self.answer.called == self.showing.prompt.tool


def asked(model: Model, found: Sequence[Showing]) -> Iterator[ModelAnswer]:
    """Send the prompts one after the other."""
    for showing in found:
        yield ModelAnswer(showing, model.ask(showing.prompt.text, showing.presented.shown))


@dataclass(frozen=True, slots=True)
class Score:
    """All prompts with one strategy: `parts` of the first calls, and how often there was no call, a search for more
    tools, or a call of a tool that does not exist."""

    way: str
    parts: Parts
    silent: Interval
    discovering: Interval
    invented: Interval
    tokens: Interval | None
    seconds: Interval


def score(found: Sequence[ModelAnswer], families: Mapping[str, str]) -> Score:
    """The score of one or more answers to showings with the same strategy."""
    calls = [each.answer.called for each in found]
    outcomes = [(families.get(each.answer.called or "") == each.showing.prompt.family, each.right) for each in found]
    silent = proportion([called is None for called in calls])
    discovering = proportion([called == DISCOVERY for called in calls])
    invented = proportion([_is_invented(each, families) for each in found])
    seconds = mean([each.answer.seconds for each in found])
    assert silent is not None
    assert discovering is not None
    assert invented is not None
    assert seconds is not None
    return Score(
        way=found[0].showing.way,
        parts=parts(outcomes),
        silent=silent,
        discovering=discovering,
        invented=invented,
        tokens=mean([each.answer.tokens for each in found if each.answer.tokens is not None]),
        seconds=seconds,
    )


def _is_invented(asked: ModelAnswer, families: Mapping[str, str]) -> bool:
    presented = {spec.name for spec in asked.showing.presented.shown.specs}
    return asked.answer.called not in (None, DISCOVERY, *families, *presented)
