"""An owner exchanges files with the machine that the bot runs on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.stories.harness import BotHarness, ask, running
from tests.stories.office import ONCE, calls, card, pressed

PLAN = hashlib.sha256(b"plan").hexdigest()[:32]


async def test_a_file_goes_to_the_shared_folder_after_the_button(on: BotHarness, tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", on.workspace / "files" / "1"
    shared.mkdir()
    own.mkdir(parents=True)
    (own / "plan.md").write_text("plan")
    (shared / "data.csv").write_text("a,b")
    on.env |= {"SHARED_FOLDER": str(shared), "BOT_ACCESS": "open"}
    async with running(on):
        calls(on, "vm_to_host", {"path": "plan.md"}, server="")
        asked = await card(on, "Copy plan.md to the host")
        assert f"It copies 4 bytes ({PLAN}) to {shared}/plan.md on the bot's machine." in asked.text
        assert not (shared / "plan.md").exists()
        assert "Copied plan.md" in (await pressed(on, ONCE, asked)).text
        assert (shared / "plan.md").read_text() == "plan"
        calls(on, "host_to_vm", {"path": "data.csv"}, server="")
        assert "Copied data.csv" in (await ask(on, "Fetch data.csv from the shared folder")).text
        assert (own / "data.csv").read_text() == "a,b"
        for tool in ("host_list_files", "host_to_vm", "vm_to_host"):
            calls(on, tool, {"path": "data.csv"}, server="")
            told = (await ask(on, "List the shared folder", user="bob")).text
            assert "bytes" not in told
            assert "🔐" not in told
    assert not (on.workspace / "files" / "2" / "data.csv").exists()


async def test_without_the_setting_tools_says_why(on: BotHarness) -> None:
    async with running(on):
        assert "SHARED_FOLDER is not set" in (await ask(on, "/tools")).text
