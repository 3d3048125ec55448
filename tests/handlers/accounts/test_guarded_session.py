"""Which servers an account may be on, also if a name resolves to something else at the next look."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from handlers.accounts.dav import read_address
from handlers.accounts.guarded_session import GuardedSession
from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from routing.errors import Refused

ANYONE, OWNER = Reachable(), Reachable(private=True)
PUBLIC = ("93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822")
PRIVATE = ("127.0.0.1", "10.0.0.1", "192.168.1.5", "172.16.0.1", "100.64.0.1", "::1", "fd00::1", "::ffff:127.0.0.1")
METADATA = ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
NEVER = (
    *METADATA,
    *(f"::ffff:{each}" for each in METADATA),
    *("64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "::169.254.169.254"),
    *("::ffff:93.184.216.34", "::ffff:0:127.0.0.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254"),
    *("224.0.0.1", "ff02::1", "0.0.0.0", "::", "::ffff:0.0.0.0", "255.255.255.255"),
)
"""Link-local addresses, metadata services of clouds, and IPv6 addresses that hide an IPv4 one."""


@pytest.mark.parametrize("address", PUBLIC)
def test_public_servers_need_tls(address: str) -> None:
    for reachable in (ANYONE, OWNER):
        assert reachable.allows("host", address, True)
        assert not reachable.allows("host", address, False)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_servers_are_for_the_owner(address: str) -> None:
    for encrypted in (True, False):
        assert not ANYONE.allows("host", address, encrypted)
        assert OWNER.allows("host", address, encrypted)
        assert Reachable(hosts=frozenset({"host"})).allows("host", address, encrypted)


@pytest.mark.parametrize("address", NEVER)
def test_other_addresses_are_for_no_one(address: str) -> None:
    assert not ANYONE.allows("host", address, True)
    assert not OWNER.allows("host", address, True)


def test_the_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that gives another address to each question."""
    answers = iter(["127.0.0.1", "93.184.216.34", "127.0.0.1"])
    asked: list[str] = []

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if host.replace(".", "").isdigit():
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    session = GuardedSession(ANYONE, "ann", "x")
    with pytest.raises(ServiceFailed, match="private network"):
        session.request("GET", "https://rebinding.example/")
    assert asked == ["rebinding.example"]
    session.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "http://[::1", "https://2130706433:1/"])
def test_other_addresses_are_refused(url: str) -> None:
    session = GuardedSession(ANYONE, "ann", "x")
    with pytest.raises(ServiceFailed):
        session.request("GET", url)
    session.close()


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("cloud.example.com", "https://cloud.example.com/"),
        ("<https://a.example/dav>", "https://a.example/dav"),
        ("http://10.0.0.1:5232", "http://10.0.0.1:5232/"),
        ("HTTPS://a.example#top", "https://a.example/"),
        ('"a.example"', "https://a.example/"),
        ("https://a.example/\u200e", "https://a.example/"),
        ("nas:5232", "https://nas:5232/"),
        ("http://nas", "http://nas/"),
        ("[::1]:5232", "https://[::1]:5232/"),
        ("localhost", "https://localhost/"),
    ],
)
def test_an_address_is_completed(typed: str, address: str) -> None:
    assert read_address(typed) == address


@pytest.mark.parametrize(
    "typed",
    [
        *("", "no address", "ftp://a.example", "https://", "https://u:p@a.example/", "https://[::1", "x" * 600),
        *("hunter2", "https:/a.example", "https//a.example", "a..example", ".", "ann@a.example", "a.example:99999"),
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(Refused):
        read_address(typed)


def test_a_public_server_leads_into_no_private_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 stands for a public address."""
    monkeypatch.setattr("handlers.accounts.guarded_session.is_public", lambda address: address == "127.0.0.1")
    session = GuardedSession(Reachable(private=True), "ann", "secret")
    with socket.create_server(("127.0.0.1", 0)) as public, socket.create_server(("127.0.0.2", 0)) as private:
        answer = threading.Thread(target=lambda: public.accept()[0].close())
        answer.start()
        with pytest.raises(ServiceFailed):
            session.request("GET", f"http://127.0.0.1:{public.getsockname()[1]}/")
        answer.join()
        with pytest.raises(ServiceFailed, match="in a private network"):
            session.request("GET", f"http://127.0.0.2:{private.getsockname()[1]}/")
    session.close()
