"""Reloads files that the owner edits while the bot is running: SYSTEM.md, skills, configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from bot.adapters.shared.descriptor import Tell
from bot.config.workspace import Workspace
from bot.observability.health import ProcessHealth
from bot.tooling import Tooling
from routing.config.runtime import RouterConfig
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError, StorageFault
from routing.policy.models import Models
from routing.redaction import masked
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


class LiveConfig:
    """Applies the owner's edits as they are made. After an error, the last valid configuration stays in use; the owners
    are told once about each error, and when the configuration is valid again."""

    def __init__(
        self,
        workspace: Workspace,
        models: Models,
        owner_files: WorkspaceFiles,
        tooling: Tooling,
        health: ProcessHealth,
        tell: Tell,
    ) -> None:
        self._workspace = workspace
        self._models = models
        self._owner_files = owner_files
        self._tooling = tooling
        self._health = health
        self._tell_owners = tell
        self._reported: set[str] = set()
        """Errors reported to the owners since the last valid configuration."""
        self._need_restart: tuple[str, ...] = ()
        """Changed variables that need a restart."""
        self._reported_restart: tuple[str, ...] = ()
        """Those reported to the owners."""
        self._stamps: Mapping[Path, float] = {}
        self._applying = asyncio.Lock()

    async def keep_fresh(self) -> None:
        """Look for edits every RELOAD_SECONDS, until cancelled."""
        self._stamps = await asyncio.to_thread(self._workspace.stamps)
        boundary = ErrorBoundary(log, "The edit can't be applied. The last valid configuration stays in use.")
        warn_of_unknown_keys(self._models.config)
        await asyncio.sleep(RELOAD_SECONDS)  # the model library is loaded by then
        warn_of_levels(self._models)
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            with boundary:
                await self.apply()

    async def apply(self, unchanged: bool = False) -> None:
        """Apply the owner's edits now; `unchanged`: also if no file has a new time."""
        async with self._applying:
            current = await asyncio.to_thread(self._workspace.stamps)
            if unchanged or current != self._stamps:
                self._stamps = current
                await self._reload()
            await self._report_changes()
            await self._tooling.refresh()

    async def _reload(self) -> None:
        """Reload everything."""
        workspace, models = self._workspace, self._models
        try:
            need_restart = await asyncio.to_thread(workspace.reload_environment)
            config, catalog = await asyncio.to_thread(lambda: (workspace.config(), workspace.catalog()))
            await asyncio.to_thread(self._owner_files.reload)
        except ConfigError as error:
            log.error("%s The last valid configuration stays in use.", error)
            self._health.config_fault = error.reason.changed(masked)  # a key may be in the wrong place
            return
        self._health.config_fault, self._need_restart = None, need_restart
        models.config, models.catalog = config, catalog
        models.health.parallel.limit(config.parallel)
        log.info("[Config] Reloaded")
        warn_of_unknown_keys(config)
        warn_of_levels(models)

    async def _report_changes(self) -> None:
        """Tell the owners about new variables that need a restart, and a new error or the end of all errors. Retried at
        the next call if storage fails."""
        fault = self._health.config_fault
        try:
            if names := ", ".join(name for name in self._need_restart if name not in self._reported_restart):
                log.warning("[Config] %s changed: restart the bot to use the new value", names)
                await self._tell_owners("🔁 {names} changed in .env. Restart me to use the new value.", names=names)
            self._reported_restart = self._need_restart
            if fault is not None and fault not in self._reported:
                await self._tell_owners("⚠️ {reason} The last valid configuration stays in use.", reason=fault)
                self._reported.add(fault)
            elif fault is None and self._reported:
                await self._tell_owners("✅ The configuration is valid again and in use.")
                self._reported.clear()
        except StorageFault as error:
            log.warning("[Config] Can't notify the owners yet; trying again: %s", error)


def warn_of_unknown_keys(config: RouterConfig) -> None:
    """Log keys of runtime-config.json that have no effect."""
    if config.unknown_keys:
        log.warning("[Config] Ignored unknown keys in runtime-config.json: %s", ", ".join(config.unknown_keys))


def warn_of_levels(models: Models) -> None:
    """Log configured reasoning levels that have no effect."""
    for tier in TIERS:
        ignored = models.ignored_level(tier)
        if ignored is not None:
            takes = f"it takes {', '.join(ignored.levels)}" if ignored.levels else "it is not known to take a level"
            words = "[Config] %sModelReasoning: the level %s is not sent to %s; %s"
            log.warning(words, tier, ignored.level, ignored.model, takes)
