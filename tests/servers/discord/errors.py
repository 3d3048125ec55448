"""How a call is refused.

ApiError        an answer with Discord's JSON error: `status` is HTTP's, `code` Discord's
└─ Breach       the same, and the caller broke a documented rule: also recorded in `server.violations`
Blocked         an answer of the proxy before the API: no JSON and no Via
"""

from tests.servers.discord.values import Json


class ApiError(Exception):
    """`errors` is the tree of an invalid form body; `extra` further fields of the answer (retry_after, global)."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        *,
        errors: Json | None = None,
        extra: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {code} {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors
        self.extra = extra or {}
        self.headers = headers or {}

    def json(self) -> Json:
        body: Json = {"message": self.message, "code": self.code, **self.extra}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


class Breach(ApiError):
    """A request that no correct bot sends, because it breaks the schema or a documented limit."""

    def __init__(
        self, reason: str, status: int = 400, code: int = 50035, message: str = "", errors: Json | None = None
    ) -> None:
        super().__init__(status, code, message or reason, errors=errors)
        self.reason = reason


class Blocked(Exception):
    """The proxy before the API answers instead."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def invalid(path: str, code: str, reason: str) -> Breach:
    """400 Invalid Form Body with the error at `path`, such as "embeds.0.title" ("": the body itself)."""
    errors: Json = {"_errors": [{"code": code, "message": reason}]}
    for key in reversed(path.split(".") if path else []):
        errors = {key: errors}
    return Breach(f"{path or 'body'}: {reason}", message="Invalid Form Body", errors=errors)


def unknown(code: int, what: str) -> ApiError:
    """404 Unknown Channel and the like: depends on the server's state, so a correct bot may meet it, too."""
    return ApiError(404, code, f"Unknown {what}")


def missing_access() -> ApiError:
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    return ApiError(403, 50013, "Missing Permissions")


def unauthorized() -> ApiError:
    return ApiError(401, 0, "401: Unauthorized")


def not_found() -> ApiError:
    return ApiError(404, 0, "404: Not Found")
