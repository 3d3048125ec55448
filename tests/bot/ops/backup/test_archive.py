"""The format of backups: what is read is what was written, or it is refused."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.ops.backup.archive import FORMAT, ArchiveReader, ArchiveWriter, Head
from bot.ops.backup.contents import Entry
from bot.ops.backup.encryption import CHUNK, MAGIC
from routing.errors import ConfigError

PASSPHRASE = "correct horse battery"
HEAD = Head(FORMAT, "1.2.3", "0001", 1764288000.5, {"people": 2})
FILES = {
    "database.db": b"d" * 70_000,
    "workspace/a": b"",
    "workspace/ünï\n\\🎉": b"x" * 10,
    f"workspace/{'long/' * 60}name": bytes(range(256)) * 3,
}
ENCRYPTED = pytest.mark.parametrize("passphrase", ["", PASSPHRASE], ids=["plain", "encrypted"])


def written(passphrase: str, head: Head = HEAD, files: dict[str, bytes] = FILES) -> bytes:
    target = io.BytesIO()
    archive = ArchiveWriter(target, io.BytesIO(), passphrase, lambda: None)
    archive.head(head)
    archive.add(Entry("workspace/folder", "folder", 0o700, 5.25))
    for name, data in files.items():
        assert archive.add(Entry(name, "file", 0o640, 1764288000.125, len(data), stream=io.BytesIO(data)))
    archive.add(Entry("workspace/link", "link", 0o777, 5.0, target="a"))
    archive.finish()
    return target.getvalue()


def read(data: bytes, passphrase: str) -> tuple[Head, list[tuple[Entry, bytes]]]:
    reader = ArchiveReader(io.BytesIO(data), passphrase, "backup.tar.gz")
    found = [(replace(each, stream=None), each.stream.read() if each.stream else b"") for each in reader.entries()]
    return reader.head, found


@ENCRYPTED
def test_what_is_read_is_what_was_written(passphrase: str) -> None:
    head, found = read(written(passphrase), passphrase)
    assert head == HEAD
    assert {entry.path: data for entry, data in found if entry.kind == "file"} == FILES
    kinds = [(entry.path, entry.kind, entry.mode, entry.changed, entry.target) for entry, _ in found]
    assert kinds[0] == ("workspace/folder", "folder", 0o700, 5.25, "")
    assert kinds[1] == ("database.db", "file", 0o640, 1764288000.125, "")
    assert kinds[-1] == ("workspace/link", "link", 0o777, 5.0, "a")


def test_an_encrypted_archive_shows_nothing() -> None:
    data = written(PASSPHRASE)
    assert data.startswith(MAGIC)
    assert data != written(PASSPHRASE)
    assert b"workspace" not in data


@ENCRYPTED
def test_a_cut_archive_is_refused(passphrase: str) -> None:
    data = written(passphrase)
    cuts = {*range(0, 80), *range(80, len(data), 211), *range(len(data) - 40, len(data))}
    for cut in sorted(cuts):
        with pytest.raises(ConfigError, match="damaged"):
            read(data[:cut], passphrase)


@pytest.mark.parametrize("level", ["gzip", "tar"])
def test_an_archive_that_is_cut_inside_is_refused(level: str) -> None:
    """As if a program had packed a cut archive again, so that all checksums fit."""
    whole = gzip.decompress(written(""))
    step = 512 if level == "tar" else 1777
    for cut in range(0, len(whole) - 10_240, step):
        with pytest.raises(ConfigError, match="damaged"):
            read(gzip.compress(whole[:cut], 1), "")


@ENCRYPTED
def test_a_changed_byte_is_noticed_or_means_nothing(passphrase: str) -> None:
    data = written(passphrase)
    expected, harmless = read(data, passphrase), []
    for place in {*range(0, 80), *range(80, len(data), 97), *range(len(data) - 20, len(data))}:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        try:
            assert read(bytes(changed), passphrase) == expected
            harmless.append(place)
        except ConfigError as error:
            assert "damaged" in str(error)  # noqa: PT017 - some bytes mean nothing
    # gzip's time and system, and the bits that fill its last byte
    assert set(harmless) <= (set() if passphrase else {*range(4, 10), len(data) - 9})


def test_a_changed_file_with_valid_checksums_is_refused() -> None:
    whole = gzip.decompress(written(""))
    for old, new in ((b"xxxxxxxxxx", b"xxxxxyxxxx"), (b"workspace/a\0", b"workspace/b\0")):
        assert old in whole
        with pytest.raises(ConfigError, match="damaged"):
            read(gzip.compress(whole.replace(old, new)), "")


def test_more_after_the_end_is_refused() -> None:
    data = written("")
    for more in (b"x", gzip.compress(b"x"), data):
        with pytest.raises(ConfigError, match="damaged"):
            read(data + more, "")


def test_chunks_of_an_encrypted_archive_keep_their_places() -> None:
    data = written(PASSPHRASE, files={"workspace/a": bytes(_noise(4 * CHUNK))})
    start, step = len(MAGIC) + 23, CHUNK + 16
    chunks = [data[at : at + step] for at in range(start, len(data), step)]
    assert len(chunks) == 5
    orders: list[Sequence[int]] = [(1, 0, 2, 3, 4), (0, 2, 3, 4), (0, 1, 2, 3), (0, 1, 1, 2, 3, 4), (0, 1, 2, 3, 4, 4)]
    for order in orders:
        with pytest.raises(ConfigError, match="damaged"):
            read(data[:start] + b"".join(chunks[number] for number in order), PASSPHRASE)


def _noise(size: int) -> bytearray:
    """Bytes that gzip can't make shorter, the same in every run."""
    state, noise = 1, bytearray()
    while len(noise) < size:
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        noise += state.to_bytes(8, "little")
    return noise


def test_a_wrong_passphrase_is_said() -> None:
    for wrong in ("", "another passphrase"):
        with pytest.raises(ConfigError, match="The passphrase does not fit"):
            read(written(PASSPHRASE), wrong)


def test_a_newer_archive_is_refused_by_its_version() -> None:
    with pytest.raises(ConfigError, match=r"made by tierbot 9\.0, which is newer"):
        read(written("", replace(HEAD, format=FORMAT + 1, tierbot="9.0")), "")


@pytest.mark.parametrize(
    "data",
    [b"", b"x" * 1000, gzip.compress(b"x" * 2000), MAGIC, MAGIC + b"x" * 100],
    ids=["empty", "text", "gzip", "start", "noise"],
)
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ConfigError, match=r"is damaged|does not fit"):
        read(data, PASSPHRASE)


def test_a_file_that_becomes_shorter_does_not_spoil_the_archive() -> None:
    target = io.BytesIO()
    archive = ArchiveWriter(target, io.BytesIO(), "", lambda: None)
    archive.head(HEAD)
    assert not archive.add(Entry("workspace/a", "file", 0o600, 0.0, 5, stream=io.BytesIO(b"abc")))
    archive.finish()
    assert [data for _, data in read(target.getvalue(), "")[1]] == [b"abc\0\0"]


@ENCRYPTED
def test_memory_stays_flat(tmp_path: Path, passphrase: str) -> None:
    """A file of 10 MB, and 500 files, each of which has 3 kB of headers."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(10_000_000)
    tracemalloc.start()
    try:
        with (tmp_path / "archive").open("w+b") as target, (tmp_path / "sums").open("w+b") as sums:
            archive = ArchiveWriter(target, sums, passphrase, lambda: None)
            archive.head(HEAD)
            with large.open("rb") as stream:
                archive.add(Entry("workspace/large", "file", 0o600, 0.0, 10_000_000, stream=stream))
            for number in range(500):
                archive.add(Entry(f"workspace/{number}", "file", 0o600, 0.5, 1, stream=io.BytesIO(b"x")))
            archive.finish()
            target.seek(0)
            for entry in ArchiveReader(target, passphrase, "a").entries():
                assert entry.stream is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
