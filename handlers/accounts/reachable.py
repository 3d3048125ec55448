"""Which servers people's accounts and repositories may be on."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from handlers.accounts.kinds import ServiceFailed
from handlers.http.addresses import is_local, is_public


@dataclass(frozen=True, slots=True)
class Reachable:
    """Which servers a person's accounts may be on. With `private`, also those in private networks, there without TLS,
    too; `hosts` are allowed for everyone, with and without TLS."""

    private: bool = False
    hosts: frozenset[str] = frozenset()

    def allows(self, host: str, address: str, encrypted: bool) -> bool:
        """Whether a connection to this address of a host is allowed."""
        if host in self.hosts:
            return True
        if is_public(address):
            return encrypted
        return self.private and is_local(address)

    def addresses(self, host: str, port: int, encrypted: bool) -> list[str]:
        """The allowed addresses of a host, which is looked up once. Blocks. Raises ServiceFailed if there are none."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise ServiceFailed("there is no host {host}, or it can't be found now", host=host) from None
        addresses = dict.fromkeys(str(each[4][0]) for each in found)
        allowed = [address for address in addresses if self.allows(host, address, encrypted)]
        if not allowed:
            words = "{host} is in a private network, or has no TLS: only accounts of the owner may be there"
            raise ServiceFailed(words, host=host)
        return allowed
