"""Injected faults, instead of, before or after the real answer."""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tests.servers.discord.errors import ApiError
from tests.servers.injected_faults import InjectedFault

Kind = Literal[
    "rate_limit",
    "rate_limit_global",
    "cloudflare",
    "latin_1",
    "server_error",
    "refuse",
    "slow",
    "hang",
    "hang_after",
    "drop",
    "drop_after",
    "error_after",
    "drip",
]


@dataclass(slots=True, eq=False, kw_only=True)
class Fault(InjectedFault):
    """Strikes calls that match `call`.

    `call` is a method and a path below the API's root, such as "POST /channels/*/messages", where * (or {a_name}) is
    one segment and ** any number; "*" is any call, "POST *" any call of that method.

    rate_limit         429 of the route with `retry_after` seconds; `scope` is "user" or "shared"
    rate_limit_global  429 of everything
    cloudflare         429 as HTML and without Via, from the proxy before the API
    latin_1            `status`, 502 if none is given, as HTML that is not UTF-8, from the proxy before the API
    server_error       `status`, 502 if none is given
    refuse             `status`, `code` and `text` as given
    slow               the call is done at once and answered after `seconds`
    hang               the request is read, nothing is done and nothing answered for `seconds`; then it closes
    hang_after         the same, but the call was done
    drop               the connection closes, nothing was done
    drop_after         the call was done, the connection closes without an answer
    drip               the call is done at once and answered byte by byte, each after `seconds`
    error_after        the call was done and is answered with `status`, 504 if none is given
    """

    KINDS = get_args(Kind)

    call: str
    retry_after: float = 1.0
    status: int = 0
    code: int = 0
    scope: str = "user"

    def strikes(self, method: str, path: str, body: Any) -> bool:
        return _pattern(self.call).fullmatch(f"{method} {path}") is not None and self.counts(body)

    def answer(self) -> ApiError | None:
        """The refusal that takes the place of the real answer, if this fault is one."""
        match self.kind:
            case "rate_limit":
                return too_many(self.retry_after, scope=self.scope)
            case "rate_limit_global":
                return too_many(self.retry_after, everywhere=True)
            case "server_error":
                return ApiError(self.status or 502, 0, self.text or "502: Bad Gateway")
            case "refuse":
                return ApiError(self.status or 403, self.code or 50013, self.text or "Missing Permissions")
        return None


def too_many(seconds: float, *, everywhere: bool = False, scope: str = "user") -> ApiError:
    """429 as Discord words it. Via tells discord.py that it is Discord's answer and not a proxy's."""
    headers = {"Retry-After": str(max(1, round(seconds))), "Via": "1.1 google"}
    headers["X-RateLimit-Scope"] = "global" if everywhere else scope
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    extra = {"retry_after": seconds, "global": everywhere}
    return ApiError(429, 0, "You are being rate limited.", extra=extra, headers=headers)


def _pattern(call: str) -> re.Pattern[str]:
    method, _, path = call.partition(" ") if " " in call else ("*", "", call)
    escaped = re.escape(path if path != "*" else "**")
    shaped = re.sub(r"\\\{\w+\\\}", "[^/]+", escaped).replace(r"\*\*", ".*").replace(r"\*", "[^/]+")
    return re.compile(("[A-Z]+" if method == "*" else re.escape(method)) + " " + shaped)
