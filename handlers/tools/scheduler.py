"""The toolkit `scheduler`: reminders, and prompts that are answered later or again and again."""

from __future__ import annotations

from handlers.languages import Say
from handlers.schedules.schedules import Schedules
from handlers.schedules.views import described, short
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.authoring.tool import Preview
from handlers.tools.dependencies import ToolDependencies
from routing.errors import Refused, ToolFailed
from routing.ports import Clock
from routing.types.schedules import Schedule, ScheduleKind
from routing.types.time_zones import time_zone
from routing.types.tools import ToolScope, Traits

NAME = "scheduler"
CREATES = Traits(parallel=False, changes=True, outside=False)
READS = Traits(private=True)
DELETES = Traits(parallel=False, changes=True, private=True)
"""The result has the text, which a model may have written after text by others."""
ENGLISH = Say("en")


def build(dependencies: ToolDependencies) -> Tools:
    schedules = dependencies.schedules
    return tools_of(SchedulerTools(schedules, dependencies.clock)) if schedules is not None else ()


class SchedulerTools:
    """A reminder is for the person who asks, so it needs no confirmation. A task spends money later without a question,
    and cancelling deletes, so both are confirmed."""

    def __init__(self, schedules: Schedules, clock: Clock) -> None:
        self._schedules = schedules
        self._clock = clock

    @tool(traits=CREATES)
    async def create_reminder(self, scope: ToolScope, text: str, when: str) -> str:
        """Stores a reminder and returns when it is due."""
        added = await self._added(await self._plan(scope, "reminder", text, when))
        return f"Reminder #{added.id} is set for {await self._when(ENGLISH, added)}: {short(added.text)}"

    async def _about_task(self, scope: ToolScope, prompt: str, when: str) -> str:
        say = Say(scope.language)
        planned = await self._plan(scope, "prompt", prompt, when)
        words = "It will run at this time: {when}. Each time, a model answers here, which may cost money."
        fixed = await self._schedules.exactly(planned)
        return Preview(say(words, when=await self._when(say, planned)), ("when",), {"when": fixed})

    @tool(traits=CREATES, asks=_about_task)
    async def create_task(self, scope: ToolScope, prompt: str, when: str) -> str:
        """Stores a prompt to answer later, and returns when."""
        added = await self._added(await self._plan(scope, "prompt", prompt, when))
        return f"Task #{added.id} is set for {await self._when(ENGLISH, added)}: {short(added.text)}"

    @tool(traits=READS)
    async def list_tasks(self, scope: ToolScope) -> str:
        """The person's reminders and tasks, one per line."""
        found = await self._schedules.of(scope.person.id)
        if not found:
            return "There are no reminders and no tasks."
        return "\n".join([await self._line(each) for each in found])

    async def _about_cancelling(self, scope: ToolScope, id: int) -> str:
        say = Say(scope.language)
        found = await self._found(scope, id)
        words = "It will be deleted: {text} ({when})"
        return Preview(say(words, text=short(found.text), when=await self._when(say, found)), ("id",))

    @tool(traits=DELETES, asks=_about_cancelling)
    async def cancel_task(self, scope: ToolScope, id: int) -> str:
        """Deletes a reminder or a task."""
        found = await self._found(scope, id)
        await self._schedules.cancel(scope.person.id, str(id))
        return f"#{id} is cancelled: {short(found.text)}"

    async def _plan(self, scope: ToolScope, kind: ScheduleKind, text: str, when: str) -> Schedule:
        """Raises ToolFailed."""
        if scope.cost is None:
            raise ToolFailed("There is no chat here to send it to. The person can use /remind or /schedule in a chat.")
        if scope.scheduled and kind == "prompt":
            raise ToolFailed("This is a scheduled task itself. Do now what it says; do not schedule it again.")
        try:
            return await self._schedules.plan(scope.person, scope.cost.chat, scope.private, kind, text, when)
        except Refused as refused:
            raise ToolFailed(str(refused)) from None

    async def _added(self, planned: Schedule) -> Schedule:
        try:
            return await self._schedules.add(planned)
        except Refused as refused:
            raise ToolFailed(str(refused)) from None

    async def _found(self, scope: ToolScope, schedule_id: int) -> Schedule:
        try:
            return await self._schedules.get(scope.person.id, str(schedule_id))
        except Refused as refused:
            raise ToolFailed(f"{refused} list_tasks returns the numbers.") from None

    async def _line(self, each: Schedule) -> str:
        kind = "task" if each.kind == "prompt" else "reminder"
        paused = ", paused" if each.state == "paused" else ""
        return f"#{each.id} ({kind}{paused}) {await self._when(ENGLISH, each)}: {short(each.text)}"

    async def _when(self, say: Say, schedule: Schedule) -> str:
        return described(say, schedule, await time_zone(schedule.time_zone), self._clock())
