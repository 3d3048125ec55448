"""The dashboard and the table of metrics name what the bot exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.pages import ROOT, first_cells
from tests.ports import free_port
from tests.stories.harness import BotHarness, running


@pytest.fixture
async def exported(on: BotHarness) -> dict[str, str]:
    """The names of all metrics and their types."""
    on.env["ADMIN_ADDRESS"] = address = f"127.0.0.1:{free_port()}"
    async with running(on), httpx.AsyncClient(trust_env=False) as http:
        text = (await http.get(f"http://{address}/metrics")).text
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))


def expressions(value: Any) -> Iterator[str]:
    """Every query of the dashboard."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from expressions(inner)
    if isinstance(value, dict) and "expr" in value:
        yield value["expr"]


async def test_the_dashboard_queries_existing_metrics_and_leaves_none_out(exported: dict[str, str]) -> None:
    parts = {f"{name}{part}" for name, kind in exported.items() if kind == "histogram" for part in ("_bucket", "_sum")}
    dashboard = json.loads((ROOT / "docker/grafana.json").read_text(encoding="utf-8"))
    used = {name for query in expressions(dashboard) for name in re.findall(r"\b(?:tierbot|process)_\w+", query)}
    assert used - exported.keys() - parts == set()
    ours = {name for name in exported if name.startswith("tierbot_")}
    assert ours - {name.removesuffix("_bucket") for name in used} == {"tierbot_info"}


async def test_the_documents_list_every_metric(exported: dict[str, str]) -> None:
    assert sorted(first_cells("docs/monitoring.md", "tierbot_[a-z_]+")) == sorted(
        name for name in exported if name.startswith("tierbot_")
    )


def test_every_panel_has_its_own_id_and_place() -> None:
    panels = json.loads((ROOT / "docker/grafana.json").read_text(encoding="utf-8"))["panels"]
    places = {(x, y) for each in panels for x, y in cells(each["gridPos"])}
    assert len({each["id"] for each in panels}) == len(panels)
    assert len(places) == sum(each["gridPos"]["w"] * each["gridPos"]["h"] for each in panels)


def cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            yield x, y
