"""Damaged rows of the database do not block others."""

from __future__ import annotations

from tests.postgres import ON_POSTGRES
from tests.stories.harness import OWNER, BotHarness, ask, running, settled

DAMAGED = "⚠️ Some entries of my database are damaged"
NO_TEXT = "'{'" if ON_POSTGRES else "CAST(x'ff00fe' AS TEXT)"
"""PostgreSQL stores no text that is not UTF-8."""


async def test_unreadable_rows_are_skipped_and_reported_once(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hm")
        await settled(on)
    on.change(
        "INSERT INTO inbox (platform, bot_id, update_id, payload, state, attempts, placeholder, received_at)"
        " VALUES ('telegram', '1', 'x1', '{', 'waiting', 0, '', 0), ('telegram', '1', 'x2', '', 'waiting', 0, '', 0)"
    )
    on.change(
        "INSERT INTO outbox (platform, chat_id, thread_id, payload, state, created_at, attempts, pieces_sent,"
        " not_before, message_id, error)"
        f" VALUES ('telegram', '1', '', {NO_TEXT}, 'pending', 0, 0, 0, 0, '', '')"
    )
    async with running(on):
        notice = await on.tg.reply(OWNER, matching=DAMAGED)
        assert "(unanswered messages: 2, unsent replies: 1)" in notice.text
        assert (await ask(on, "and now?")).text == "You said: and now?"
    async with running(on):
        assert (await ask(on, "and then?")).text == "You said: and then?"
    assert sum(message.text.startswith(DAMAGED) for message in on.tg.private().from_bot()) == 1
    assert on.rows("SELECT count(*) FROM inbox WHERE state = 'unreadable'") == [(2,)]
