"""One check per chat platform. A platform's check runs only if its token is set."""

from __future__ import annotations

from bot.adapters.shared.descriptor import PlatformDescriptor
from bot.ops.checks.finding import Check, Finding, Inspection, ok, warn
from bot.platforms import PLATFORMS


def check_of(platform: PlatformDescriptor) -> Check:
    """The doctor's check for this platform."""

    async def check(inspection: Inspection) -> list[Finding]:
        settings = inspection.environment.settings
        if platform.configured(settings):
            return await platform.check(settings, inspection)
        if platform is PLATFORMS[0] and not any(each.configured(settings) for each in PLATFORMS):
            how = f"{platform.how_to_get_token} and set {platform.token.upper()} in .env"
            mend = f"{how}; `make chat` works without one."
            return [warn(platform.name, "no token, so `make run` will not start", mend)]
        return [ok(platform.name, f"no token, so the bot is not on {platform.title}")]

    check.__name__ = platform.name
    return check
