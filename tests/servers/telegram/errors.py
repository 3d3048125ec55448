"""How a call is refused.

ApiError        an answer with ok=false, as the Bot API words it
└─ Breach       the same, and the caller broke a documented rule: also recorded in `server.violations`
"""


class ApiError(Exception):
    """The call is answered with `code`, `description` and optional `parameters` (retry_after and the like)."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.parameters = parameters


class Breach(ApiError):
    """A request that no correct bot sends: wrong by the schema, by the entity rules or by a documented limit."""

    def __init__(self, reason: str) -> None:
        super().__init__(400, f"Bad Request: {reason}")


def bad_request(reason: str, **parameters: int) -> ApiError:
    """A refusal that depends on the server's state, so a correct bot may meet it, too."""
    return ApiError(400, f"Bad Request: {reason}", **parameters)


def forbidden(reason: str) -> ApiError:
    return ApiError(403, f"Forbidden: {reason}")
