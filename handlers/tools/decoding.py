"""Decodes files of any encoding."""

from __future__ import annotations

import codecs
import mimetypes

from routing.errors import ToolFailed

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # starts like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_STARTS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
)
_SAMPLE_BYTES = 64_000
"""Number of bytes used to guess the encoding."""
_GOOD_FOR_BAD = 2
"""Valid non-ASCII characters required per invalid one before a text counts as damaged UTF-8."""


def text_of(data: bytes, name: str) -> str:
    """Decodes `data`. A leading line names a guessed encoding and mentions damage. The result never contains NUL, which
    databases reject. Raises ToolFailed if `data` is not text."""
    text = _decoded(data, name)
    if "\0" in text:
        raise _binary(data, name)
    return text


def _decoded(data: bytes, name: str) -> str:
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data:
        raise _binary(data, name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        if not encoding.startswith("utf-8"):
            raise ToolFailed(f"{name} begins as {encoding} text but is not: it is damaged or binary.") from None
    if (mended := _decode_damaged(data, encoding)) is not None:
        return mended
    guessed = _guess(data)
    if guessed is None:
        raise _binary(data, name)
    return f"[Not UTF-8: read as {guessed[0]}, a guess.]\n{guessed[1]}"


def _decode_damaged(data: bytes, encoding: str) -> str | None:
    """Decodes slightly damaged UTF-8, such as a truncated file; None if it is another encoding. Relies on the fact that
    non-ASCII text in other encodings is almost never valid UTF-8."""
    text, sign = data.decode(encoding, "replace"), "\ufffd"
    genuine = data.count(sign.encode())
    bad = text.count(sign) - genuine
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    if good < _GOOD_FOR_BAD * bad and encoding == "utf-8":
        return None
    return f"[Damaged UTF-8: what can't be read is shown as {sign}, {bad:,} times.]\n{text}"


def _guess(data: bytes) -> tuple[str, str] | None:
    """The likely encoding and the text; None if no encoding fits."""
    from charset_normalizer import from_bytes  # slow to import

    # Prefer the Western encoding on a tie: many encodings fit a short text, and it is by far the most common.
    found = from_bytes(data[:_SAMPLE_BYTES])
    best = found.best()
    if best is None:
        return None
    western = [match for match in found if match.encoding == "cp1252" or "cp1252" in match.could_be_from_charset]
    equal = any(match.chaos <= best.chaos for match in western)
    for encoding in ("cp1252", best.encoding) if equal else (best.encoding,):
        try:
            return encoding, data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def _binary(data: bytes, name: str) -> ToolFailed:
    kind = next((kind for start, kind in _STARTS if data.startswith(start)), mimetypes.guess_type(name)[0])
    about = f", probably {kind}" if kind else ""
    return ToolFailed(f"{name} is not text ({len(data):,} bytes{about}): inspect it with run_command.")
