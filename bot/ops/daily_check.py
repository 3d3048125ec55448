"""Tells the owners once a day what is wrong with the machine, the database or their files."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import reduce

from bot.adapters.shared.descriptor import Tell
from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.findings import Finding
from bot.platform import Platform
from routing.error_boundary import ErrorBoundary
from routing.errors import Reason
from routing.ports import Clock, StateStore

FIRST_SECONDS = 1800.0
"""A start is busy enough."""
DAY_SECONDS = 86_400.0
CONFIRM_SECONDS = 600.0
"""Only what is still wrong after this time is told."""
REPEAT_SECONDS = 7 * DAY_SECONDS
"""What stays wrong is told again after this time."""
MAX_PROBLEMS = 5
STATE_KEY = "daily check"
FOUND = (
    "🩺 My daily check found something that needs you:\n{problems}\n\n`tierbot doctor` shows everything, and "
    "`tierbot doctor --fix` repairs what is safe to repair."
)

Examine = Callable[[], Awaitable[Sequence[Finding]]]

log = logging.getLogger("bot.daily_check")


class DailyCheck:
    """Checks every day, also across restarts. `examine` returns the findings."""

    def __init__(
        self, examine: Examine, state: StateStore, tell: Tell, clock: Clock, confirm_seconds: float = CONFIRM_SECONDS
    ) -> None:
        self._examine = examine
        self._state = state
        self._tell_owners = tell
        self._clock = clock
        self._confirm_seconds = confirm_seconds

    async def run(self) -> None:
        """Check for ever. A check that fails is logged and made again the next day."""
        boundary = ErrorBoundary(log, "The daily check failed")
        wait = FIRST_SECONDS
        with boundary:
            at, _ = await self._last()
            wait = max(FIRST_SECONDS, min(at + DAY_SECONDS - self._clock(), DAY_SECONDS))
        while True:
            await asyncio.sleep(wait)
            with boundary:
                await self.check()
            wait = DAY_SECONDS

    async def check(self) -> None:
        """Check now. Owners are told if there is a new problem, or one that they were told of a week ago."""
        problems = await self._confirmed()
        now = self._clock()
        _, told = await self._last()
        if any(now - told.get(key, 0.0) >= REPEAT_SECONDS for key in problems):
            await self._tell_owners(FOUND, problems=_list(list(problems.values())))
            told = dict.fromkeys(problems, now)
        kept = {key: at for key, at in told.items() if key in problems}
        await self._state.put(STATE_KEY, json.dumps({"at": now, "told": kept}))

    async def _confirmed(self) -> Mapping[str, Finding]:
        """The problems that two checks found, by name and kind."""
        first = await self._problems()
        if not first:
            return {}
        await asyncio.sleep(self._confirm_seconds)
        return {key: problem for key, problem in (await self._problems()).items() if key in first}

    async def _problems(self) -> Mapping[str, Finding]:
        found = [each for each in await self._examine() if each.status != "ok"]
        return {f"{each.name}: {getattr(each.detail, 'template', each.detail)}": each for each in found}

    async def _last(self) -> tuple[float, Mapping[str, float]]:
        """When the last check was, in Unix seconds, and when owners were told of each problem."""
        last = json.loads(await self._state.get(STATE_KEY) or "{}")
        return last.get("at", 0.0), last.get("told", {})


def _list(problems: Sequence[Finding]) -> Reason:
    lines = [
        Reason("• {name}: {detail} → {fix}", name=each.name, detail=each.detail, fix=each.fix)
        for each in problems[:MAX_PROBLEMS]
    ]
    if more := len(problems) - MAX_PROBLEMS:
        lines += [Reason("• and {count} more", count=more)] if more > 0 else []
    return reduce(lambda above, line: Reason("{above}\n{line}", above=above, line=line), lines)


async def examine_locally(
    environment: Environment, workspace: Workspace, platforms: Mapping[str, Platform], clock: Clock
) -> Sequence[Finding]:
    """The doctor's checks of what the owner has to look after. They cost no money and change nothing."""
    from bot.ops.checks import configuration, database, machine
    from bot.ops.checks.inspection import Inspection
    from bot.ops.doctor import examine

    checks = (machine.disk, machine.year, machine.workspace, configuration.files, configuration.skills)
    found = await examine(Inspection(environment, workspace, clock), (*checks, database.database))
    lost = ((name, each.progress.problem) for name, each in platforms.items() if each.progress.problem)
    fix = Reason("See /status full and the log.")
    return [
        *(each for each in found if each.name not in ("access", "replies", "entries", "retention")),
        *(Finding(name, "fail", problem, fix) for name, problem in lost),
    ]
