"""What a person is told when an attachment can't be downloaded; the same on every platform."""

from __future__ import annotations

from routing.errors import Refused

MAX_MEGABYTES = 20  # the Bot API's limit
MAX_BYTES = MAX_MEGABYTES * 2**20


def too_large() -> Refused:
    return Refused("That file is too large; I accept up to {limit} MB. Send a smaller one.", limit=MAX_MEGABYTES)


def gone(platform: str) -> Refused:
    return Refused("{platform} no longer has that file. Send it again.", platform=platform)


def unreachable(platform: str) -> Refused:
    return Refused("I couldn't get the file from {platform}. Send it again in a minute.", platform=platform)
