"""Previews before the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from routing.errors import StorageFault
from routing.types.messages import ChatKey
from tests.bot.adapters.discord.client import Sender, connected_client, inbound, to
from tests.servers.discord import DiscordServer
from tests.servers.discord.faults import Fault, Kind

FAILURES: tuple[Kind, ...] = ("drop", "drop_after", "refuse", "cloudflare")


POST, PATCH = "/channels/{channel_id}/messages", "/channels/{channel_id}/messages/{message_id}"


async def test_a_quick_answer_costs_one_request() -> None:
    async with connected_client(pace={"typing_after": 5, "preview_after": 5}) as sender:
        dc = sender.dc
        before = len(dc.requests)
        live = sender.live(inbound(dc.say("6 * 7?")))
        await live.working()
        live.show("4")
        assert await live.close() == ""
        await sender.send(to(dc.dm(), "42"))
        assert len(dc.requests) == before + 1


async def test_typing_continues_until_the_end_in_the_thread(dc: DiscordServer, sender: Sender) -> None:
    thread = dc.thread("Soup", dc.channel())
    live = sender.live(inbound(dc.say("hm?", channel=thread, mention=True)))
    await live.working()
    await live.working()
    await dc.wait_for(lambda _: len(dc.typing) >= 3)
    assert {typing.channel for typing in dc.typing} == {thread}
    await live.close()
    await asyncio.sleep(0)
    count = len(dc.typing)
    await dc.wait_for_change(0.3)
    assert len(dc.typing) == count


async def test_the_answer_is_streamed_into_one_stored_message(dc: DiscordServer, sender: Sender) -> None:
    question = dc.say("hm?", channel="general", mention=True)
    live = sender.live(inbound(question))
    live.show("The **ans")
    shown = await dc.reply(question)
    assert shown.reply_to is question
    await dc.wait_for(lambda _: sender.kept == [str(shown.id)])
    live.show("The **answer** i")
    live.show("The **answer** is")
    await dc.wait_for(lambda _: len(shown.versions) == 2)
    live.show("The **answer** is")
    assert await live.close() == str(shown.id)
    await sender.send(to(question.channel, "The **answer** is", edits=str(shown.id)))
    assert [version.text for version in shown.versions] == ["The **ans** …", "The **answer** is"]
    assert shown.versions[1].at - shown.versions[0].at >= 0.045
    assert question.channel.from_bot() == [shown]


async def test_an_unchanged_preview_is_not_sent(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")))
    live.show("one")
    await dc.wait_for(lambda _: sender.kept)
    live.show("one")
    await dc.wait_for_change(0.3)
    assert dc.calls("PATCH", PATCH) == []
    await live.close()


async def test_the_edit_interval_does_not_depend_on_response_time() -> None:
    async with connected_client(pace={"edit_gap": 0.2}) as sender:
        dc = sender.dc
        live = sender.live(inbound(dc.say("hm?")))
        live.show("one")
        shown = await dc.reply()
        dc.fault("PATCH /channels/*/messages/*", "slow", seconds=0.3)
        live.show("one two")
        await dc.wait_for(lambda _: len(shown.versions) == 2)
        live.show("one two three")
        await dc.wait_for(lambda _: len(shown.versions) == 3)
        assert shown.versions[2].at - shown.versions[1].at >= 0.48
        await live.close()


async def test_a_refused_preview_is_not_retried() -> None:
    async with connected_client(pace={"typing_after": 5}) as sender:
        dc = sender.dc
        dc.forbid(dc.channel(), "send_messages")
        live = sender.live(inbound(dc.say("hm?", channel="general", mention=True)))
        live.show("one")
        await dc.wait_for(lambda _: dc.calls("POST", POST))
        live.show("one two")
        await dc.wait_for_change(0.3)
        assert len(dc.calls("POST", POST)) == 1
        assert await live.close() == ""


async def test_replies_in_direct_messages_quote_nothing(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")))
    live.show("one")
    assert (await dc.reply()).reply_to is None
    await live.close()


async def test_a_thread_started_by_the_question_quotes_nothing(dc: DiscordServer, sender: Sender) -> None:
    question = dc.say("hm?", channel="general", mention=True)
    thread = dc.thread("hm?", question)
    live = sender.live(replace(inbound(question), chat=ChatKey("discord", str(question.channel.id), str(thread.id))))
    live.show("one")
    await dc.reply(thread)
    await live.close()
    await sender.send(to(thread, "two", reply_to=str(question.id)))
    bodies = [call.body for call in dc.calls("POST", POST)]
    assert len(bodies) == 2
    assert not any("message_reference" in body for body in bodies)


async def test_a_given_placeholder_is_continued(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "half an"), outbox_id=6)
    shown = await dc.reply()
    live = sender.live(inbound(dc.say("hm?")), str(shown.id))
    live.show("half an answer")
    await dc.wait_for(lambda _: shown.text == "half an answer")
    assert await live.close() == str(shown.id)
    assert sender.kept == []


async def test_a_preview_on_its_way_arrives_before_the_final_text(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")))
    dc.fault("POST /channels/*/messages", "slow", seconds=0.2)
    live.show("half")
    shown = await dc.reply()
    assert await live.close() == str(shown.id) == sender.kept[0]


async def test_a_preview_with_a_lost_response_is_found_again(dc: DiscordServer, sender: Sender) -> None:
    fault = dc.fault("POST /channels/*/messages", "drop_after")
    live = sender.live(inbound(dc.say("hm?")))
    live.show("half")
    await dc.wait_for(lambda _: fault.hits)
    placeholder = await live.close()
    (shown,) = dc.dm().from_bot()
    assert placeholder == str(shown.id)
    assert sender.kept == [placeholder]


async def test_without_streaming_there_is_only_typing(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")), streaming=False)
    await live.working()
    live.show("one")
    await dc.wait_for(lambda dc: len(dc.typing) >= 2)
    assert await live.close() == ""
    assert dc.dm().from_bot() == []


def once(fault: Fault) -> Callable[[object], bool]:
    return lambda _: fault.hits == 1


async def test_a_failing_preview_does_not_affect_the_final_text(dc: DiscordServer, sender: Sender) -> None:
    for number, kind in enumerate(FAILURES):
        question = dc.say("hm?", channel=f"room-{kind.replace('_', '-')}", mention=True)
        dc.fault("POST /channels/*/typing", kind)
        fault = dc.fault("POST /channels/*/messages", kind)
        live = sender.live(inbound(question))
        await live.working()
        live.show("half")
        await dc.wait_for(once(fault))
        dc.clear_faults()
        placeholder = await live.close()
        await sender.send(to(question.channel, "whole", edits=placeholder), outbox_id=10 + number)
        assert [message.text for message in question.channel.from_bot()] == ["whole"]


async def test_a_preview_deleted_by_someone_is_replaced_by_a_new_message(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")))
    live.show("one")
    shown = await dc.reply()
    dc.delete(shown)
    live.show("one two")
    await dc.wait_for(lambda _: [call.status for call in dc.calls("PATCH", PATCH)] == [404])
    assert await live.close() == ""


async def test_a_failure_to_store_the_placeholder_does_not_reach_the_turn() -> None:
    async def keep(message_id: str) -> None:
        raise StorageFault("disk full")

    async with connected_client() as sender:
        live = sender.live(inbound(sender.dc.say("hm?")), keep=keep)
        live.show("one")
        shown = await sender.dc.reply()
        live.show("one two")
        assert await live.close() == str(shown.id)


async def test_a_429_is_waited_for_by_the_library(dc: DiscordServer, sender: Sender) -> None:
    live = sender.live(inbound(dc.say("hm?")))
    live.show("one")
    shown = await dc.reply()
    dc.fault("PATCH /channels/*/messages/*", "rate_limit", retry_after=0.3)
    live.show("one two")
    await dc.wait_for(lambda _: shown.text == "one two")
    assert shown.versions[1].at - shown.versions[0].at >= 0.3
    await live.close()


@pytest.mark.parametrize("kind", ["cloudflare", "rate_limit"])
async def test_a_long_rate_limit_stops_previews(dc: DiscordServer, sender: Sender, kind: Kind) -> None:
    """From a proxy, and one that the library does not wait for: no preview until then, and the final text arrives."""
    live = sender.live(inbound(dc.say("hm?")))
    live.show("one")
    shown = await dc.reply()
    fault = dc.fault("PATCH /channels/*/messages/*", kind, retry_after=40)
    live.show("one two")
    await dc.wait_for(lambda _: fault.hits)
    live.show("one two three")
    await dc.wait_for_change(0.5)
    assert len(dc.calls("PATCH", PATCH)) == 1
    await sender.send(to(dc.dm(), "one two three", edits=await live.close()))
    assert shown.text == "one two three"


async def test_the_real_pacing_stays_below_the_real_limits() -> None:
    async with connected_client(pace={"preview_after": 0.1, "edit_gap": 1.2}, limits=True) as sender:
        dc = sender.dc
        live = sender.live(inbound(dc.say("hm?", channel="general", mention=True)))
        text = ""
        for _ in range(30):
            text += "more words "
            live.show(text)
            await dc.wait_for_change(0.1)
        placeholder = await live.close()
        await sender.send(to(dc.channel(), text + "the end", edits=placeholder))
        (shown,) = dc.channel().from_bot()
        assert shown.text.endswith("the end")
        assert dc.refusals == []
        assert len(shown.versions) >= 3
        gaps = [after.at - before.at for before, after in zip(shown.versions, shown.versions[1:], strict=False)]
        assert min(gaps) >= 1.19


async def test_a_message_from_an_earlier_process_is_found(dc: DiscordServer, sender: Sender) -> None:
    """The process died before it stored the id; the nonce identifies the message."""
    question = dc.say("hm?")
    begun = sender.live(inbound(question))
    begun.show("one")
    half = await dc.reply()
    there = Sender(dc, sender.client, sender.context.pace, sender.context.answer)  # as after a restart
    live = there.live(inbound(question))
    live.show("one two")
    placeholder = await live.close()
    await there.send(to(dc.dm(), "one two three", edits=placeholder))
    assert dc.dm().from_bot() == [half]
    assert half.text == "one two three"
    await begun.close()


async def test_a_first_message_with_a_lost_response_is_found_after_another_failure(
    dc: DiscordServer, sender: Sender
) -> None:
    """A possibly sent preview is searched for until found, and no second one remains beside the answer."""
    dc.fault(f"POST {POST}", "drop_after")
    refused = dc.fault(f"POST {POST}", "server_error", status=503)
    live = sender.live(inbound(dc.say("hm?")))
    live.show("half")
    await dc.wait_for(lambda _: dc.dm().from_bot())
    live.show("half an answer")
    await dc.wait_for(lambda _: refused.hits)
    placeholder = await live.close()
    await sender.send(to(dc.dm(), "half an answer", edits=placeholder))
    assert [message.text for message in dc.dm().from_bot()] == ["half an answer"]
