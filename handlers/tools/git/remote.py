"""Addresses of repositories, and what may be done there: `Route` is all that the gateway needs to know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from routing.errors import ToolFailed

MAX_ADDRESS_CHARACTERS = 2_000
CONNECT_SECONDS, SILENT_SECONDS = 15.0, 120.0
"""Time limits for connecting, and for a server that sends nothing."""
FETCH, PUSH = "git-upload-pack", "git-receive-pack"
"""What git asks of a server."""
OTHER_REPOSITORY = "git asked for something else than this repository, which is not allowed."
TOO_LARGE = "The repository is larger than the person's folder may be. Clone with depth 1."
"""What the model is told of a request that is not let through, and of more than `Route.max_bytes`."""
_PORTS = {"https": 443, "http": 80, "git": 9418}
_SSH = re.compile(r"(?:ssh://)?(?:[\w.-]+@)?(?P<host>[\w.-]+\.[A-Za-z]+)(?::\d+/|[:/])(?P<path>[^:\s]+)")
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+")
"""Printable ASCII characters without quotes, backslashes, angle brackets and braces."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on a server. `path` begins with a slash and is percent-encoded."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, as people write them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def name(self) -> str:
        """The folder that a clone gets."""
        return self.path.rstrip("/").rpartition("/")[2].removesuffix(".git")

    @property
    def encrypted(self) -> bool:
        return self.scheme == "https"

    def moved(self, to: str, suffix: str) -> Remote:
        """The repository after a redirect of its address plus `suffix`. Raises ToolFailed if it is on another host, or
        without TLS."""
        target = urljoin(self.url.rstrip("/") + suffix, to)
        if not target.endswith(suffix):
            raise ToolFailed("The server redirects to something that is not a repository. Check the address.")
        new = parse_remote(target.removesuffix(suffix))
        to_https = new.encrypted and new.port == _PORTS["https"]
        if new.host != self.host or not (to_https or (new.scheme, new.port) == (self.scheme, self.port)):
            raise ToolFailed(f"The repository has moved to {new.url}: use that address.")
        return new


@dataclass(frozen=True, slots=True)
class Login:
    """What a server asks for."""

    user: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Push:
    """The only change that may be pushed: this branch (`refs/heads/…`) from the commit `base` to this one, which
    contains it. An empty `base` means that the server does not have the branch yet."""

    ref: str
    base: str
    commit: str


def parse_remote(address: str) -> Remote:
    """Accepts https, http and git addresses. Raises ToolFailed."""
    if len(address) > MAX_ADDRESS_CHARACTERS or not _PLAIN.fullmatch(address):
        raise ToolFailed("This is no address of a repository: use one such as https://github.com/owner/name.git.")
    scheme = address.partition("://")[0].lower() if "://" in address else ""
    if scheme not in _PORTS or "::" in address.partition("//")[0]:
        ssh = _SSH.fullmatch(address)
        example = f"https://{ssh['host']}/{ssh['path']}" if ssh else "https://github.com/owner/name.git"
        raise ToolFailed(f"Only repositories with an https address can be used, such as {example}.")
    try:
        parts = urlsplit(address)
        remote = Remote(scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS[scheme], parts.path)
    except ValueError:
        raise ToolFailed("This is no address of a repository: the part with host and port is wrong.") from None
    if parts.username is not None or parts.password is not None:
        raise ToolFailed(
            "An address must not contain a user or a password: leave them out. For a private repository the user "
            "connects an account with /connect git."
        )
    if not remote.host or not remote.name or parts.query or parts.fragment:
        raise ToolFailed(f"{address} is no address of a repository: it needs a host and a path, and nothing after it.")
    if any(part in (".", "..") for part in remote.path.split("/")):
        raise ToolFailed("The path of the address contains dots: write it without them.")
    return remote


@dataclass(frozen=True, slots=True)
class Route:
    """Where the gateway leads: `addresses` are the checked IP addresses of the remote's host. Without `push` it only
    reads. The server may send `max_bytes`."""

    remote: Remote
    addresses: Sequence[str]
    login: Login | None
    push: Push | None
    max_bytes: int

    @property
    def services(self) -> tuple[str, ...]:
        return (FETCH, PUSH) if self.push else (FETCH,)
