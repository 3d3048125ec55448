"""A sample bot for the stories of this server: commands, a panel with buttons and a menu, a form."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord
from discord import app_commands, ui

from tests.servers.discord.sdk import Client, talking
from tests.servers.discord.server import DiscordServer

Asked = discord.Interaction[Any]
TIERS = [app_commands.Choice(name="Smart", value="smart"), app_commands.Choice(name="Fast", value="fast")]


class Panel(ui.View):
    """A button and a menu that survive a restart: they have fixed ids and no time limit."""

    def __init__(self) -> None:
        super().__init__(timeout=None)

    @ui.button(label="More", custom_id="more")
    async def more(self, asked: Asked, _: ui.Button[Any]) -> None:
        await asked.response.edit_message(content="more")

    @ui.button(label="Later", custom_id="later")
    async def later(self, asked: Asked, _: ui.Button[Any]) -> None:
        await asked.response.defer()
        await asked.edit_original_response(content="later", view=None)

    @ui.button(label="Ask", custom_id="ask")
    async def ask(self, asked: Asked, _: ui.Button[Any]) -> None:
        await asked.response.send_modal(Form())

    @ui.select(
        custom_id="pick",
        placeholder="Pick one",
        max_values=2,
        options=[discord.SelectOption(label=label, value=label.lower()) for label in ("Red", "Green", "Blue")],
    )
    async def pick(self, asked: Asked, menu: ui.Select[Any]) -> None:
        await asked.response.send_message(" and ".join(menu.values), ephemeral=True)


class Form(ui.Modal, title="A form"):
    name: ui.TextInput[Any] = ui.TextInput(label="Name", custom_id="name")

    async def on_submit(self, asked: Asked) -> None:
        await asked.response.send_message(f"hello {self.name.value}")


def install(tree: app_commands.CommandTree[Any]) -> None:
    @tree.command(description="Chooses a tier.")
    @app_commands.choices(tier=TIERS)
    async def tier(asked: Asked, tier: str, force: bool = False, count: app_commands.Range[int, 1, 5] = 1) -> None:
        await asked.response.defer(ephemeral=True, thinking=True)
        await asked.followup.send(f"{tier} {force} {count}")
        await asked.followup.send("that is all", ephemeral=True)

    @tree.command(description="Shows a panel.")
    async def panel(asked: Asked) -> None:
        await asked.response.send_message("panel", view=Panel())

    @tree.command(description="Answers anywhere.")
    @app_commands.allowed_installs(guilds=True, users=True)
    @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    async def anywhere(asked: Asked) -> None:
        await asked.response.send_message(f"{asked.context.to_array()} {asked.is_user_integration()}")

    @tree.command(description="Looks at a person.")
    async def who(asked: Asked, person: discord.User) -> None:
        await asked.response.send_message(person.mention, allowed_mentions=discord.AllowedMentions.none())

    group = app_commands.Group(name="model", description="Models.")

    @group.command(name="set", description="Sets a model.")
    async def set_model(asked: Asked, tier: str, model: str) -> None:
        await asked.response.send_message(f"{tier}: {model}")

    @set_model.autocomplete("model")
    async def offer(asked: Asked, typed: str) -> list[app_commands.Choice[str]]:
        names = [f"{typed}-{asked.namespace.tier}-{number}" for number in range(2)]
        return [app_commands.Choice(name=name, value=name) for name in names]

    tree.add_command(group)


@asynccontextmanager
async def commanded(**options: Any) -> AsyncIterator[tuple[DiscordServer, Client]]:
    async with talking(**options) as (dc, client):
        install(client.tree)
        await client.tree.sync()
        yield dc, client
