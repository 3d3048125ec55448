"""The eighty tools: texts per size class, ranks, and strategies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_tools.ranking import Ranking, rankings
from benchmarks.bench_tools.recall import recall_at
from benchmarks.bench_tools.strategies import (
    BESIDE,
    OURS,
    PUBLISHED,
    WAYS,
    default,
    discovery,
    on_the_wire,
    our_toolkits,
    presented,
)
from benchmarks.bench_tools.study import Prompt, Study, Unreadable, read
from routing.config.presentation import PRESENTATIONS
from routing.tools.presentation import DISCOVERY, Shown
from routing.types.decisions import SIZES, Size
from tests.benchmarks.study import TOOLS, ranking


def test_each_size_class_gets_the_studys_text(study: Study) -> None:
    card = study.cards[0]
    assert [len(card.spec(size).parameters["properties"]) for size in SIZES] == [2, 3, 4, 4]
    assert [card.spec(size).description for size in SIZES][:2] == ["files 0", "The tool 0 for files, told at length."]
    assert card.spec("S").parameters["properties"]["names"] == {"type": "array", "items": {}}
    assert [len(toolkit["tools"]) for toolkit in study.toolkits()] == [5] * 4
    assert [tool["name"] for tool in study.tools()] == [card.name for card in study.cards]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("tools.json", None, "cannot be read"),
        ("tools.json", "{", "not of the study's form"),
        ("tools.json", '{"tools": []}', "holds no tools"),
        ("prompts.json", "[]", "not of the study's form"),
        ("prompts.json", '{"prompts": [{"prompt": "x"}]}', "not of the study's form"),
        (
            "prompts.json",
            '{"prompts": [{"prompt": "x", "expected_tool": "fly", "expected_family": "air"}]}',
            "expects tools that are none: fly",
        ),
    ],
)
def test_an_unreadable_study_is_reported_in_one_sentence(
    folder: Path, name: str, content: str | None, problem: str
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, "utf-8")
    with pytest.raises(Unreadable, match=problem):
        read(folder)


@pytest.mark.parametrize(("odds", "rank"), [([3, 2, 1], 1), ([1, 2, 3], 3), ([2, 2, 1], 2), ([0, 0, 0], 3)])
def test_ties_rank_against_the_right_tool(odds: list[float], rank: int) -> None:
    found = Ranking(Prompt("x", "right", "x"), dict(zip(("right", "b", "c"), odds, strict=True)), frozenset())
    assert found.rank() == rank


def test_recall_at_k(study: Study) -> None:
    found = [ranking(study, "web_3", best, ()) for best in (["web_3"], ["web_1", "web_3"], ["web_1"])]
    values = {most: recall for most in (1, 2, 12) if (recall := recall_at(found, most)) is not None}
    assert [values[most].value for most in (1, 2, 12)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_rankings_give_each_tool_a_probability_in_both_forms() -> None:
    words = ("umbrella", "violin", "harbour", "passport", "elephant", "mountain")
    tools = [{"name": word, "category": f"of {word[0]}", "description": f"All about a {word}."} for word in words]
    toolkits = [{"name": f"of {tool['name'][0]}", "description": "", "tools": [tool]} for tool in tools]
    prompts = [Prompt(f"an {word}, please", word, f"of {word[0]}") for word in words]
    for catalogue in (toolkits[::-1], tools):
        found = rankings(catalogue, prompts)
        assert [set(each.odds) for each in found] == [set(words)] * len(words)
        assert [each.rank() for each in found] == [1] * len(words)


def shown_by(way: str, study: Study, size: Size = "M") -> tuple[int, set[str], set[str], str]:
    """A prompt whose five best tools are web tools, and whose families are web and mail."""
    order = [f"web_{number}" for number in range(5)]
    found = presented(way, ranking(study, "web_3", order, ["web", "mail"]), study.cards, size, discovery())
    return len(found.shown.specs), set(found.detailed), set(found.named), found.shown.hint


def test_published_strategies_match_the_publication(study: Study) -> None:
    everything = {card.name for card in study.cards}
    best = {f"web_{number}" for number in range(5)}
    eight = best | {"files_0", "files_1", "files_2"}
    assert shown_by("all in full", study) == (20, everything, set(), "")
    count, detailed, named, hint = shown_by("all, reordered", study)
    assert (count, detailed, named) == (20, everything, set())
    assert hint.startswith("Kinds of tools here: ")
    assert shown_by("8 + stubs", study) == (20, eight, everything - eight, "")
    count, detailed, named, hint = shown_by("top 8 + names", study)
    assert on_the_wire(Shown((), (), hint)) == f"[]{hint}"
    assert (count, detailed, named) == (9, eight, everything - eight)
    assert DISCOVERY in hint
    assert shown_by("top 5 + discovery", study) == (6, best, set(), "")
    assert set(PUBLISHED) | set(OURS) | set(BESIDE) == set(WAYS)


def test_our_strategies_respect_the_size_class_limits(study: Study) -> None:
    selected = {f"{family}_{number}" for family in ("web", "mail") for number in range(5)}
    assert shown_by("full", study, "XL")[:3] == (11, selected, set())
    assert shown_by("reorder", study, "L")[:2] == (11, selected)
    count, detailed, named, _ = shown_by("top_k", study, "S")
    assert count == PRESENTATIONS["S"].most_tools
    assert {f"web_{number}" for number in range(5)} < detailed < selected
    assert detailed | named == {card.name for card in study.cards}


def test_the_full_strategy_includes_our_own_tools(study: Study) -> None:
    assert [BESIDE[default(size)] for size in SIZES] == [PRESENTATIONS[size].strategy for size in SIZES]
    ours = our_toolkits(frozenset({"help", "clock_4"}))
    base = {card.name for kit in ours if kit.base for card in kit.tools}
    assert {"calculate", DISCOVERY} < base
    assert "help" not in {card.name for kit in ours for card in kit.tools}
    others = [card.name for kit in ours if not kit.base for card in kit.tools]
    order = [*(card.name for card in study.cards[:4]), *sorted(base), *others]
    for size in SIZES:
        found = presented(
            default(size), ranking(study, "clock_4", [*order, "help"], ["clock"]), study.cards, size, discovery()
        )
        shown = {spec.name for spec in found.shown.specs}
        assert {f"clock_{number}" for number in range(5)} <= found.detailed <= {*study.families()}
        assert DISCOVERY in shown
        assert "health" not in shown
        assert ("calculate" in shown) == (size != "S")
        assert ("files_0" in shown) == (size in ("S", "M"))


def test_rankings_with_our_tools_cover_all_tools(study: Study) -> None:
    ours = our_toolkits(frozenset())
    (found,) = rankings(study.toolkits(), study.prompts[:1], ours)
    assert {*found.odds} == {*study.families(), *(card.name for kit in ours for card in kit.tools)}
    assert rankings(study.toolkits(), study.prompts[:1])[0].odds.keys() == study.families().keys()


def test_names_beyond_the_limit_are_not_shown() -> None:
    tools = [{**TOOLS[0], "name": f"a_tool_with_quite_a_long_name_{number}"} for number in range(400)]
    cards = Study((), ()).cards + tuple(map(_card, tools))
    found = Ranking(
        Prompt("x", cards[0].name, "x"), {card.name: -float(at) for at, card in enumerate(cards)}, frozenset()
    )
    named = presented("top_k", found, cards, "S", discovery()).named
    assert 0 < len(named) < 390


def _card(tool: Mapping[str, Any]) -> Any:
    from benchmarks.bench_tools.study import _card as made

    return made(tool)
