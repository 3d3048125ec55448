"""Files in any encoding: decoded, guessed and named, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from handlers.tools.files.tools import FileTools
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße\n".encode(), "Grüße\n"),
        (b"a\r\nb", "a\r\nb"),
        ("\ufeffGrüße".encode(), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße"),
        ("Grüße".encode("utf-32"), "Grüße"),
        (b"", "a.txt is empty."),
    ],
)
def test_a_text_is_decoded_completely(tools: FileTools, own: Path, data: bytes, text: str) -> None:
    (own / "a.txt").write_bytes(data)
    assert tools.read_file(ADA, "a.txt") == text
    assert tools.read_file(ADA, "/files/a.txt") == text


GERMAN = "Die Größe der Äpfel ist für die Übung nicht so wichtig.\n"


@pytest.mark.parametrize(
    ("data", "bad", "text"),
    [
        ((GERMAN * 40).encode()[:-5] + "ü".encode()[:1], 1, (GERMAN * 40)[:-5] + "\ufffd"),
        (GERMAN.encode() + b"\xff" + GERMAN.encode(), 1, GERMAN + "\ufffd" + GERMAN),
        (GERMAN.encode() + b"\xff\xfe\n", 2, GERMAN + "\ufffd\ufffd\n"),
        (("Well done 😀 " * 30).encode()[:-2], 1, "Well done 😀 " * 29 + "Well done \ufffd"),
        ("\ufeffcaf\xe9".encode()[:-1], 1, "caf\ufffd"),
        (f"{GERMAN}\ufffd".encode() + b"\xff", 1, f"{GERMAN}\ufffd\ufffd"),
    ],
)
def test_a_text_with_a_damaged_byte_stays_readable(
    tools: FileTools, own: Path, data: bytes, bad: int, text: str
) -> None:
    (own / "a.txt").write_bytes(data)
    first, _, rest = (tools.read_file(ADA, "a.txt")).partition("\n")
    assert (first, rest) == (f"[Damaged UTF-8: what can't be read is shown as \ufffd, {bad} times.]", text)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "iso8859-15"])
def test_an_older_encoding_is_not_taken_for_damage(tools: FileTools, own: Path, encoding: str) -> None:
    (own / "a.txt").write_bytes((GERMAN * 3).encode(encoding))
    assert tools.read_file(ADA, "a.txt") == f"[Not UTF-8: read as cp1252, a guess.]\n{GERMAN * 3}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_nul_byte_is_not_text(tools: FileTools, own: Path, encoding: str) -> None:
    (own / "a.txt").write_bytes("Grüße\0aus München".encode(encoding))
    with pytest.raises(ToolFailed, match=r"a\.txt is not text"):
        tools.read_file(ADA, "a.txt")


@pytest.mark.parametrize(
    ("encoding", "said", "text"),
    [
        ("cp1252", "cp1252", "Viele Grüße aus Köln, schöne Straße für 5 €.\n"),
        ("cp1252", "cp1252", "Grüße"),
        ("cp1251", "cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю. Привет, как дела сегодня?\n"),
        ("shift_jis", "cp932", "これは日本語の文章です。今日はとても良い天気ですね。\n"),
    ],
)
def test_another_encoding_is_guessed_and_named(
    tools: FileTools, own: Path, encoding: str, said: str, text: str
) -> None:
    (own / "a.txt").write_bytes(text.encode(encoding))
    assert tools.read_file(ADA, "a.txt") == f"[Not UTF-8: read as {said}, a guess.]\n{text}"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a.png is not text (16 bytes, probably a PNG image): "),
        ("a", b"%PDF-1.7\n\0", "a can't be read: it is damaged."),
        ("a.mp3", b"\0\xff" * 20, "a.mp3 is not text (40 bytes, probably audio/mpeg): "),
        ("a", bytes(range(256)) * 4, "a is not text (1,024 bytes): inspect it with run_command."),
        ("a", b"\xff\xfea", "a begins as utf-16 text but is not: it is damaged or binary."),
    ],
)
def test_binary_data_is_refused(tools: FileTools, own: Path, name: str, data: bytes, said: str) -> None:
    (own / name).write_bytes(data)
    with pytest.raises(ToolFailed) as caught:
        tools.read_file(ADA, name)
    assert str(caught.value).startswith(said)
