"""A person in front of the dialogue of setup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.config.environment import load
from bot.ops.setup.draft import Draft
from bot.ops.setup.wizard import Outcome, Wizard
from handlers.languages import Say

Answer = str | Callable[[], str]
"""What is typed, or the key of the choice; a function is called when the question comes."""
DEFAULT = "(Enter)"
GOOD, BAD = "sk-test-good-0000000000", "sk-test-bad-00000000000"
NO_DISCORD = ("Discord token", "")


class Answers:
    """Implements `Prompts`: each question must contain the words that are expected next."""

    def __init__(self, *answers: tuple[str, Answer]) -> None:
        self._left = list(answers)
        self.choices: dict[str, Mapping[str, str]] = {}

    @property
    def all_given(self) -> bool:
        return not self._left

    def _next(self, question: str, default: str) -> str:
        assert self._left, f"nothing is expected any more, but this is asked: {question}"
        words, answer = self._left.pop(0)
        assert words in question, f"{question!r} is asked instead of {words!r}"
        given = answer if isinstance(answer, str) else answer()
        return default if given == DEFAULT else given

    async def text(self, question: str, default: str = "") -> str:
        return self._next(question, default)

    async def secret(self, question: str) -> str:
        return self._next(question, "")

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        self.choices[question] = choices
        chosen = self._next(question, next(iter(choices)))
        assert chosen in choices, f"{chosen} is not among {list(choices)}"
        return chosen


@dataclass(slots=True)
class Dialogue:
    """A dialogue that has ended: what was shown, and which secrets were hidden from logs."""

    shown: list[str] = field(default_factory=list)
    concealed: list[str] = field(default_factory=list)
    outcome: Outcome | None = None
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By question."""

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


async def dialogue(
    environ: Mapping[str, str],
    *answers: tuple[str, Answer],
    bases: Mapping[str, str] | None = None,
    service: bool = False,
    language: str = "",
) -> Dialogue:
    """Runs the dialogue with these answers; all of them must be used."""
    made, prompts = Dialogue(), Answers(*answers)
    wizard = Wizard(Draft.of(load(environ)), prompts, Say(language), made.concealed.extend, service, made.shown.append)
    made.outcome = await wizard.run(bases or {})
    assert prompts.all_given
    made.choices = prompts.choices
    return made


def env_text(folder: Path) -> str:
    path = folder / ".env"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def write_env(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / ".env").write_text(text, encoding="utf-8")
