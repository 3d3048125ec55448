"""Reloads files that the owner edits while the bot is running: SYSTEM.md, skills, configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.tooling import Tooling
from bot.workspace import Workspace
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError
from routing.policy.models import Models
from routing.types.skills import Skills
from routing.types.tiers import TIERS

RELOAD_SECONDS = 5.0

log = logging.getLogger("bot.live_config")


class WorkspaceFiles:
    """Implements `routing.ports.OwnerFiles` with the files as last read."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._instructions = workspace.instructions()
        self._skills = workspace.skills()

    def instructions(self) -> str:
        """Content of SYSTEM.md."""
        return self._instructions

    def skills(self) -> Skills:
        """The owner's skills."""
        return self._skills

    def reload(self) -> None:
        """Read the files again. A broken skill keeps its last valid version; on ConfigError nothing changes."""
        read = self._workspace.skills()
        kept = {name: skill for name, skill in self._skills.found.items() if name in read.broken}
        self._skills = Skills({**read.found, **kept}, read.broken)
        self._instructions = self._workspace.instructions()


async def keep_fresh(
    workspace: Workspace,
    models: Models,
    owner_files: WorkspaceFiles,
    tooling: Tooling,
    tell: Callable[[str], Awaitable[None]],
    seconds: float | None = None,
) -> None:
    """Apply the owner's edits as they are made. Errors are logged, and the last valid configuration stays in use.
    `tell` gets the names of changed variables that need a restart."""
    stamps = await asyncio.to_thread(workspace.stamps)
    boundary = ErrorBoundary(log, "The edit can't be applied. The last valid configuration stays in use.")
    await asyncio.sleep(RELOAD_SECONDS if seconds is None else seconds)  # the model library is loaded by then
    warn_of_levels(models)
    while True:
        await asyncio.sleep(RELOAD_SECONDS if seconds is None else seconds)
        with boundary:
            seen = await asyncio.to_thread(workspace.stamps)
            if seen != stamps:
                stamps = seen
                waiting = await _reload(workspace, models, owner_files)
                if waiting:
                    log.warning("[Config] %s changed: restart the bot to use the new value", waiting)
                    await tell(waiting)
            await tooling.refresh()


async def _reload(workspace: Workspace, models: Models, owner_files: WorkspaceFiles) -> str:
    """Reload everything; returns the names of changed variables that need a restart."""
    try:
        waiting = await asyncio.to_thread(workspace.reload_environment)
        config, catalog = await asyncio.to_thread(lambda: (workspace.config(), workspace.catalog()))
        await asyncio.to_thread(owner_files.reload)
    except ConfigError as error:
        log.error("%s The last valid configuration stays in use.", error)
        return ""
    models.config, models.catalog = config, catalog
    models.health.parallel.limit(config.parallel)
    log.info("[Config] Reloaded")
    warn_of_levels(models)
    return ", ".join(waiting)


def warn_of_levels(models: Models) -> None:
    """Log configured reasoning levels that have no effect."""
    for tier in TIERS:
        ignored = models.ignored_level(tier)
        if ignored is not None:
            takes = f"it takes {', '.join(ignored.levels)}" if ignored.levels else "it is not known to take a level"
            words = "[Config] %sModelReasoning: the level %s is not sent to %s; %s"
            log.warning(words, tier, ignored.level, ignored.model, takes)
