"""`/access export`: everything about a person in one archive, in private, and nothing about others."""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

import pytest

from storage.people.personal_data import EXPORTED, NOT_EXPORTED
from storage.schema import metadata
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask, running


def unzipped(on: BotHarness, sent: Message) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(on.tg.document(sent).data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_table_with_people_is_exported_or_says_why_not() -> None:
    personal = {name for name, table in metadata.tables.items() if "person_id" in table.c or name == "people"}
    assert personal == {table.name for table in EXPORTED.values()} | set(NOT_EXPORTED)


async def test_everything_about_a_person_is_in_one_archive(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "What is my secret?", user="bob")
        await ask(on, "/new", user="bob")
        await ask(on, "And **apples**?", user="bob")
        await ask(on, "@tierbot what is the plan", user="bob", group="Team")
        await ask(on, "@tierbot alice's own words", group="Team")
        await ask(on, "/memory add I live in Bonn", user="bob")
        await ask(on, "/remind in 2 hours call Ana", user="bob")
        await ask(on, "/tier smart", user="bob")
        await ask(on, "/settings instructions Be brief", user="bob")
        await on.tg.reply(on.tg.say_document("notes.txt", b"my notes", user=on.tg.user("bob")))
        sent = await ask(on, "/access export", user="bob")
        assert sent.text.startswith("📦 Everything I have about you: conversations, memory")
        found = unzipped(on, sent)
    tables: dict[str, Any] = {name: json.loads(found[f"{name}.json"]) for name in EXPORTED}
    assert tables["person"][0]["name"] == "Bob"
    assert [each["username"] for each in tables["accounts"]] == ["bob"]
    assert [each["text"] for each in tables["memory"]] == ["I live in Bonn"]
    assert [each["text"] for each in tables["reminders"]] == ["call Ana"]
    assert (tables["settings"][0]["tier"], tables["settings"][0]["instructions"]) == ("smart", "Be brief")
    assert len(tables["usage"]) == 4
    assert tables["usage"][0]["at"].startswith("20")
    assert "." in tables["usage"][0]["cost_usd"]
    assert found["files/inbox/notes.txt"] == b"my notes"
    texts = {name: data.decode() for name, data in found.items() if name.startswith("conversations/")}
    assert len(texts) == 6, "three conversations, as JSON and Markdown"
    both = [text for text in texts.values() if "And **apples**?" in text]
    assert [text.startswith("{") for text in both].count(True) == 1
    assert len(both) == 2
    assert any("what is the plan" in text for text in texts.values())
    assert b"alice's own words" not in b"".join(found.values())


async def test_secrets_of_connected_accounts_are_left_out(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        row = "person_id, kind, label, details, sealed, created_at, tested_at"
        on.change(
            f"insert into service_accounts ({row}) values (1, 'mail', 'me@x.org', '{{}}', 'gAAAsealed', 5.0, 5.0)"
        )
        found = unzipped(on, await ask(on, "/access export"))
    assert json.loads(found["connected-accounts.json"])[0]["label"] == "me@x.org"
    assert b"gAAAsealed" not in b"".join(found.values())


async def test_an_export_is_only_for_private_chats(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        answer = await ask(on, "/access export", group="Team")
        assert "only send this in private" in answer.text
    assert not on.tg.calls("sendDocument")


async def test_files_that_do_not_fit_are_left_out_and_named(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handlers.personal_data.SPARE_BYTES", 50 * 2**20 - 200_000)
    async with running(on):
        await ask(on, "hello")
        await on.tg.reply(on.tg.say_document("large.bin", os.urandom(300_000)))
        sent = await ask(on, "/access export")
        assert "except your files" in sent.text
        assert "files/inbox/large.bin" not in unzipped(on, sent)


async def test_data_that_does_not_fit_is_refused_with_other_ways(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.personal_data.SPARE_BYTES", 50 * 2**20)
    async with running(on):
        await ask(on, "hello")
        sent = await ask(on, "/access export")
        assert sent.text.startswith("All your data has more than 50 MB, too much to be sent here.")
        assert "/history export sends one conversation" in sent.text
