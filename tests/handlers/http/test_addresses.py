"""Which addresses are public, and which private ones an owner allows."""

from __future__ import annotations

import pytest

from handlers.http.addresses import AddressRefused, PrivateHosts, check_host, check_resolved, is_loopback, is_public
from routing.errors import ConfigError

PRIVATE = (
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "168.63.129.16", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:2::1", "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
    "fec0::1", "ff02::1",
)  # fmt: skip
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "172.32.0.1", "192.167.1.1", "223.255.255.254",
    "2606:4700::1111", "2a00:1450:4001:829::200e", "64:ff9b::808:808",
)  # fmt: skip


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_the_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.1", "localhost.example", "bot.example"])
def test_what_is_not_the_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_only_addresses_of_the_internet_are_public() -> None:
    assert [each for each in PRIVATE if is_public(each)] == []
    assert [each for each in PUBLIC if not is_public(each)] == []


def test_a_name_is_refused_if_one_of_its_addresses_is_private() -> None:
    check_resolved("example.com", ["8.8.8.8", "2606:4700::1111"], PrivateHosts())
    with pytest.raises(AddressRefused, match=r"example\.com .* private"):
        check_resolved("example.com", ["8.8.8.8", "127.0.0.1"], PrivateHosts())


@pytest.mark.parametrize("host", ["localhost", "wiki", "a.local", "b.internal", "c.lan", "d.home.arpa", "LOCALHOST."])
def test_names_that_are_usually_private_are_refused_before_a_proxy(host: str) -> None:
    check_host(host, 80, PrivateHosts())  # resolved here, and checked then
    with pytest.raises(AddressRefused):
        check_host(host, 443, PrivateHosts(), resolved_here=False)
    check_host("example.com", 443, PrivateHosts(), resolved_here=False)


def test_an_owner_allows_hosts_ports_and_networks() -> None:
    private = PrivateHosts.parse("wiki.intranet, 10.1.2.3:8080,10.7.0.0/16 [fd00::7]:8080 fd01::/64")
    for host, port in (("wiki.intranet", 80), ("WIKI.intranet", 22), ("10.1.2.3", 8080), ("10.7.9.9", 80)):
        check_host(host, port, private)
    check_host("fd00::7", 8080, private)
    check_host("fd01::1", 8080, private)
    check_resolved("db.intranet", ["10.7.1.1"], private)
    for host, port in (("10.1.2.3", 80), ("10.8.0.1", 80), ("fd00::7", 80), ("127.0.0.1", 8080)):
        with pytest.raises(AddressRefused):
            check_host(host, port, private)
    with pytest.raises(AddressRefused):
        check_resolved("other.intranet", ["10.8.0.1"], private)


@pytest.mark.parametrize("text", ["http://wiki", "10.0.0.0/33", "user@wiki", "wiki:99999", "a, b/c"])
def test_a_malformed_list_of_private_hosts_is_reported_without_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^WEB_PRIVATE_HOSTS must look like .*; entry \d does not\.$"):
        PrivateHosts.parse(text)
