"""Hooks that run after a turn: alarms for the owner, and the critic."""

from __future__ import annotations

from handlers.notices.alarms import Alarms
from handlers.notices.notices import Notices
from handlers.post_turn import PostTurnHooks
from handlers.replies.critic_notice import CriticNotices
from routing.critic.critic import Critic
from routing.policy.models import Models
from routing.types.history import TurnRecord
from routing.types.messages import InboundMessage
from storage.stores import Stores


def build_post_turn_hooks(kept: Stores, notices: Notices, models: Models, critic: Critic) -> PostTurnHooks:
    """Build the hooks. Close them before the database."""
    alarms = Alarms(kept.turns, kept.state, notices)
    doubts = CriticNotices(critic, kept.people, kept.ledger, notices.send, lambda: models.config.contracts)

    async def ring(message: InboundMessage, record: TurnRecord) -> None:
        if record.facts is not None:
            await alarms.look(record.facts)

    return PostTurnHooks(ring, doubts.look)
