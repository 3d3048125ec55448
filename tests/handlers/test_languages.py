"""Every sentence for people is collected from the code and has its translation with the same placeholders."""

from __future__ import annotations

import inspect
import json
import sqlite3
from pathlib import Path

import pytest

from bot.adapters.console.speaker import not_saved_notice
from handlers import languages
from handlers.commands import COMMANDS
from handlers.languages import Say
from routing.errors import EmbedderFailed, Reason
from routing.tools.embedding.worker import EmbeddingProcess, Launch
from storage.database.faults import fault
from tests.handlers.sentences import TABLES, Collector, collected, everything, placeholders

FILES = sorted(Path(languages.__file__).parent.glob("*.json"))


def test_every_sentence_is_found_in_the_code() -> None:
    unknown = collected()[1] - TABLES.keys()
    assert unknown == set(), "add where these sentences come from"


def test_the_collector_sees_each_way_to_speak(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        inspect.cleandoc(
            """
            LATER = "g"
            def f(ask, notices, on, strange):
                ask.say("a"); say("b" if on else "c"); Say("de")("d")
                words = "e"
                ask.say(words)
                raise Refused("f", x=1)
            async def g(self):
                say_for(p, m)(LATER)
                await self.notices.tell_owners("h", (Button("i", "/x"),))
                say(strange.thing)
            """
        )
    )
    found = Collector(path)
    assert sorted(found.templates) == list("abcdefghi")
    assert found.unknown == {"strange.thing"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_language_has_exactly_the_sentences_with_their_placeholders(file: Path) -> None:
    table: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    wanted = everything() | {"English"}
    assert sorted(wanted - table.keys()) == [], "sentences without a translation"
    assert sorted(table.keys() - wanted) == [], "unused translations"
    for template, translated in table.items():
        assert translated.strip(), template
        assert placeholders(translated) == placeholders(template), template


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_summary_fits_the_menus(file: Path) -> None:
    say = Say(file.stem)
    assert [spec.name for spec in COMMANDS if not 0 < len(say(spec.summary)) <= 256] == []


def test_german_exists_and_has_its_own_name() -> None:
    assert languages.languages()["de"] == "Deutsch"
    assert Say("de")("on") == "an"


def test_a_reason_is_translated_with_its_values() -> None:
    reason = Reason("no answer within {seconds:g} s", seconds=2.5)
    assert reason == "no answer within 2.5 s"
    assert Say("de")(reason) == "keine Antwort innerhalb von 2,5 s"
    inside = Say("de")(
        "⚠️ {model} can't be reached ({reason}). Your message is saved; /retry asks again.", model="m", reason=reason
    )
    assert "m ist nicht erreichbar (keine Antwort innerhalb von 2,5 s)." in inside


def test_unknown_languages_fall_back_to_english() -> None:
    assert Say("tlh").language == "en"
    assert Say("")("Write on or off. Nothing was changed.") == "Write on or off. Nothing was changed."
    assert Say("de")("a sentence that nobody translated {x}", x=1) == "a sentence that nobody translated 1"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("database or disk is full", "der Datenträger ist voll"),
        ("database is locked", "ein anderes Programm hat sie gesperrt"),
    ],
)
def test_a_database_that_fails_is_explained_in_german(said: str, words: str) -> None:
    told = not_saved_notice(fault(sqlite3.OperationalError(said)), Say("de"))
    reason = f"die Datenbank ist gerade nicht benutzbar ({words})"
    assert told == f"Deine Nachricht ließ sich nicht speichern ({reason}). Bitte schick sie noch einmal."


async def test_an_encoder_that_fails_is_explained_in_german() -> None:
    launch = Launch("bge", interpreter=("/nowhere/python",))
    with pytest.raises(EmbedderFailed) as failed:
        await EmbeddingProcess.start(launch)
    assert (
        Say("de")(failed.value.reason)
        == "bge: sein Prozess kann nicht gestartet werden (Datei oder Ordner nicht gefunden)"
    )
