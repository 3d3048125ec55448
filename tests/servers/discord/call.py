"""One API call for its handler: validated, with its path parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.servers.discord.values import Json
from tests.servers.uploads import Upload

if TYPE_CHECKING:
    from tests.servers.discord.world import World


@dataclass(frozen=True, slots=True)
class Call:
    """`route` is "POST /channels/{channel_id}/messages"; `path` holds the values of its parameters."""

    route: str
    path: dict[str, str]
    query: dict[str, str]
    body: Any
    files: dict[int, Upload]

    def id(self, name: str) -> int:
        return int(self.path[name])

    def number(self, name: str, default: int) -> int:
        """A query parameter."""
        return int(self.query.get(name, default))

    @property
    def fields(self) -> Json:
        """The body, which must be an object."""
        return self.body or {}


@dataclass(frozen=True, slots=True)
class Created:
    """An answer with status 201."""

    body: Any


Handler = Callable[["World", Call], Any]
"""Returns the answer's body; None is 204."""
