"""The size class benchmark as a command: output streams and exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import sizes

ROOT = Path(__file__).resolve().parents[2]
RIGHT = '{"model": "gpt-4o", "accept": ["XL"], "parameters": "undisclosed"}\n'
MISTAKEN = '{"model": "qwen3:32b", "accept": ["S", "M"]}\n'


@pytest.fixture
def names(tmp_path: Path) -> Path:
    return tmp_path / "names.jsonl"


def run(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "benchmarks.sizes", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def test_json_output_is_pure_and_errors_do_not_fail(names: Path) -> None:
    names.write_text(f"{RIGHT}\n{MISTAKEN}", encoding="utf-8")
    code, out, err = run("--names", str(names), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"wrong": [{"model": "qwen3:32b", "got": "L", "accept": ["S", "M"]}]}


def test_no_heavy_imports() -> None:
    command = "import sys, benchmarks.sizes; print(*{name.partition('.')[0] for name in sys.modules})"
    ended = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"litellm", "numpy", "sqlalchemy", "httpx", "aiohttp"}.isdisjoint(ended.stdout.split())


def test_the_table_says_why(names: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names.write_text(RIGHT + MISTAKEN, encoding="utf-8")
    assert sizes.main(["--names", str(names)]) == 0
    text = capsys.readouterr().out
    assert "| qwen3:32b | L       | S M      | name: 32b in its name |" in text
    assert "1 of 2 names wrong (50.0%)" in text


def test_no_table_without_errors(names: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names.write_text(RIGHT, encoding="utf-8")
    assert sizes.main(["--names", str(names)]) == 0
    assert capsys.readouterr().out == "0 of 1 names wrong (0.0%)\n"
    assert sizes.main(["--names", str(names), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"wrong": []}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, " cannot be read: No such file or directory."),
        (b"\xff\xfe\x00", " is not UTF-8 text."),
        (b"\n \n", " holds no names."),
        (RIGHT.encode() + b"\n{", " line 3 is not JSON."),
        (b"[" * 100_000, " line 1 is not JSON."),
        (b"[]", ' line 1 has no "model".'),
        (b'{"accept": ["M"]}', ' line 1 has no "model".'),
        (b'{"model": " ", "accept": ["M"]}', ' line 1 has no "model".'),
        (b'{"model": 5, "accept": ["M"]}', ' line 1 has no "model".'),
        (b'{"model": "x"}', ' line 1 has no "accept", a list of classes.'),
        (b'{"model": "x", "accept": "M"}', ' line 1 has no "accept", a list of classes.'),
        (b'{"model": "x", "accept": []}', ' line 1 has no "accept", a list of classes.'),
        (b'{"model": "x", "accept": [1]}', ' line 1 has no "accept", a list of classes.'),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_unreadable_file_is_reported_in_one_sentence(
    content: bytes | None, problem: str, form: tuple[str, ...], names: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        names.write_bytes(content)
    assert sizes.main(["--names", str(names), *form]) == 2
    streams = capsys.readouterr()
    assert (streams.out, streams.err) == ("", f"{names}{problem}\n")


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
def test_a_name_may_contain_unicode_line_separators(mark: str, names: Path) -> None:
    rows = [{"model": f"some{mark}-32b", "accept": ["L"]}, {"model": "gpt-4o", "accept": ["XL"]}]
    text = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    names.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [named.model for named in sizes.read(names)] == [row["model"] for row in rows]


def test_a_lone_surrogate_is_printed_as_a_replacement(names: Path) -> None:
    names.write_text('{"model": "\\ud800-32b", "accept": ["S"]}', encoding="utf-8")
    code, out, err = run("--names", str(names))
    assert (code, err) == (0, "")
    assert "?-32b" in out


def test_a_folder_is_refused(tmp_path: Path) -> None:
    code, out, err = run("--names", str(tmp_path), "--json")
    assert (code, out, err) == (2, "", f"{tmp_path} cannot be read: Is a directory.\n")
