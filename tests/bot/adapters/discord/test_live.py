"""Previews before the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.adapters.discord.context import InteractionRef
from routing.errors import StorageFault
from routing.types.messages import Button, ChatKey
from tests.bot.adapters.discord.client import Scene, asked, said, scene, to
from tests.servers.discord.faults import Kind

FAILURES: tuple[Kind, ...] = ("drop", "drop_after", "refuse", "cloudflare")
POST, PATCH = "/channels/{channel_id}/messages", "/channels/{channel_id}/messages/{message_id}"


async def test_a_quick_answer_costs_one_request() -> None:
    async with scene(pace={"typing_after": 5, "preview_after": 5}) as here:
        dc = here.dc
        before = len(dc.requests)
        live = here.live(said(dc.say("6 * 7?")))
        await live.working()
        live.show("4")
        assert await live.close() == ""
        await here.send(to(dc.dm(), "42"))
        assert len(dc.requests) == before + 1


async def test_typing_continues_until_the_end_in_the_thread() -> None:
    async with scene() as here:
        dc = here.dc
        thread = dc.thread("Soup", dc.channel())
        live = here.live(said(dc.say("hm?", channel=thread, mention=True)))
        await live.working()
        await live.working()
        await dc.wait_for(lambda _: len(dc.typing) >= 3)
        assert {typing.channel for typing in dc.typing} == {thread}
        await live.close()
        await asyncio.sleep(0)
        count = len(dc.typing)
        await dc.wait_for_change(0.3)
        assert len(dc.typing) == count


async def test_the_answer_is_streamed_into_one_stored_message() -> None:
    async with scene() as here:
        dc = here.dc
        question = dc.say("hm?", channel="general", mention=True)
        live = here.live(said(question))
        live.show("The **ans")
        shown = await dc.reply(question)
        assert shown.reply_to is question
        await dc.wait_for(lambda _: here.kept == [str(shown.id)])
        live.show("The **answer** i")
        live.show("The **answer** is")
        await dc.wait_for(lambda _: len(shown.versions) == 2)
        live.show("The **answer** is")
        assert await live.close() == str(shown.id)
        await here.send(to(question.channel, "The **answer** is", edits=str(shown.id)))
        assert [version.text for version in shown.versions] == ["The **ans** …", "The **answer** is"]
        assert shown.versions[1].at - shown.versions[0].at >= 0.045
        assert question.channel.from_bot() == [shown]


async def test_an_unchanged_preview_is_not_sent() -> None:
    async with scene() as here:
        live = here.live(said(here.dc.say("hm?")))
        live.show("one")
        await here.dc.wait_for(lambda _: here.kept)
        live.show("one")
        await here.dc.wait_for_change(0.3)
        assert here.dc.calls("PATCH", PATCH) == []
        await live.close()


async def test_the_edit_interval_does_not_depend_on_response_time() -> None:
    async with scene(pace={"edit_gap": 0.2}) as here:
        dc = here.dc
        live = here.live(said(dc.say("hm?")))
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
    async with scene(pace={"typing_after": 5}) as here:
        dc = here.dc
        dc.forbid(dc.channel(), "send_messages")
        live = here.live(said(dc.say("hm?", channel="general", mention=True)))
        live.show("one")
        await dc.wait_for(lambda _: dc.calls("POST", POST))
        live.show("one two")
        await dc.wait_for_change(0.3)
        assert len(dc.calls("POST", POST)) == 1
        assert await live.close() == ""


async def test_replies_in_direct_messages_quote_nothing() -> None:
    async with scene() as here:
        live = here.live(said(here.dc.say("hm?")))
        live.show("one")
        assert (await here.dc.reply()).reply_to is None
        await live.close()


async def test_a_thread_started_by_the_question_quotes_nothing() -> None:
    async with scene() as here:
        dc = here.dc
        question = dc.say("hm?", channel="general", mention=True)
        thread = dc.thread("hm?", question)
        live = here.live(replace(said(question), chat=ChatKey("discord", str(question.channel.id), str(thread.id))))
        live.show("one")
        await dc.reply(thread)
        await live.close()
        await here.send(to(thread, "two", reply_to=str(question.id)))
        bodies = [call.body for call in dc.calls("POST", POST)]
        assert len(bodies) == 2
        assert not any("message_reference" in body for body in bodies)


async def test_a_given_placeholder_is_continued() -> None:
    async with scene() as here:
        dc = here.dc
        await here.send(to(dc.dm(), "half an"), outbox_id=6)
        shown = await dc.reply()
        live = here.live(said(dc.say("hm?")), str(shown.id))
        live.show("half an answer")
        await dc.wait_for(lambda _: shown.text == "half an answer")
        assert await live.close() == str(shown.id)
        assert here.kept == []


async def test_a_preview_on_its_way_arrives_before_the_final_text() -> None:
    async with scene() as here:
        live = here.live(said(here.dc.say("hm?")))
        here.dc.fault("POST /channels/*/messages", "slow", seconds=0.2)
        live.show("half")
        shown = await here.dc.reply()
        assert await live.close() == str(shown.id) == here.kept[0]


async def test_a_preview_with_a_lost_response_is_found_again() -> None:
    async with scene() as here:
        fault = here.dc.fault("POST /channels/*/messages", "drop_after")
        live = here.live(said(here.dc.say("hm?")))
        live.show("half")
        await here.dc.wait_for(lambda _: fault.hits)
        placeholder = await live.close()
        (shown,) = here.dc.dm().from_bot()
        assert placeholder == str(shown.id)
        assert here.kept == [placeholder]


async def test_without_streaming_there_is_only_typing() -> None:
    async with scene() as here:
        live = here.live(said(here.dc.say("hm?")), streaming=False)
        await live.working()
        live.show("one")
        await here.dc.wait_for(lambda dc: len(dc.typing) >= 2)
        assert await live.close() == ""
        assert here.dc.dm().from_bot() == []


async def test_a_command_streams_into_its_deferred_answer_without_typing() -> None:
    async with scene() as here:
        dc = here.dc
        interaction = dc.slash("ask", where="general")
        origin = await here.defer(interaction)
        live = here.live(asked(interaction, origin))
        await live.working()
        await dc.wait_for_change(0.1)
        live.show("one")
        await dc.wait_for(lambda _: interaction.answers and interaction.answers[0].text == "one")
        live.show("one two")
        await dc.wait_for(lambda _: interaction.answers[0].text == "one two")
        assert interaction.message is not None
        assert dc.typing == []
        assert [await live.close()] == here.kept == [str(interaction.message.id)], "after the token's end it is edited"
        before = len(dc.requests)
        (sent,) = await here.send(to(dc.channel(), "one two", reply_to=origin.pack()))
        assert interaction.message is not None
        assert sent.message_id == str(interaction.message.id)
        assert len(dc.requests) == before


async def test_a_turn_from_a_button_streams_into_a_new_message() -> None:
    async with scene() as here:
        dc = here.dc
        await here.send(to(dc.dm(), "failed", buttons=((Button("Retry", "/retry"),),)), outbox_id=6)
        message = await dc.reply()
        pressed = dc.press(message, "Retry")
        live = here.live(asked(pressed, await here.defer(pressed)))
        await live.acknowledge()
        await live.working()
        live.show("one")
        shown = await dc.reply(matching="one")
        assert await live.close() == str(shown.id)
        assert message.text == "failed"
        assert pressed.followups == []


async def test_a_press_on_an_ephemeral_message_stays_ephemeral() -> None:
    async with scene() as here:
        dc = here.dc
        interaction = dc.slash("ask", where="general")
        first = await here.defer(interaction, ephemeral=True)
        menu = to(dc.channel(), "mine", reply_to=first.pack(), buttons=((Button("Go", "/retry"),),))
        await here.send(menu, outbox_id=6)
        assert interaction.message is not None
        pressed = dc.press(interaction.message, "Go")
        origin = await here.defer(pressed, ephemeral=True)
        live = here.live(asked(pressed, origin))
        await live.working()
        live.show("one")
        await dc.wait_for(lambda _: dc.typing)
        placeholder = await live.close()
        assert placeholder == origin.beside().pack()
        assert dc.calls("POST", POST) == []
        await here.send(to(dc.channel(), "one two", edits=placeholder))
        assert [message.ephemeral for message in pressed.followups] == [True]


async def test_a_press_notice_is_private_and_shown_once() -> None:
    async with scene() as here:
        dc = here.dc
        await here.send(to(dc.channel(), "Choose", buttons=((Button("Smart", "/tier smart"),),)), outbox_id=6)
        menu = await dc.reply("general")
        pressed = dc.press(menu, "Smart", user="bob")
        live = here.live(asked(pressed, await here.defer(pressed)))
        await live.acknowledge("This button is for @everyone else." * 100)
        await live.acknowledge("again")
        await live.close()
        await dc.wait_for(lambda _: pressed.followups)
        (notice,) = pressed.followups
        assert notice.ephemeral
        assert notice.text.startswith("This button")
        assert len(notice.text) == 2000
        silent = dc.press(menu, "Smart")
        live = here.live(asked(silent, await here.defer(silent)))
        await live.acknowledge()
        await live.close()
        assert silent.followups == []


async def test_an_expired_interaction_streams_into_its_channel() -> None:
    async with scene() as here:
        dc = here.dc
        interaction = dc.slash("ask", where="general")
        origin = await here.defer(interaction)
        dc.advance(901)
        live = here.live(asked(interaction, origin))
        live.show("one")
        shown = await dc.reply("general")
        assert await live.close() == str(shown.id)
        await here.send(to(dc.channel(), "one two", reply_to=origin.pack(), edits=str(shown.id)))
        assert shown.text == "one two"
        assert shown.reply_to is None


async def test_a_failing_preview_does_not_affect_the_final_text() -> None:
    async with scene() as here:
        dc = here.dc
        for number, kind in enumerate(FAILURES):
            question = dc.say("hm?", channel=f"room-{kind.replace('_', '-')}", mention=True)
            dc.fault("POST /channels/*/typing", kind)
            fault = dc.fault("POST /channels/*/messages", kind)
            live = here.live(said(question))
            await live.working()
            live.show("half")
            await dc.wait_for(lambda _, fault=fault: fault.hits == 1)  # type: ignore[misc]
            dc.clear_faults()
            placeholder = await live.close()
            await here.send(to(question.channel, "whole", edits=placeholder), outbox_id=10 + number)
            assert [message.text for message in question.channel.from_bot()] == ["whole"]


async def test_a_preview_deleted_by_someone_is_replaced_by_a_new_message() -> None:
    async with scene() as here:
        dc = here.dc
        live = here.live(said(dc.say("hm?")))
        live.show("one")
        shown = await dc.reply()
        dc.delete(shown)
        live.show("one two")
        await dc.wait_for(lambda _: [call.status for call in dc.calls("PATCH", PATCH)] == [404])
        assert await live.close() == ""


async def test_a_failure_to_store_the_placeholder_does_not_reach_the_turn() -> None:
    async def keep(message_id: str) -> None:
        raise StorageFault("disk full")

    async with scene() as here:
        live = here.live(said(here.dc.say("hm?")), keep=keep)
        live.show("one")
        shown = await here.dc.reply()
        live.show("one two")
        assert await live.close() == str(shown.id)


async def test_a_429_is_waited_for_by_the_library() -> None:
    async with scene() as here:
        dc = here.dc
        live = here.live(said(dc.say("hm?")))
        live.show("one")
        shown = await dc.reply()
        dc.fault("PATCH /channels/*/messages/*", "rate_limit", retry_after=0.3)
        live.show("one two")
        await dc.wait_for(lambda _: shown.text == "one two")
        assert shown.versions[1].at - shown.versions[0].at >= 0.3
        await live.close()


@pytest.mark.parametrize("kind", ["cloudflare", "rate_limit"])
async def test_a_long_rate_limit_stops_previews(kind: Kind) -> None:
    """From a proxy, and one that the library does not wait for: no preview until then, and the final text arrives."""
    async with scene() as here:
        dc = here.dc
        live = here.live(said(dc.say("hm?")))
        live.show("one")
        shown = await dc.reply()
        fault = dc.fault("PATCH /channels/*/messages/*", kind, retry_after=40)
        live.show("one two")
        await dc.wait_for(lambda _: fault.hits)
        live.show("one two three")
        await dc.wait_for_change(0.5)
        assert len(dc.calls("PATCH", PATCH)) == 1
        await here.send(to(dc.dm(), "one two three", edits=await live.close()))
        assert shown.text == "one two three"


async def test_the_real_pacing_stays_below_the_real_limits() -> None:
    async with scene(pace={"preview_after": 0.1, "edit_gap": 1.2}, limits=True) as here:
        dc = here.dc
        live = here.live(said(dc.say("hm?", channel="general", mention=True)))
        text = ""
        for _ in range(30):
            text += "more words "
            live.show(text)
            await dc.wait_for_change(0.1)
        placeholder = await live.close()
        await here.send(to(dc.channel(), text + "the end", edits=placeholder))
        (shown,) = dc.channel().from_bot()
        assert shown.text.endswith("the end")
        assert dc.refusals == []
        assert len(shown.versions) >= 3
        gaps = [after.at - before.at for before, after in zip(shown.versions, shown.versions[1:], strict=False)]
        assert min(gaps) >= 1.19


@pytest.mark.parametrize("pressed", [False, True])
async def test_a_late_ephemeral_answer_has_no_public_preview(pressed: bool) -> None:
    async with scene() as here:
        dc = here.dc
        interaction = dc.slash("ask", where="general")
        origin = replace(await here.defer(interaction, ephemeral=True), component=pressed)
        live = here.live(asked(interaction, origin))
        live.show("one")
        dc.advance(901)
        live.show("one two")
        await live.working()
        await dc.wait_for(lambda _: dc.typing)
        assert await live.close() == (origin.beside().pack() if pressed else "")
        assert dc.calls("POST", "/channels/{channel_id}/messages") == []
        assert here.kept == []


async def test_a_message_from_an_earlier_process_is_found() -> None:
    """The process died before it stored the id; the nonce identifies the message."""
    async with scene() as here:
        dc = here.dc
        question = dc.say("hm?")
        begun = here.live(said(question))
        begun.show("one")
        half = await dc.reply()
        there = Scene(dc, here.client, here.context.pace, here.context.answer)  # as after a restart
        live = there.live(said(question))
        live.show("one two")
        placeholder = await live.close()
        await there.send(to(dc.dm(), "one two three", edits=placeholder))
        assert dc.dm().from_bot() == [half]
        assert half.text == "one two three"
        await begun.close()


def test_an_origin_round_trips_as_text() -> None:
    for origin in (
        InteractionRef(5, "a:b/c", 1, ephemeral=True),
        InteractionRef(1 << 63, "x", 7, "de", True, False, True),
    ):
        assert InteractionRef.unpack(origin.pack()) == origin
    for text in ("", "1234567890", "i:5:", "i:5::", "i:5:::en:x", "i:5::7:en:", "t:7:0.0"):
        assert InteractionRef.unpack(text) is None
    at = 1420070400.0 + 1000
    origin = InteractionRef(1000_000 << 22, "x", 7)
    assert origin.alive(at + 869)
    assert not origin.alive(at + 871)


async def test_a_first_message_with_a_lost_response_is_found_after_another_failure() -> None:
    """A possibly sent preview is searched for until found, and no second one remains beside the answer."""
    async with scene() as here:
        dc = here.dc
        dc.fault(f"POST {POST}", "drop_after")
        refused = dc.fault(f"POST {POST}", "server_error", status=503)
        live = here.live(said(dc.say("hm?")))
        live.show("half")
        await dc.wait_for(lambda _: dc.dm().from_bot())
        live.show("half an answer")
        await dc.wait_for(lambda _: refused.hits)
        placeholder = await live.close()
        await here.send(to(dc.dm(), "half an answer", edits=placeholder))
        assert [message.text for message in dc.dm().from_bot()] == ["half an answer"]
