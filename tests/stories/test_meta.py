"""A person asks the bot about itself, and the model gets correct data within that person's rights."""

from __future__ import annotations

import json

import pytest

from handlers.commands import COMMANDS
from tests.servers.telegram import User
from tests.stories.harness import BotHarness, ask, running, tool_results

RULES = "Never speak of the blue folder."
KEY = "sk-test-openai-000000000000"


def owned(on: BotHarness) -> None:
    """Files of the owner in the workspace, some of them broken."""
    on.workspace.mkdir(exist_ok=True)
    (on.workspace / "SYSTEM.md").write_text(RULES, encoding="utf-8")
    (on.workspace / "toolkits").mkdir()
    (on.workspace / "toolkits" / "broken.json").write_text('{\n "name": }', encoding="utf-8")
    servers = {"mcpServers": {"gone": {"command": "/nonexistent/server"}, "off": {"disabled": True}}}
    (on.workspace / "mcp.json").write_text(json.dumps(servers), encoding="utf-8")


async def tool_result(on: BotHarness, tool: str, user: User | None = None, **arguments: str) -> str:
    """The result of a tool call for a person."""
    on.ms.call_tools([(tool, arguments)])
    on.ms.reply("So it is.")
    await ask(on, "about yourself, please", user=user)
    return tool_results(on)[-1]


async def bob(on: BotHarness) -> User:
    """A person with the role user."""
    user = on.tg.user("bob")
    await ask(on, f"/access allow telegram:{user.id}")
    return user


async def test_the_help_tool_covers_commands_and_toolkits(on: BotHarness) -> None:
    async with running(on):
        overview = await tool_result(on, "help")
        assert all(f"\n/{spec.name}: {spec.summary}" in overview for spec in COMMANDS)
        assert "\nfiles: The person's own files" in overview
        assert "(read_file, write_file, list_files, send_file)" in overview
        one = await tool_result(on, "help", topic="/tier smart")
        assert one.endswith("Written as: /tier | /tier auto | /tier smart | /tier smart force | /tier default")
        assert one.count("\n") == 0
        assert (await tool_result(on, "help", topic="my language")).startswith("/settings: ")
        files = await tool_result(on, "help", topic="files")
        assert "\nToolkit files: " in files
        assert "- read_file: Read one of the user's " in files
        assert (await tool_result(on, "help", topic="teir")).startswith("/tier: ")
        unknown = await tool_result(on, "help", topic="teleport")
        assert unknown == f"Nothing here is called 'teleport'. All there is:\n{overview}"


async def test_show_config_is_per_person(on: BotHarness) -> None:
    owned(on)
    on.env["USER_RATE_LIMIT"] = "90/minute"
    async with running(on):
        user = await bob(on)
        await ask(on, "/tier smart force")
        await ask(on, "/model coding anthropic/claude-haiku-4-5")
        await ask(on, "/settings timezone Europe/Berlin")
        mine = await tool_result(on, "show_config")
        theirs = await tool_result(on, "show_config", user)
    assert "Stored: tier smart, force on.\nIn effect: smart, because you locked it with /tier smart force." in mine
    assert "\nsmart: openai/gpt-5.1, reasoning high, as configured.\n" in mine
    coding = next(line for line in mine.splitlines() if line.startswith("coding: "))
    assert coding.startswith("coding: anthropic/claude-haiku-4-5, ")
    assert coding.endswith(", chosen with /model.")
    assert "Time zone: Europe/Berlin." in mine
    assert "Limits: 90/minute messages; a turn has 20 calls of models" in mine
    assert "Stored: tier none, force off.\nIn effect: balanced, because nothing else was chosen." in theirs
    assert "\ncoding: openai/gpt-5.2, reasoning medium, as configured.\n" in theirs
    assert "Europe" not in theirs
    for line in ("runtime-config.json", "Providers with a key: openai.", "MCP servers: gone, off.", "BOT_ACCESS="):
        assert line in mine
        assert line not in theirs
    assert all(secret not in mine for secret in (RULES, KEY, on.tg.token, str(on.workspace)))


async def test_a_model_without_a_key_is_explained(on: BotHarness) -> None:
    on.env["TIER_DEEP_POOL"] = "groq/llama-3.3-70b-versatile, openai/gpt-5.1"
    on.env["TIER_CODING_POOL"] = "groq/llama-3.3-70b-versatile"
    async with running(on):
        shown = await tool_result(on, "show_config")
    deep = next(line for line in shown.splitlines() if line.startswith("deep: "))
    assert deep.startswith("deep: openai/gpt-5.1")
    assert "because there is no key for groq/llama-3.3-70b-versatile" in deep
    coding = next(line for line in shown.splitlines() if line.startswith("coding: "))
    assert coding.startswith("coding: openai/gpt-5.1, ")
    assert coding.endswith(", in place of models without a key: groq/llama-3.3-70b-versatile.")


@pytest.mark.parametrize("role", ["owner", "user"])
async def test_health_shows_owners_the_problems(on: BotHarness, role: str) -> None:
    owned(on)
    on.env["EMBEDDINGS"] = "off"
    async with running(on):
        user = await bob(on) if role == "user" else None
        assert "No model failed in the last hour." in await tool_result(on, "health", user)
        on.ms.fail(401)
        await ask(on, "hello", user=user)
        health = await tool_result(on, "health", user)
    assert health.startswith("The database answers.\nFailed in the last hour: openai/gpt-5.1;")
    assert "\nuse_skill is off: no skills installed." in health
    for line in (
        "\nTools are found by their words alone: EMBEDDINGS=off.",
        "\nToolkit: broken.json line 2 column 10: not valid JSON",
        "\nMCP server gone: failed, /nonexistent/server is not there",
        "\ntelegram: up since 20",
        "\nopenai/gpt-5.1 failed 20",
        "\nTurns running: 1, waiting: 0.",
        "\nDatabase: revision 00",
        "\ntierbot 0.",
    ):
        assert (line in health) == (role == "owner"), line
    assert "MCP server off" not in health


async def test_guests_get_only_the_help_tool(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/access here on", group="Team")
        on.ms.call_tools([("show_config", {})])
        on.ms.call_tools([("help", {"topic": "/tier"})])
        on.ms.reply("So it is.")
        await ask(on, "@tierbot what are your settings", user="mallory", group="Team")
        refused, helped = tool_results(on)
    assert "There is no tool show_config here." in refused
    assert "health" not in refused
    assert helped.startswith("/tier: ")
