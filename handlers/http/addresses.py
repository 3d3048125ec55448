"""Decides which addresses a tool may fetch: public ones, and private hosts that the owner named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from routing.errors import ConfigError, ToolFailed

MAX_URL_CHARACTERS = 4_000
_PORTS = (80, 443)
"""The only ports below 1024: on the others, mail servers and the like might take a request for commands."""
_RESERVED_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
    )
)  # fmt: skip
"""IANA's special-purpose registry, and the metadata service of Azure; those of other clouds are in these networks."""
_PUBLIC_6 = IPv6Network("2000::/3")
_RESERVED_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""The special parts of 2000::/3. Teredo and 6to4 contain an IPv4 address that may be private."""
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL = tuple(
    map(
        ip_network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1", "fc00::/7")
    )
)
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "fd00:42::42", "fd00:ec2::254", "fd20:ce::254")))
"""Services of Alibaba, Scaleway, AWS and Google in local networks. They give a machine's secrets to those who ask."""
_LOCAL_SUFFIXES = (
    "localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "localdomain", "home.arpa", "test",
)  # fmt: skip


class AddressRefused(ToolFailed):
    """The address must not be fetched."""


@dataclass(frozen=True, slots=True)
class PrivateHosts:
    """What the owner allows besides public addresses: names or addresses, each with or without a port, and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> PrivateHosts:
        """Read `wiki.intranet, 10.1.2.3:8080, 192.168.7.0/24`. Raises ConfigError."""
        hosts, networks = set(), []
        for number, item in enumerate(text.replace(",", " ").split(), 1):
            try:
                if "/" in item:
                    networks.append(ip_network(item))
                else:
                    parts = urlsplit(f"//{item}")
                    if parts.hostname is None or parts.username or parts.query or parts.fragment or parts.port == 0:
                        raise ValueError
                    hosts.add(item.lower())
            except ValueError:
                words = (
                    "WEB_PRIVATE_HOSTS must look like wiki.intranet,10.1.2.3:8080,10.7.0.0/16; entry {number} does not."
                )
                raise ConfigError(words, number=number) from None
        return cls(frozenset(hosts), tuple(networks))

    def names(self, host: str, port: int) -> bool:
        shown = f"[{host}]" if ":" in host else host
        return not self.hosts.isdisjoint({shown.lower(), f"{shown}:{port}".lower()})

    def contains(self, address: str) -> bool:
        ip = ip_address(address.partition("%")[0])
        return any(ip.version == each.version and ip in each for each in self.networks)


def is_public(address: str) -> bool:
    """Whether an IP address is reachable for everyone. An IPv4 address inside an IPv6 address counts only in the form
    that IPv6-only networks use for public addresses (NAT64)."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip not in _NAT64:
            return ip in _PUBLIC_6 and not any(ip in each for each in _RESERVED_6)
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    return not any(ip in each for each in _RESERVED_4)


def is_local(address: str) -> bool:
    """Whether an IP address is on this machine or in a local network, where an owner may run a server. Link-local
    addresses and the metadata services of clouds are not."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip not in _METADATA and any(ip.version == each.version and ip in each for each in _LOCAL)


def is_loopback(host: str) -> bool:
    """Whether this is an address of the loopback, or localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_host(host: str, port: int, private: PrivateHosts, resolved_here: bool = True) -> None:
    """Check what a host's name shows. Its resolved addresses are checked when a connection is opened; if a proxy
    resolves it, names that are usually private are refused. Raises AddressRefused."""
    if private.names(host, port):
        return
    if port < 1024 and port not in _PORTS:
        raise AddressRefused(f"Port {port} is refused: web pages use port 80 or 443, or one above 1023.")
    name = host.rstrip(".").lower()
    last = name.rpartition(".")[2]
    if ":" in host or last.isdigit() or last.startswith("0x"):  # browsers and resolvers take this for an IP address
        try:
            allowed = private.contains(host) or (is_public(host) and host == host.partition("%")[0])
        except ValueError:
            raise AddressRefused(
                f"{host[:60]} is an IP address in an unusual form: write it as four decimal numbers."
            ) from None
        if not allowed:
            raise not_public(host)
    elif not resolved_here and ("." not in name or name.endswith(tuple(f".{each}" for each in _LOCAL_SUFFIXES))):
        raise not_public(host)


def check_resolved(host: str, addresses: Iterable[str], private: PrivateHosts) -> None:
    """Raises AddressRefused unless each of the host's addresses may be connected to."""
    if not all(is_public(each) or private.contains(each) for each in addresses):
        raise not_public(host)


def not_public(host: str) -> AddressRefused:
    return AddressRefused(
        f"{host[:100]} is refused: it leads to a private or reserved address, and only public web pages may be fetched."
    )
