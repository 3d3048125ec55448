"""German users see German in notices and file errors, even before they choose a language."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from tests.servers.telegram import User
from tests.servers.waiting import TIMEOUT_SECONDS
from tests.stories.harness import BotHarness, ask, running

ENGLISH = re.compile(r"\b(the|is|are|can't|not|with|found|expected|denied|failed|refused|allowed|such)\b")
"""English words that occur in no German sentence."""


def skill(root: Path, name: str, text: str) -> None:
    folder = root / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)


async def test_file_and_server_errors_are_fully_german(on: BotHarness) -> None:
    skill(on.workspace, "colon", "---\nname: colon\ndescription: a: b\n---\n")
    skill(on.workspace, "tab", "---\nname: tab\n\tdescription: a\n---\n")
    skill(on.workspace, "open", "---\nname: 'open\n---\n")
    skill(on.workspace, "list", "---\nname: list\ndescription: [\n---\n")
    (on.workspace / "toolkits").mkdir()
    task = {"name": "forecast", "description": "Wetter.", "execute": {"command": ["true"]}}
    for name, schema in (("type", {"type": "strnig"}), ("number", {"minimum": "x"})):
        parameters = {"type": "object", "properties": {"a": schema}}
        kit = {
            "name": name,
            "description": "Wetter.",
            "keywords": ["Regen"],
            "tasks": [task | {"parameters": parameters}],
        }
        (on.workspace / "toolkits" / f"{name}.json").write_text(json.dumps(kit))
    servers = {"folder": {"command": "/etc"}, "web": {"url": "http://127.0.0.1:9/x"}}
    (on.workspace / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    async with running(on):
        await ask(on, "/settings language de")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (tools := (await ask(on, "/tools")).text).count("nicht verbunden seit") < 2:
                pass
        skills = (await ask(on, "/skills")).text
    assert "er lässt sich nicht starten (keine Berechtigung)" in tools
    assert "er ist nicht erreichbar (Verbindung abgelehnt)" in tools
    assert 'properties.a.type hat den ungültigen Wert "strnig"' in tools
    assert 'properties.a.minimum ist "x", muss aber vom Typ number sein' in tools
    assert "kein gültiges YAML, ein Text mit Doppelpunkt muss in Anführungszeichen stehen" in skills
    assert skills.count("ein Anführungszeichen oder eine Klammer wird nicht geschlossen") == 2
    faults = [line for line in f"{tools}\n{skills}".splitlines() if "⚠️" in line]
    assert [line for line in faults if ENGLISH.search(line)] == []


async def test_notices_use_the_apps_language(on: BotHarness) -> None:
    owner, bob = User(1001, "Anna", "anna", "de"), on.tg.user("bob", language_code="de")
    on.tg.users[owner.id] = owner
    async with running(on):
        await ask(on, "/whoami", user=owner)
        on.tg.say("/start", user=bob)
        await on.tg.wait_for(
            lambda _: any("möchte mich benutzen" in each.text for each in on.tg.private(owner).from_bot())
        )
        assert (
            await ask(on, f"/access allow telegram:{bob.id}", user=owner)
        ).text == "✅ Bob kann mich jetzt benutzen."
        await on.tg.wait_for(
            lambda _: any("Du darfst mich jetzt" in each.text for each in on.tg.private(bob).from_bot())
        )
        assert "Zugang: nach Freigabe" in (await ask(on, "/access", user=owner)).text
        await ask(on, "hallo", user=owner)
        assert re.match(
            r"1\. \d\d\.\d\d\.20\d\d \d\d:\d\d, 2 Nachrichten", (await ask(on, "/history", user=owner)).text
        )
        english = User(owner.id, "Anna", "anna", "en")
        on.tg.users[owner.id] = english
        assert "Access: pairing" in (await ask(on, "/access", user=english)).text
