"""Failures on order: what a caller meets instead of, before or after the real answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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
KINDS: tuple[str, ...] = Kind.__args__  # type: ignore[attr-defined]


@dataclass(slots=True, eq=False)
class Fault:
    """Strikes calls of `method` ("*" is any) that satisfy `when`, after `skip` of them, `times` times (None: until
    `clear`). `hits` counts.

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

    method: str
    kind: Kind
    times: int | None = 1
    retry_after: int = 1
    seconds: float = 60.0
    text: str = ""
    skip: int = 0
    when: Callable[[Json], bool] | None = None
    hits: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; one of {', '.join(KINDS)}")

    def strikes(self, method: str, params: Json) -> bool:
        if self.method not in ("*", method) or self.times == 0:
            return False
        if self.when is not None and not self.when(params):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.hits += 1
        if self.times is not None:
            self.times -= 1
        return True

    def clear(self) -> None:
        """It strikes no more."""
        self.times = 0

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
