"""The tool selection decision as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast, get_args

import pytest

from handlers.tool_reports.tool_offer import (
    MAX_ACTIVATED,
    MAX_NAMED,
    NEAREST,
    ORDERS,
    REASONS,
    STAGES,
    UNAVAILABLE,
    ToolOffers,
    compared,
)
from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.presentation import Strategy
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.tools.fallback_reasons import OFF, SLOW
from routing.tools.offer import ToolOffer, TurnTools
from routing.tools.selector import Activated, ToolSelection, ToolSelector, Why
from routing.turn.plan import Plan
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.people import Person, PersonSettings, Role
from routing.types.tiers import Tier
from tests.handlers.contexts import asked
from tests.handlers.tool_reports.test_tool_list import bound, does
from tests.routing.tools.fakes import FakeEmbedder, FakeVectors

MODEL = "openai/gpt-5.1"
BOX = Toolbox(
    BuiltinSource(
        [
            bound("base", Tool("a", does), base=True),
            *(bound(f"kit{n}", Tool(f"b{n}", does), Tool(f"c{n}", does)) for n in range(9)),
            bound("vault", Tool("v", does, role="owner")),
            bound("big", *(Tool(f"big_{n}", does) for n in range(MAX_NAMED + 3))),
        ]
    )
)


class Unavailable(ToolSelector):
    """Reports a fallback reason, and finds `finds`."""

    reason = ""
    finds: tuple[Activated, ...] = ()

    @property
    def fallback_reason(self) -> str:
        return self.reason

    async def match(self, message: str, among: frozenset[str] | None = None) -> ToolSelection:
        return ToolSelection(tuple(each for each in self.finds if among is None or each.toolkit in among))


SELECTOR = Unavailable(BOX.toolkits, None, FakeVectors())

NOTHING = ToolSelection()


class Decides:
    """A router with a fixed decision."""

    def __init__(
        self, selection: ToolSelection = NOTHING, last: ToolOffer | None = None, **strategies: Strategy
    ) -> None:
        document = {
            "tools": {"presentation": {size: {"strategy": each, "maxTools": 4} for size, each in strategies.items()}}
        }
        config = read_config(jsonfile.parse(json.dumps(document), "x.json"), {"openai": "k"}, {})
        self.models = Models(config, Catalog.load(BUNDLED))
        self.asked: list[tuple[str, Tier | None]] = []
        self._selection = selection
        self._last = last
        self._prefix: Tier | None = None

    async def plan(self, person: Person, conversation_id: int, prefix: Tier | None = None) -> Plan:
        self._prefix = prefix
        return Plan(TierDecision("balanced", "default", "default"), ModelChoice(MODEL, None, "configured"))

    async def tools(self, person: Person, conversation_id: int, text: str, *where: object) -> TurnTools:
        self.asked.append((text, self._prefix))
        return TurnTools(BOX, SELECTOR, self.models, await BOX.offered(person), self._selection)

    def last(self, conversation_id: int) -> Plan | None:
        plan = Plan(TierDecision("balanced", "default", "default"), ModelChoice(MODEL, None, "configured"))
        return Plan(plan.decision, plan.choice, tools=self._last) if self._last else None


class Kept:
    async def settings(self, person_id: int) -> PersonSettings:
        return PersonSettings(off=frozenset({"kit8"}))


EMBEDDER = FakeEmbedder(name="sentence-transformers:/home/ann/model@0123")


def offers(router: Any) -> ToolOffers:
    return ToolOffers(router, BOX, SELECTOR, cast(Any, Kept()))


def offer(*names: str) -> ToolOffer:
    return ToolOffer(MODEL, "XL", 3, 30, 700, tuple(Activated(name, "keyword", 0.5) for name in names))


async def test_the_last_call_is_one_short_line() -> None:
    mine = offers(Decides(last=offer(*(f"kit{n}" for n in range(7)), "vault")))
    line = await mine.last(asked(role="user"), 1)
    told = ", ".join(f"`kit{n}` (words 0.50)" for n in range(MAX_ACTIVATED))
    assert line == f"Tools: 3 of 30 for the last message (size XL); activated: {told}, and 2 more"
    assert (await offers(Decides(last=offer())).last(asked(), 1)) == "Tools: 3 of 30 for the last message (size XL)"
    assert "`vault`" in await offers(Decides(last=offer("vault"))).last(asked(), 1)
    assert "vault" not in await offers(Decides(last=offer("vault"))).last(asked(role="user"), 1)


async def test_before_the_first_call_only_the_conversations_tools_are_named() -> None:
    found = ToolSelection(
        (Activated("kit1", "embed", 0.3), Activated("kit2", "used", 1), Activated("kit3", "follow-up", 0.8))
    )
    line = await offers(Decides(found)).last(asked(), 1)
    assert line.startswith("Tools: 7 of ")
    assert line.endswith("(size XL); activated: `kit2` (used 1.00), `kit3` (follow-up 0.80)")


async def test_every_stage_order_and_fallback_reason_has_a_text() -> None:
    whys: tuple[Why, ...] = get_args(Why)
    found = ToolSelection(tuple(Activated(f"kit{n}", why, n / 8) for n, why in enumerate(whys)), fallback_reason=SLOW)
    text = await offers(Decides(found)).explain(asked(language="de"), 1, "x")
    for each in (
        "kit0**: Wörter 0,00",
        "kit1**: Embeddings 0,12",
        "kit2**: Anschlussfrage 0,25",
        "kit3**: benutzt 0,38",
    ):
        assert each in text
    assert text.endswith("⚠️ Werkzeugauswahl: nur Wörter (die Embeddings haben zu lange gebraucht)")
    assert STAGES.keys() == set(whys)
    assert ORDERS.keys() == set(get_args(Strategy))
    assert SLOW in REASONS


async def test_disabled_matches_are_named() -> None:
    SELECTOR.finds = (Activated("kit8", "embed", 0.97), Activated("kit7", "embed", 0.9))
    text = await offers(Decides(ToolSelection())).explain(asked(), 1, "x")
    SELECTOR.finds = ()
    assert "- No toolkit matches this message.\n- Switched off by you: kit8 (0.97)\n" in text


async def test_runners_up_are_listed_with_probabilities() -> None:
    odds = {f"b{n}": n / 2 - 2 for n in range(9)} | {f"c{n}": -9.0 for n in range(9)} | {"a": 9.0, "v": -1000.0}
    found = ToolSelection((Activated("kit7", "embed", 0.9),), odds)
    line = next(
        each for each in (await offers(Decides(found)).explain(asked(), 1, "x")).splitlines() if "Not relevant" in each
    )
    assert line == "- Not relevant: kit6 (0.73), kit5 (0.62), kit4 (0.50), kit3 (0.38), kit2 (0.27), and 4 more"
    assert NEAREST == 5
    assert "kit8" not in line, "it is off"
    unknown = await offers(Decides(ToolSelection())).explain(asked(), 1, "x")
    assert "Not relevant" not in unknown
    assert "- No toolkit matches this message." in unknown
    assert "- Always included: base" in unknown


@pytest.mark.parametrize(
    ("strategy", "lines"),
    [
        ("full", {"In full": "`a`, `b1`, `c1`", "By name only": "", "Not shown": "`b0`, `c0`, `b2`"}),
        ("reorder", {"In full": "`c1`, `a`, `b1`", "By name only": "", "Not shown": "`b0`, `c0`, `b2`"}),
        ("top_k", {"In full": "`c1`, `b1`, `a`, `b0`", "By name only": "`c0`, `b2`", "Not shown": ""}),
    ],
)
async def test_tools_are_in_the_order_of_the_request(strategy: Strategy, lines: Mapping[str, str]) -> None:
    found = ToolSelection((Activated("kit1", "embed", 0.9),), {"c1": 2.0, "a": 1.0})
    text = await offers(Decides(found, XL=strategy)).explain(asked(), 1, "x")
    said = dict(each.strip().split(": ", 1) for each in text.splitlines() if ": `" in each)
    assert f"Size class XL, strategy `{strategy}`: {ORDERS[strategy]}." in text
    for head, begin in lines.items():
        assert said.get(head, "").startswith(begin)
        assert (head in said) == bool(begin)
    assert ("and 18 more" in text) == (strategy in ("full", "reorder")), "of 78 hidden tools, 60 are named"


async def test_stubs_are_names() -> None:
    found = ToolSelection((Activated("kit1", "embed", 0.9),), {"c1": 2.0})
    text = await offers(Decides(found, XL="hybrid")).explain(asked(), 1, "x")
    said = dict(each.strip().split(": ", 1) for each in text.splitlines() if ": `" in each)
    assert said["In full"] == "`c1`, `b1`, `a`, `b0`"
    assert said["By name only"].startswith("`c0`, `b2`, ")
    assert "Not shown" not in text


async def test_a_prefix_selects_the_tier_and_is_removed() -> None:
    router = Decides()
    await offers(router).explain(asked(), 1, "!deep is it raining?")
    await offers(router).explain(asked(), 1, "!hello is it raining?")
    assert router.asked == [("is it raining?", "deep"), ("!hello is it raining?", None)]


async def test_model_paths_are_for_admins() -> None:
    SELECTOR.reason = ""  # as when everything is embedded
    assert "(`sentence-transformers:/home/ann/model@0123`)" in compared(asked(role="admin"), SELECTOR, EMBEDDER)
    assert "embeddings (`sentence-transformers`)" in compared(asked(role="user"), SELECTOR, EMBEDDER)
    SELECTOR.reason = "the model can't be loaded."
    assert compared(asked(), SELECTOR, EMBEDDER) == "⚠️ Tool matching: words only (the model can't be loaded)"


@pytest.mark.parametrize(
    ("role", "fallback_reason", "told"),
    [
        ("admin", "/home/ann/model: there is no such folder", "/home/ann/model: there is no such folder"),
        ("user", "/home/ann/model: there is no such folder", UNAVAILABLE),
        ("guest", "/home/ann/model: there is no such folder", UNAVAILABLE),
        *((role, reason, reason) for role in ("admin", "guest") for reason in (*REASONS, OFF)),
    ],
)
async def test_errors_of_an_encoder_are_for_admins(role: Role, fallback_reason: str, told: str) -> None:
    SELECTOR.reason = fallback_reason
    line = f"⚠️ Tool matching: words only ({told})"
    assert compared(asked(role=role), SELECTOR, EMBEDDER) == line
    text = await offers(Decides(ToolSelection(fallback_reason=fallback_reason))).explain(asked(role=role), 1, "x")
    assert text.endswith(f"\n\n{line}")
