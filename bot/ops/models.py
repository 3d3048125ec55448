"""`tierbot models`: lists the models in the catalogue or of a provider."""

from __future__ import annotations

import asyncio
import sys

from bot.config.workspace import Workspace
from bot.ops.web import client
from routing.catalog.discovery import DiscoveredModel, discover, save_discovered
from routing.catalog.provider_models import DiscoveryError
from routing.types.llm import ProviderProfile


def list_models(workspace: Workspace) -> int:
    """Print the catalogue, one model per line."""
    for card in sorted(workspace.catalog().models(), key=lambda card: card.name):
        levels = f"  reasoning: {', '.join(card.levels)}" if card.levels else ""
        print(f"{card.name}  {card.display_name}  {card.max_input_tokens} tokens{levels}")
    return 0


def find(workspace: Workspace, provider: str, https_proxy: str | None = None) -> int:
    """Fetch a provider's models, print them, and offer them in /model from now on."""
    profile = workspace.config().profile(provider)
    try:
        found = asyncio.run(_ask(profile, https_proxy))
    except DiscoveryError as error:
        print(f"tierbot: {error}", file=sys.stderr)
        return 1
    save_discovered(workspace.discovered_file, provider, found)
    for model in found:
        print(f"{model.id}  {model.display_name}")
    return 0


async def _ask(profile: ProviderProfile, https_proxy: str | None) -> tuple[DiscoveredModel, ...]:
    async with client(https_proxy) as web:
        return await discover(profile, web)
