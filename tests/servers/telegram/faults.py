"""Injected faults, instead of, before or after the real answer."""

from dataclasses import dataclass
from typing import Literal, get_args

from tests.servers.injected_faults import InjectedFault
from tests.servers.telegram.errors import ApiError, bad_request
from tests.servers.telegram.values import Json

Kind = Literal[
    "too_many",
    "conflict",
    "unauthorized",
    "server_error",
    "bad_request",
    "forbidden",
    "too_large",
    "hang",
    "hang_after",
    "drop_before",
    "drop_after",
    "slow",
    "drip",
]


@dataclass(slots=True, eq=False, kw_only=True)
class Fault(InjectedFault):
    """Strikes calls of `method` ("*" is any).

    too_many      429 with `retry_after` seconds        conflict      409        unauthorized  401
    server_error  502                                   bad_request   400 with `text`    forbidden  403 with `text`
    too_large     413, as from a proxy before the server
    hang          the request is read, nothing is done and nothing answered for `seconds`; then the connection closes
    hang_after    the same, but the call was done
    drop_before   the connection closes, nothing was done
    drop_after    the call was done, the connection closes without an answer
    slow          the call is done at once and answered after `seconds`
    drip          the call is done at once and answered byte by byte, each after `seconds`
    """

    KINDS = get_args(Kind)

    method: str
    retry_after: int = 1

    def strikes(self, method: str, params: Json) -> bool:
        return self.method in ("*", method) and self.counts(params)

    def answer(self) -> ApiError | None:
        """The refusal that takes the place of the real answer, if this fault is one."""
        match self.kind:
            case "too_many":
                return too_many(self.retry_after)
            case "conflict":
                return ApiError(
                    409,
                    "Conflict: "
                    + (
                        self.text
                        or "terminated by other getUpdates request; make sure that only one bot instance is running"
                    ),
                )
            case "unauthorized":
                return ApiError(401, "Unauthorized")
            case "server_error":
                return ApiError(502, self.text or "Bad Gateway")
            case "bad_request":
                return bad_request(self.text or "refused by order of the test")
            case "forbidden":
                return ApiError(403, f"Forbidden: {self.text or 'bot was blocked by the user'}")
            case "too_large":
                return ApiError(413, "Request Entity Too Large")
        return None


def too_many(seconds: int) -> ApiError:
    return ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
