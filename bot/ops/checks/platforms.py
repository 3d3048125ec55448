"""One check per chat platform. A platform's check runs only if the platform is switched on."""

from __future__ import annotations

from bot.adapters.shared.descriptor import CheckContext, PlatformDescriptor
from bot.findings import Finding, ok, warn
from bot.ops.checks.inspection import Check, Inspection
from bot.platforms import PLATFORMS


def check_of(platform: PlatformDescriptor) -> Check:
    """The doctor's check for this platform."""

    async def check(inspection: Inspection) -> list[Finding]:
        settings = inspection.environment.settings
        if platform.configured(settings):
            running = inspection.workspace.in_use()
            return await platform.check(settings, CheckContext(inspection.clock, inspection.network_seconds, running))
        variable = platform.enabled_by.upper()
        if platform is PLATFORMS[0] and not any(each.configured(settings) for each in PLATFORMS):
            fix = "Run `tierbot setup`; `tierbot chat` works without it."
            return [warn(platform.name, f"{variable} is not set, so `make run` will not start", fix)]
        return [ok(platform.name, f"{variable} is not set, so the bot is not on {platform.title}")]

    check.__name__ = platform.name
    return check
