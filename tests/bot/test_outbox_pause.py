"""How long a reply waits after a restart."""

import pytest

from bot.outbox import MAX_LEFT_SECONDS, seconds_left
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
