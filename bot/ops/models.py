"""`tierbot models`: the catalogue, and what providers offer."""

from __future__ import annotations

import asyncio
import sys

from bot.workspace import Workspace
from routing.discovery import DiscoveryError, discover, save_discovered


def list_models(workspace: Workspace) -> int:
    """Print the catalogue, one model a line."""
    for card in sorted(workspace.catalog().models(), key=lambda card: card.name):
        levels = f"  reasoning: {', '.join(card.levels)}" if card.levels else ""
        print(f"{card.name}  {card.display_name}  {card.max_input_tokens} tokens{levels}")
    return 0


def find(workspace: Workspace, provider: str) -> int:
    """Ask a provider for its models, print them, and let /model take them from now on."""
    try:
        found = asyncio.run(discover(workspace.config().profile(provider)))
    except DiscoveryError as error:
        print(f"tierbot: {error}", file=sys.stderr)
        return 1
    save_discovered(workspace.discovered_file, provider, found)
    for model in found:
        print(f"{model.id}  {model.display_name}")
    return 0
