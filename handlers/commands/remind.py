"""/remind: a message at a later time."""

from __future__ import annotations

from datetime import datetime

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.schedules.schedules import Schedules
from handlers.schedules.views import described, short
from routing.errors import Refused
from routing.ports import Clock
from routing.types.messages import Button
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "remind",
    "Remind you of something at a time",
    ("/remind in 20 minutes tea", "/remind tomorrow 9:00 call Ana", '/remind "every Monday at 9" write the report'),
    free_text=True,
    role="user",
)
LATER = "in 10 minutes"
"""What the first button of a reminder types; English is always understood."""


def build(dependencies: CommandDependencies) -> Handler:
    return RemindCommand(dependencies.schedules, dependencies.clock)


def reminder_buttons(ask_text: str, labels: tuple[str, str, str], due: datetime) -> tuple[tuple[Button, ...], ...]:
    """The buttons below a reminder. `labels` are those of done, ten minutes and tomorrow."""
    commands = ("/remind done", f"/remind {LATER}", f"/remind tomorrow {due:%H:%M}")
    return (tuple(Button(label, command, ask_text) for label, command in zip(labels, commands, strict=True)),)


class RemindCommand:
    """The text of a pressed button is that of its reminder."""

    def __init__(self, schedules: Schedules, clock: Clock) -> None:
        self._schedules = schedules
        self._clock = clock

    async def __call__(self, ask: CommandContext) -> Reply:
        about = ask.button.about if ask.button is not None else ""
        if about and ask.rest == "done":
            return Reply(f"✅ {about}")
        when, text = (ask.rest, about) if about else await self._read(ask)
        message = ask.message
        planned = await self._schedules.plan(ask.person, message.chat, message.private, "reminder", text, when)
        added = await self._schedules.add(planned)
        at = described(ask.say, added, await time_zone(added.time_zone), self._clock())
        words = "⏰ Reminder #{number} for {when}: {text}"
        cancel = Button(ask.say("Cancel"), f"/schedule cancel {added.id}")
        reply = ask.say(words, number=str(added.id), when=at, text=short(added.text))
        return Reply(reply, () if about else ((cancel,),))

    async def _read(self, ask: CommandContext) -> tuple[str, str]:
        """The time, in quotation marks or found in the text, and the rest."""
        first = ask.arguments[0] if ask.arguments else ""
        if " " in first and len(ask.arguments) > 1:
            return first, ask.rest[ask.rest.index(first) + len(first) + 1 :].strip()
        found = await self._schedules.split(ask.person, ask.rest)
        if found is None:
            raise Refused(
                "Write when and what, such as: {first} or {second}. If I find no time in it, put the time in quotation "
                "marks: {third}.",
                first=SPEC.usage[0],
                second=SPEC.usage[1],
                third=SPEC.usage[2],
            )
        return found
