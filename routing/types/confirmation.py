"""Tool calls that wait for a confirmation, and tools that need none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.errors import ToolFailed
from routing.types.tiers import Tier

ActionState = Literal["waiting", "running", "done", "cancelled", "unknown"]
"""`unknown`: the process ended while the action ran, so it may or may not have happened."""

WAITS = (
    "{tool} has NOT run. It needs the user's confirmation: below this turn they are shown a button with exactly these "
    "arguments, and only they can press it. Do not claim that it was done. It has run only if its result stands later "
    "in this conversation."
)


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A tool call that runs once its person presses the button. `arguments` are canonical JSON; `digest` covers the
    tool's description and the arguments. `note` is shown to the person, such as a price. `tier` is the tier that was
    requested for this message only. `press` identifies the button press that started it; `result` is the tool's output.
    `expires_at` is in Unix seconds. `id` is 0 until the action is stored."""

    person_id: int
    conversation_id: int
    tool: str
    toolkit: str
    arguments: str
    digest: str
    expires_at: float
    note: str = ""
    tier: Tier | None = None
    state: ActionState = "waiting"
    press: str = ""
    result: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """A tool that runs without confirmation: for this person in one conversation (None: in all), or for everyone.
    `version` is a hash of the tool's description; after a change the tool asks again."""

    tool: str
    version: str
    conversation_id: int | None = None
    everybody: bool = False


class NeedsConfirmation(ToolFailed):
    """The call was stored instead of run; the message tells the model so."""

    def __init__(self, action: PendingAction) -> None:
        super().__init__(WAITS.format(tool=action.tool))
        self.action = action
