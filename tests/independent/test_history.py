"""The whole bot continues a conversation whose names and ids only its first provider accepts, in three wire formats,
against two third-party model servers.

Neither server checks names, ids, or pairs of calls and results. So our own checks validate the recorded requests, and
they are shown to reject the same conversation when it is not adapted.
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
    point_providers_at,
    provider_faults,
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


async def continued_requests(on: BotHarness, party: Party, stations: tuple[Station, ...]) -> list[Sent]:
    """Continue the conversation with two questions at each station; returns the requests that the server received."""
    point_providers_at(on, party)
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


def check_rounds(found: list[Round], kind: ApiType) -> None:
    """Check that the history's tool rounds are complete and valid."""
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
    """llmock stores each body unchanged. Only llmock gets the Claude model with a thinking budget: unlike Anthropic,
    aimock also requires thinking before the tool calls of finished turns."""
    stations = (*STATIONS, BUDGET)
    ids = set()
    for station, first, second in by_station(stations, await continued_requests(on, judge, stations)):
        assert provider_faults(first) == provider_faults(second) == []
        told, again = (rounds(station.kind, each.body) for each in (first, second))
        check_rounds(told, station.kind)
        assert told == again, "the same names and ids in two requests"
        assert turns(second)[: len(turns(first))] == turns(first)
        if station.kind != "gemini":
            ids.add(tuple(each.id for each in told))
        everything = str((first.body, second.body))
        assert not any(each in everything for each in (FIRST, SECOND, LONG_NAME, "foreign")), "nothing of theirs"
    assert len(ids) == 1, "and the same at each provider"


@pytest.mark.system
async def test_aimock_understands_the_whole_conversation(on: BotHarness, aimock: Aimock) -> None:
    """aimock's journal converts Anthropic requests to OpenAI's format. Of Gemini's two spellings of parts it parses
    only one, and LiteLLM writes the other."""
    for station, first, second in by_station(STATIONS, await continued_requests(on, aimock, STATIONS)):
        told, again = (rounds("openai", each.body) for each in (first, second))
        assert told == again
        if station.kind == "gemini":
            said = [message["content"] for message in second.body["messages"] if message["role"] == "user"]
            assert [text for text in said if text][-2:] == [f"What says {station.model}?", "And now?"]
        else:
            check_rounds(told, station.kind)
        if station.kind == "openai":
            assert provider_faults(first) == provider_faults(second) == []
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
"""The errors in requests that LiteLLM builds alone. For Anthropic it corrects ids and tool names, but not their
length."""


@pytest.mark.parametrize("kind", KINDS)
async def test_the_library_alone_sends_invalid_requests(judge: Llmock, llm: LiteLlm, kind: ApiType) -> None:
    """Without our message codec. The call whose arguments are not JSON is left out, because LiteLLM raises on it."""
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
    found = "\n".join(provider_faults(sent))
    assert [words for words in REFUSED[kind] if words not in found] == [], found


async def test_llmock_refuses_another_vendors_messages(judge: Llmock) -> None:
    """llmock checks the roles of Anthropic messages and hardly anything else."""
    raw = [{"role": message.role, "content": message.text} for message in HISTORY]
    body = {"model": "m", "max_tokens": 10, "messages": raw}
    assert "'user' or 'assistant'" in str(await judge.call("POST", "/anthropic/v1/messages", body, status=422))
    assert await judge.call("POST", "/v1/chat/completions", body)
