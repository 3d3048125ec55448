"""A conversation that began with names and ids that no other provider accepts goes on in the three wire formats, with
two stand-ins that are not ours: the whole bot, from its database to the requests that they recorded.

Neither of the two looks at names, ids or pairs. So their journals are what counts here, and what a provider would
refuse in them is found by our own checks, which are shown to refuse the same conversation without our adaptation.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from routing.llm.adapter import LiteLlm
from routing.llm.parameters import Target, parameters
from routing.types.llm import ApiType, ChatMessage, ModelRequest, ProviderProfile, ToolSpec
from tests.independent.aimock import Aimock
from tests.independent.conftest import Party
from tests.independent.conversation import (
    BUDGET,
    FIRST,
    HISTORY,
    KINDS,
    LEGAL,
    LONG_NAME,
    RESULTS,
    SECOND,
    STATIONS,
    Round,
    Station,
    begin,
    judged,
    reached_at,
    rounds,
    stored,
    turns,
)
from tests.independent.llmock import Llmock
from tests.independent.process import Sent
from tests.litellm_setup import litellm_without_clients
from tests.stories.harness import BotHarness, ask, running

LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


async def told_on(on: BotHarness, party: Party, stations: tuple[Station, ...]) -> list[Sent]:
    """Two questions at each station, after the conversation elsewhere; what the stand-in got."""
    reached_at(on, party)
    await party.says("Noted.")
    async with running(on):
        await ask(on, "Hello?")
    begun = begin(on)
    await party.reset()
    await party.says("Noted.")
    async with running(on):
        for station in stations:
            await ask(on, f"/model balanced {station.model}")
            assert (await ask(on, f"What says {station.model}?")).text == "Noted."
            assert (await ask(on, "And now?")).text == "Noted."
    assert stored(on) == begun, "what is stored stays as it was, byte for byte"
    sent = await party.sent()
    assert [each.status for each in sent] == [200] * len(stations) * 2
    return sent


def by_station(stations: tuple[Station, ...], sent: list[Sent]) -> list[tuple[Station, Sent, Sent]]:
    return list(zip(stations, sent[::2], sent[1::2], strict=True))


def hold(found: list[Round], kind: ApiType) -> None:
    """The rounds of the history, whole and legal."""
    assert [bool(LEGAL_NAME.fullmatch(each.name)) for each in found] == [True] * 4
    assert [each.name for each in found[:2]] == ["web_search_v2", "unknown"]
    assert found[3].name == "web_search_v2"
    assert [each.arguments for each in found] == [{"q": "a"}, {"_raw": "not json"}, {}, {"q": "c"}]
    assert all(text in each.result for text, each in zip(RESULTS, found, strict=True))
    ids = [each.id for each in found]
    if kind != "gemini":  # it pairs by name and place
        assert [bool(LEGAL_ID.fullmatch(each)) for each in ids] == [True] * 4
        assert len(set(ids)) == 4
        assert ids[2] == LEGAL, "a legal id is left as it is"


async def test_requests_are_valid_and_deterministic(on: BotHarness, judge: Llmock) -> None:
    """llmock keeps each body as it came. The Claude with a budget goes to it alone: aimock wants thinking before the
    tools of finished turns, too, where Anthropic lets one leave it out."""
    stations = (*STATIONS, BUDGET)
    ids = set()
    for station, first, second in by_station(stations, await told_on(on, judge, stations)):
        assert judged(first) == judged(second) == []
        told, again = (rounds(station.kind, each.body) for each in (first, second))
        hold(told, station.kind)
        assert told == again, "the same names and ids in two requests"
        assert turns(second)[: len(turns(first))] == turns(first)
        if station.kind != "gemini":
            ids.add(tuple(each.id for each in told))
        everything = str((first.body, second.body))
        assert not any(each in everything for each in (FIRST, SECOND, LONG_NAME, "foreign")), "nothing of theirs"
    assert len(ids) == 1, "and the same at each provider"


@pytest.mark.system
async def test_aimock_understands_the_whole_conversation(on: BotHarness, aimock: Aimock) -> None:
    """Its journal tells the requests to Anthropic in OpenAI's words, by its own reading. Of Gemini's it reads one
    spelling of the parts, and the library writes the other; Gemini takes both."""
    for station, first, second in by_station(STATIONS, await told_on(on, aimock, STATIONS)):
        told, again = (rounds("openai", each.body) for each in (first, second))
        assert told == again
        if station.kind == "gemini":
            said = [message["content"] for message in second.body["messages"] if message["role"] == "user"]
            assert [text for text in said if text][-2:] == [f"What says {station.model}?", "And now?"]
        else:
            hold(told, station.kind)
        if station.kind == "openai":
            assert judged(first) == judged(second) == []
        if station.kind == "anthropic":
            assert first.headers["anthropic-version"]
            assert "foreign" not in str((first.body, second.body))


# Controls


NAME, DANGLING = "'look.xxx", ("tool calls without a result", "tool_use without tool_result", "0 function responses")
REFUSED: dict[ApiType, tuple[str, ...]] = {
    "openai": (NAME, DANGLING[0], "'web.search/v2' does not match", f"{FIRST!r} is not a string of 1 to 40 characters"),
    "anthropic": (NAME, DANGLING[1]),
    "gemini": (NAME, DANGLING[2], "'web.search/v2' does not match"),
}
"""What the library leaves to us: for Anthropic it mends ids and tools' names itself, if not their length."""


@pytest.mark.parametrize("kind", KINDS)
async def test_the_library_alone_sends_invalid_requests(judge: Llmock, llm: LiteLlm, kind: ApiType) -> None:
    """The door without its one step: what the library alone makes of it. Of arguments that are no JSON it would make
    no request at all."""
    await judge.says("Noted.")
    model = next(station.model for station in STATIONS if station.kind == kind)
    first = replace(HISTORY[1], calls=HISTORY[1].calls[:1])
    messages = (HISTORY[0], first, *HISTORY[3:], ChatMessage("user", "Well?"))
    where = ProviderProfile(kind, kind, judge.base(kind), "sk-mine", 30.0, "X")
    tools = (ToolSpec("web.search/v2", "Search.", {}),)
    wired = parameters(ModelRequest("balanced", model, messages, where, None, None, tools), Target("chat"))
    stream = await litellm_without_clients().acompletion(model=model, api_key="x", api_base=where.base_url, **wired)
    assert [piece async for piece in stream]
    (sent,) = await judge.sent()
    found = "\n".join(judged(sent))
    assert [words for words in REFUSED[kind] if words not in found] == [], found


async def test_llmock_refuses_another_vendors_messages(judge: Llmock) -> None:
    """The little that it checks of a request."""
    raw = [{"role": message.role, "content": message.text} for message in HISTORY]
    body = {"model": "m", "max_tokens": 10, "messages": raw}
    assert "'user' or 'assistant'" in str(await judge.call("POST", "/anthropic/v1/messages", body, status=422))
    assert await judge.call("POST", "/v1/chat/completions", body)
