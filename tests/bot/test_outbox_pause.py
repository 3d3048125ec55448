"""How long a reply waits after a failed attempt or a restart."""

import pytest

from bot.outbox import MAX_LEFT_SECONDS, pause_after, seconds_left
from bot.platform import SendLater
from routing.types.messages import ChatKey, OutboundMessage
from routing.types.queues import OutboxEntry


@pytest.mark.parametrize(
    ("not_before", "seconds"),
    [
        (0.0, 0.0),
        (1_000_000.0, 0.0),
        (1_000_030.0, 30.0),
        (1_000_000.0 + 2 * MAX_LEFT_SECONDS, MAX_LEFT_SECONDS),
    ],
)
def test_a_stored_pause_is_capped(not_before: float, seconds: float) -> None:
    entry = OutboxEntry(1, OutboundMessage(ChatKey("telegram", "1"), "hi"), "pending", 1, 0, 0, not_before, "", 0.0)
    assert seconds_left(entry, 1_000_000.0) == seconds


def test_a_pause_ends_if_the_clock_was_set_back() -> None:
    entry = OutboxEntry(1, OutboundMessage(ChatKey("telegram", "1"), "hi"), "pending", 1, 0, 0, 8_230.0, "", 8_200.0)
    assert seconds_left(entry, 1_000.0) == 0.0


@pytest.mark.parametrize(
    ("later", "failures", "ambiguous", "seconds"),
    [
        (SendLater("no connection"), 1, 0, 0.5),
        (SendLater("no connection"), 3, 0, 2.0),
        (SendLater("no connection"), 1_000, 0, 30.0),
        (SendLater("flood control", 90.0), 3, 2, 90.0),
        (SendLater("no answer", 30.0, maybe_sent=True), 1, 1, 30.0),
        (SendLater("no answer", 30.0, maybe_sent=True), 5, 2, 60.0),
        (SendLater("no answer", 3_000.0, maybe_sent=True), 2, 2, MAX_LEFT_SECONDS),
        (SendLater("no answer", maybe_sent=True), 1_000, 2, 30.0),
        (SendLater("no answer", maybe_sent=True, protected=True), 2, 1, 1.0),
    ],
)
def test_a_pause_is_what_the_platform_asks_for_or_backs_off(
    later: SendLater, failures: int, ambiguous: int, seconds: float
) -> None:
    assert pause_after(later, failures, ambiguous) == seconds
