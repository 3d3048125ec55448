"""What looks back at turns: alarms for the owner, and the critic."""

from __future__ import annotations

from handlers.aftermath import Aftermath
from handlers.alarms import Alarms
from handlers.doubts import Doubts
from handlers.notices import Notices
from routing.caller import Caller
from routing.critic.critic import Critic
from routing.models.choice import Models
from routing.ports import Clock
from routing.records import TurnRecord
from routing.types import InboundMessage
from storage.stores import Stores


def build_aftermath(kept: Stores, notices: Notices, models: Models, caller: Caller, clock: Clock) -> Aftermath:
    """To be closed before the database."""
    alarms = Alarms(kept.turns, kept.state, notices)
    critic = Critic(models, caller, lambda: models.config.critic, clock)
    doubts = Doubts(critic, kept.people, kept.ledger, notices.send, lambda: models.config.contracts)

    async def ring(message: InboundMessage, record: TurnRecord) -> None:
        if record.facts is not None:
            await alarms.look(record.facts)

    return Aftermath(ring, doubts.look)
