"""Sending, and servers that are down, slow, hostile or without TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handlers.accounts.reachable import Reachable
from handlers.tools.email.account import kind
from handlers.tools.email.mailbox import criteria
from handlers.tools.email.message import Header, Part, from_html, parts_of_message
from handlers.tools.email.sending import recipients
from handlers.tools.email.servers import Server, parse_server
from routing.errors import Refused, ToolFailed
from tests.handlers.tools.email.accounts import account, tools_for
from tests.handlers.tools.files import ADA
from tests.servers.mail import HOST, Certificate, SmtpServer

NOWHERE = f"{HOST}:9"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(autouse=True)
def trusted(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))


@pytest.fixture(params=["tls", "starttls", "plain"])
def smtp(request: pytest.FixtureRequest, certificate: Certificate) -> Iterator[SmtpServer]:
    with SmtpServer(certificate, request.param == "starttls", request.param != "plain") as started:
        yield started


async def test_a_mail_arrives_over_tls_and_without(tmp_path: Path, smtp: SmtpServer) -> None:
    tools = tools_for(tmp_path, {7: account("ann", NOWHERE, smtp.address)})
    told = await tools.send_email(
        ADA, "bob@example.com, no@refused.example", "Hällo", "Grüße\n.\nEnde", "eve@example.com"
    )
    assert "these recipients were refused: no@refused.example" in told
    assert "could not be kept among the sent mails" in told
    (envelope,) = smtp.sent
    assert envelope.mail_from == "ann@example.org"
    assert envelope.rcpt_tos == ["bob@example.com", "eve@example.com"]
    assert isinstance(envelope.content, bytes)
    assert b"From: Ada <ann@example.org>" in envelope.content
    assert b"Date: Mon, 02 Nov 2026 12:00:00 +0000" in envelope.content
    with pytest.raises(ToolFailed, match=r"refuses the recipients: no@refused\.example"):
        await tools.send_email(ADA, "no@refused.example", "Hello", "x")
    wrong = tools_for(tmp_path, {7: account("ann", NOWHERE, smtp.address, "wrong")})
    with pytest.raises(ToolFailed, match="refuses this user name and password"):
        await wrong.send_email(ADA, "bob@example.com", "Hello", "x")
    assert len(smtp.sent) == 1


@pytest.mark.parametrize(
    ("to", "subject"),
    [
        ("", "x"),
        ("bob", "x"),
        ("bob@example.com\r\nBcc: eve@evil.example", "x"),
        ("bob@example.com, ", "x" * 301),
        ("<bob@exa mple.com>", "x"),
        (", ".join(f"bob{number}@example.com" for number in range(21)), "x"),
    ],
)
async def test_unusable_mails_are_refused_before_the_card(tmp_path: Path, to: str, subject: str) -> None:
    tools = tools_for(tmp_path, {7: account("ann", NOWHERE, NOWHERE)})
    with pytest.raises(ToolFailed):
        await tools._card(ADA, to, subject, "text")


async def test_too_many_attachments_are_refused_before_the_card(tmp_path: Path) -> None:
    tools = tools_for(tmp_path, {7: account("ann", NOWHERE, NOWHERE)})
    (tmp_path / "files" / "7").mkdir(parents=True)
    paths = [f"{number}.txt" for number in range(21)]
    for each in paths:
        (tmp_path / "files" / "7" / each).write_text("x")
    with pytest.raises(ToolFailed, match="up to 20 attachments, and these are 21"):
        await tools._card(ADA, "bob@example.com", "Files", "All files", attachments=paths)
    assert "19.txt" in await tools._card(ADA, "bob@example.com", "Files", "All files", attachments=paths[:20])


async def test_a_header_can_not_be_smuggled_in(tmp_path: Path) -> None:
    tools = tools_for(tmp_path, {7: account("ann", NOWHERE, NOWHERE)})
    note = await tools._card(ADA, "bob@example.com", "Hi\r\nBcc: eve@evil.example", "a\u202eb\n```\nTo: x")
    assert "Subject: Hi Bcc: eve@evil.example" in note
    assert "\u202e" not in note
    assert note.startswith("````\n")
    with pytest.raises(ToolFailed, match="leaves the folder"):
        await tools._card(ADA, "bob@example.com", "Hi", "x", attachments=["../8/secret.txt/nothing", "a"])


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


@asynccontextmanager
async def scripted(certificate: Certificate, greeting: bytes, flood: bytes = b"") -> AsyncIterator[str]:
    """A server with TLS that says this and repeats `flood` until the client goes; without, it is silent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(greeting)
            while flood:
                writer.write(flood)
                await writer.drain()
                await asyncio.sleep(0)  # otherwise the loop never learns that the client has gone
            await reader.read()
        except (OSError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, HOST, 0, ssl=certificate.server_context())
    try:
        yield f"{HOST}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


GREETING = b"* OK [CAPABILITY IMAP4rev1] ready\r\n"


@pytest.mark.parametrize(
    ("greeting", "flood", "told"),
    [
        (b"\x00\xff garbage\r\n" * 50, b"", "refuses this|make no sense|broke the connection"),
        (b"* OK " + b"x" * 5_000_000, b"", "refuses this"),
        (GREETING + b"* 1 FETCH (BODY[] {99999999999}\r\n", b"", "refuses this"),
        (GREETING, b"* OK nothing new\r\n" * 4_000, "refuses this"),
        (b"", b"", "does not answer in time"),
        (b"* BYE no\r\n", b"", "refuses this"),
    ],
)
async def test_hostile_and_slow_servers(
    tmp_path: Path, certificate: Certificate, greeting: bytes, flood: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.tools.email.servers.SILENT_SECONDS", 0.3 if not greeting else 5.0)
    monkeypatch.setattr("handlers.tools.email.mailbox.MAX_SESSION_BYTES", 200_000)
    async with scripted(certificate, greeting, flood) as address:
        tools = tools_for(tmp_path, {7: account("ann", f"imaps://{address}", f"smtps://{address}")})
        with pytest.raises(ToolFailed, match=told):
            await tools.search_email(ADA, "")
        with pytest.raises(ToolFailed, match="The mail server can't be used"):
            await tools.send_email(ADA, "bob@example.com", "Hello", "x")


async def test_a_server_that_drips_is_given_up(
    tmp_path: Path, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.tools.email.servers.SESSION_SECONDS", 0.3)
    async with scripted(certificate, b"* OK ") as address:
        tools = tools_for(tmp_path, {7: account("ann", f"imaps://{address}", "")})
        with pytest.raises(ToolFailed, match="does not answer in time"):
            await tools.search_email(ADA, "")


async def test_a_server_that_is_down_and_one_without_tls(tmp_path: Path, certificate: Certificate) -> None:
    with pytest.raises(ToolFailed, match=r"can't be reached \(Connection refused\)"):
        await tools_for(tmp_path, {7: account("ann", NOWHERE, "")}).search_email(ADA, "")
    with SmtpServer(certificate, encrypted=False) as plain:
        tools = tools_for(tmp_path, {7: account("ann", NOWHERE, plain.address.replace(HOST, f"smtps://{HOST}"))})
        with pytest.raises(ToolFailed, match="does not speak TLS"):
            await tools.send_email(ADA, "bob@example.com", "Hello", "x")


def test_servers_are_read() -> None:
    assert parse_server("imap.example.com", 993) == Server("imap.example.com", 993, True)
    assert parse_server("IMAP.example.com:143", 993) == Server("imap.example.com", 143, False)
    assert parse_server("smtps://mail.example.com:4650", 465) == Server("mail.example.com", 4650, True)
    for text in ("", "a b", "mail.example.com:0", "http://x", "user@host", "mail:99999", "x/y"):
        with pytest.raises(Refused):
            parse_server(text, 993)


def test_servers_are_asked_for_only_if_the_provider_is_unknown() -> None:
    asked = kind(lambda _: Reachable())
    assert asked.next_field({"address": "ann@gmail.com"}) is None
    unknown = asked.next_field({"address": "ann@example.org"})
    assert unknown is not None
    assert unknown.name == "imap"
    with pytest.raises(Refused, match="Microsoft"):
        asked.fields[0].read("ann@outlook.com")
    with pytest.raises(Refused):
        asked.fields[0].read("ann")


def test_searches_become_imap_keys() -> None:
    assert criteria('milk "two words" from:bob') == ["TEXT", "milk", "TEXT", "two words", "FROM", "bob"]
    assert criteria("is:unread has:attachment") == ["UNSEEN", "HEADER", "Content-Type", "multipart/mixed"]
    assert criteria("http://example.com/a:b") == ["TEXT", "http://example.com/a:b"]


def test_names_and_headers_are_decoded_and_cut() -> None:
    header = Header.of(
        b"From: =?utf-8?q?J=C3=BCrgen?= <j@example.com>\nSubject: a\n b\nMessage-ID: <x@y> junk\nDate: never\n"
    )
    assert (header.sender, header.subject, header.message_id) == ("Jürgen <j@example.com>", "a b", "<x@y>")
    assert header.date == "never"
    assert len(Header.of(b"Subject: " + b"x" * 50_000).subject) <= 1_000
    assert "\u202e" not in Header.of("Subject: a\u202eb".encode()).subject
    assert [str(each) for each in recipients("Bob B <bob@example.com>, eve@example.com", "to")] == [
        "Bob B <bob@example.com>",
        "eve@example.com",
    ]


def test_structures_that_make_no_sense() -> None:
    structures: tuple[object, ...] = (
        None,
        (),
        (None,),
        ([],),
        (b"text",),
        ([(b"text", b"plain")] * 500, b"mixed"),
        (b"a", b"b", 5),
    )
    for structure in structures:
        assert len(parts_of_message(structure)[0]) <= 100


@pytest.mark.parametrize(
    ("kind", "raw", "content"),
    [
        ("image", b"aGVs\nbG8=\n", b"hello"),
        ("image", b"aGVs-bG8=", b"hello"),
        ("image", b"aGVsbG8", b"hello"),
        ("image", b"aGVsb", b"hel"),
        ("image", b"aGVs bG8=", b"hello"),
        ("text", b"SGVsbG8g V29ybGQ=", b"Hello World"),
        ("text", b"SGVsbG8g V29y\r\nbGQgYWdhaW4=\r\n", b"Hello World again"),
        ("text", b"> SGVsbG8g\r\n> V29ybGQ=", b"Hello World"),
        ("text", b"aGVsbG8h\n_______________\nOur mailing list\nhttps://list.example\n", b"hello!"),
        ("image", b"aGVsbG8h\n_______________\nOur mailing list\n", b"hello!"),
        ("text", b"aGVsbG8h\nlist mailing list\n", b"hello!"),
        ("text", b"aGVsbG8h\n\nSent from my iPhone\n", b"hello!"),
        ("image", b"aGVs bG8h\naGV sbG8h", b"hello!hello!"),
        ("text", b"", b""),
    ],
)
def test_base64_is_decoded_as_far_as_it_can_be(kind: str, raw: bytes, content: bytes) -> None:
    part = Part("1", kind, "plain", "a", "base64", "", len(raw), kind != "text")
    assert part.decoded(raw) == content


def test_parts_beyond_the_limit_are_counted() -> None:
    parts, left_out = parts_of_message(([(b"text", b"plain")] * 130, b"mixed"))
    assert (len(parts), left_out) == (100, 30)


def test_html_becomes_lines() -> None:
    assert from_html("") == ""
    assert from_html("<p>a\nb</p><ul><li>c</li><li>d</li></ul><title>t</title>e") == "a b\nc\nd\ne"
