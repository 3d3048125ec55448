"""Programs that the command line runs: their output, or why they failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.ops.processes import ProgramFailed, run
from routing.errors import ConfigError


def test_the_output_is_returned_and_variables_are_set(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ['NAME'])"
    assert run((sys.executable, "-c", code), tmp_path, variables={"NAME": "it"}) == f"{tmp_path} it\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('no disk')", " no disk"),
        ("import sys; sys.exit(7)", " exit code 7"),
        ("import sys; sys.exit(chr(10).join('abcdefg'))", "\n  c\n  d\n  e\n  f\n  g"),
    ],
)
def test_a_failure_has_the_programs_last_words(code: str, words: str) -> None:
    with pytest.raises(ProgramFailed) as failed:
        run((sys.executable, "-c", code))
    assert str(failed.value).endswith(f"` failed:{words}")
    assert failed.value.code == (7 if "7" in code else 1)


def test_a_program_that_is_missing_or_hangs_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^no-such-program is not installed\.$"):
        run(("no-such-program",))
    with pytest.raises(ConfigError, match=r"`sleep 60` took more than 0\.001 minutes\."):
        run(("sleep", "60"), seconds=0.06)
