"""Which addresses Telegram takes behind a text."""

from __future__ import annotations

import re

# TDLib's LinkManager::check_link_impl: a host without a dot is "Wrong HTTP URL" and the entity is dropped, mailto:
# is mangled to http://mailto:…, tel: is no URL. Such addresses are better shown: the apps make them tappable.
_WEB = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:[^\s/?#@:\[\].]++(?:\.++[^\s/?#@:\[\].]++)++\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#]\S*)?"
)
_APP = re.compile(r"(?:tg|ton)://[A-Za-z0-9_-]+(?:[/?]\S*)?")
_LONGEST = 2048  # characters; what browsers and Telegram's clients are sure to open


def accepted(address: str) -> str | None:
    """The address as Telegram takes it for a `text_link`, or None: http and https with a real host, tg and ton."""
    if address.startswith("www."):
        address = "https://" + address
    if len(address) > _LONGEST:
        return None
    folded = address[:9].lower() + address[9:]
    return address if _WEB.fullmatch(folded) or _APP.fullmatch(folded) else None
