"""/schedule: reminders and tasks, and prompts that are answered again and again."""

from __future__ import annotations

from handlers.context import CommandContext, CommandSpec, Handler, Reply, check_private, unknown_subcommand
from handlers.dependencies import CommandDependencies
from handlers.schedules.schedules import Schedules
from handlers.schedules.views import described, short
from routing.errors import Refused
from routing.ports import Clock
from routing.types.messages import Button
from routing.types.schedules import Schedule
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "schedule",
    "Your reminders and tasks; prompts that I answer at a time",
    (
        "/schedule",
        '/schedule add "every weekday at 8" What is new?',
        "/schedule cancel 3",
        "/schedule pause 3",
        "/schedule resume 3",
    ),
    choices=(("add", "cancel", "pause", "resume"),),
    free_text=True,
    role="user",
    personal=True,
    shared=("add",),
)
SHOWN = 20
"""Maximum number of entries in the list; each of the first MAX_BUTTONS has a button."""
MAX_BUTTONS = 10


def build(dependencies: CommandDependencies) -> Handler:
    return ScheduleCommand(dependencies.schedules, dependencies.clock)


class ScheduleCommand:
    """Everybody sees and changes only their own. The list is shown only in private; in a group others read it."""

    def __init__(self, schedules: Schedules, clock: Clock) -> None:
        self._schedules = schedules
        self._clock = clock

    async def __call__(self, ask: CommandContext) -> Reply:
        action, number = (*(word.lower() for word in ask.arguments[:2]), "", "")[:2]
        match action:
            case "":
                return await self._list(ask)
            case "add":
                return await self._add(ask)
            case "cancel":
                found = await self._schedules.cancel(ask.person.id, number)
                return await self._changed(ask, ask.say("❌ #{number} is cancelled.", number=str(found.id)))
            case "pause":
                found = await self._schedules.pause(ask.person.id, number)
                return await self._changed(ask, ask.say("⏸ #{number} is paused.", number=str(found.id)))
            case "resume":
                found = await self._schedules.resume(ask.person.id, number)
                return await self._changed(ask, ask.say("▶️ #{number} continues.", number=str(found.id)))
        raise unknown_subcommand(SPEC, action)

    async def _add(self, ask: CommandContext) -> Reply:
        written = ask.rest[len("add") :].strip()
        when = ask.arguments[1] if len(ask.arguments) > 2 else ""
        if " " in when:
            prompt = written[written.index(when) + len(when) + 1 :]
        else:
            found = await self._schedules.split(ask.person, written)
            if found is None:
                raise Refused("Write {usage}. Nothing was changed.", usage=SPEC.usage[1])
            when, prompt = found
        message = ask.message
        planned = await self._schedules.plan(ask.person, message.chat, message.private, "prompt", prompt, when)
        added = await self._schedules.add(planned)
        words = "🗓 Task #{number}, {when}: {text}\n\nI'll answer it here, with your tier and within your budget."
        reply = ask.say(words, number=str(added.id), when=await self._when(ask, added), text=short(added.text))
        return Reply(reply, ((Button(ask.say("Cancel"), f"/schedule cancel {added.id}"),),))

    async def _changed(self, ask: CommandContext, words: str) -> Reply:
        """The change and, if it was made in the list, the list."""
        if ask.button is None or not ask.message.private:
            return Reply(words)
        shown = await self._list(ask)
        return Reply(f"{words}\n\n{shown.text}", shown.buttons)

    async def _list(self, ask: CommandContext) -> Reply:
        check_private(ask)
        found = await self._schedules.of(ask.person.id)
        if not found:
            words = "You have no reminders and no tasks. /remind in 20 minutes tea makes one; {example} makes a task."
            return Reply(ask.say(words, example=SPEC.usage[1]))
        lines = [await self._line(ask, each) for each in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(ask.say("… and {n} more", n=len(found) - SHOWN))
        buttons = [Button(f"❌ #{each.id}", f"/schedule cancel {each.id}") for each in found[:MAX_BUTTONS]]
        rows = tuple(tuple(buttons[at : at + 5]) for at in range(0, len(buttons), 5))
        return Reply("  \n".join(lines), rows)

    async def _line(self, ask: CommandContext, each: Schedule) -> str:
        sign = "⏸" if each.state == "paused" else "🗓" if each.kind == "prompt" else "⏰"
        words = "{sign} #{number} {when}: {text}"
        when = ask.say("paused") if each.state == "paused" else await self._when(ask, each)
        return words.format(sign=sign, number=each.id, when=when, text=short(each.text))

    async def _when(self, ask: CommandContext, each: Schedule) -> str:
        return described(ask.say, each, await time_zone(each.time_zone), self._clock())
