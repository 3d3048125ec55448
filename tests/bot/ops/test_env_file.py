"""`.env` is changed in place: only what was asked for, at once, and for its owner alone."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from dotenv import dotenv_values

from bot.config.environment import load
from bot.ops.env_file import changed, update
from routing.config.jsonfile import write
from routing.errors import ConfigError

BEFORE = """\
# --- Telegram ---
# TELEGRAM_BOT_TOKEN=123456:ABC
export LOG_LEVEL=ERROR   # less to read

OPENAI_API_KEY='old'
USER_RATE_LIMIT=off"""


@pytest.fixture
def env(tmp_path: Path) -> Path:
    path = tmp_path / ".env"
    path.write_text(BEFORE, encoding="utf-8")
    return path


def test_the_other_lines_stay_as_they_are(env: Path) -> None:
    update(env, {"OPENAI_API_KEY": "sk-new", "TELEGRAM_BOT_TOKEN": "1:x_y-z", "USER_RATE_LIMIT": None, "ABSENT": None})
    assert env.read_text(encoding="utf-8") == (
        "# --- Telegram ---\n# TELEGRAM_BOT_TOKEN=123456:ABC\nexport LOG_LEVEL=ERROR   # less to read\n\n"
        "OPENAI_API_KEY=sk-new\nTELEGRAM_BOT_TOKEN=1:x_y-z\n"
    )


@pytest.mark.parametrize(
    "value", ["", "plain", "with space # and sign", "quo'te", 'dou"ble', "back\\slash", "a$b${C}", "ümlaut"]
)
def test_every_value_is_read_back_as_it_was_written(env: Path, value: str) -> None:
    update(env, {"SOME_API_KEY": value})
    assert load({"WORKSPACE": str(env.parent)}).keys.get("some", "") == value


def test_every_copy_of_a_variable_is_changed_in_any_spelling(env: Path) -> None:
    env.write_text("telegram_bot_token=1:old\n\n  TELEGRAM_BOT_TOKEN = '1:older'\n", encoding="utf-8")
    update(env, {"TELEGRAM_BOT_TOKEN": "1:new"})
    assert env.read_text(encoding="utf-8") == "TELEGRAM_BOT_TOKEN=1:new\n\nTELEGRAM_BOT_TOKEN=1:new\n"


def test_it_is_readable_for_its_owner_alone(env: Path, tmp_path: Path) -> None:
    env.chmod(0o644)
    update(env, {"A": "1"})
    update(tmp_path / "new" / ".env", {"A": "1"})
    assert [path.stat().st_mode & 0o777 for path in (env, tmp_path / "new" / ".env")] == [0o600, 0o600]
    assert sorted(os.listdir(tmp_path)) == [".env", "new"], "no copy is left"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes for other users")
def test_root_leaves_the_file_to_its_owner(env: Path, tmp_path: Path) -> None:
    os.chown(env, 1234, 1235)
    update(env, {"A": "1"})
    os.chown(tmp_path, 1236, 1237)
    update(tmp_path / "other.env", {"A": "1"})
    write(tmp_path / "runtime-config.json", {})
    owners = [(path.stat().st_uid, path.stat().st_gid) for path in sorted(tmp_path.iterdir())]
    assert owners == [(1234, 1235), (1236, 1237), (1236, 1237)]


def test_a_link_to_the_file_stays(env: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(env)
    update(link, {"A": "1"})
    assert link.is_symlink()
    assert env.read_text(encoding="utf-8").endswith("A=1\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"A=1\nno assignment here\n", "line 2: not of the form NAME=value"), (b"A=\xff\n", "not UTF-8")],
)
def test_a_broken_file_is_named_and_left_alone(env: Path, content: bytes, words: str) -> None:
    env.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        update(env, {"A": "2"})
    assert env.read_bytes() == content
    assert os.listdir(env.parent) == [".env"]


def test_a_folder_that_cannot_be_written_is_named(env: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't be changed: Not a directory\. Nothing was saved"):
        update(env / "sub" / ".env", {"A": "1"})


def test_a_variable_changes_and_everything_else_stays() -> None:
    text = "# first\nA=1 # note\n\nexport B='two\nlines'\nBROKEN LINE\nA=again"
    assert changed(text, {"A": "it's \\ here", "NEW": "x"}) == (
        "# first\nA='it\\'s \\\\ here'\n\nexport B='two\nlines'\nBROKEN LINE\nA='it\\'s \\\\ here'\nNEW=x\n"
    )
    assert dotenv_values(stream=StringIO(changed(text, {"A": "it's \\ here"})))["A"] == "it's \\ here"
    assert changed("A=1\nB=2\n", {"A": None}) == "B=2\n"
    assert changed("", {"A": "1"}) == "A=1\n"
    with pytest.raises(ConfigError, match="one line"):
        changed("", {"A": "x\nEVIL=1"})
