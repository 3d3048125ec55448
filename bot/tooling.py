"""All tool sources, the toolbox and the tool selector, for the life of the bot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.config.environment import Environment
from bot.config.workspace import Workspace
from handlers.accounts.accounts import Accounts
from handlers.tools import builtin_source
from handlers.tools.approval import Approval
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.mcp.client import McpClient
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from handlers.tools.workspace_source import WorkspaceSource
from routing.llm.adapter import LiteLlm
from routing.policy.models import Models
from routing.ports import Clock, Embedder, VectorStore
from routing.tools.embedding.backend import read_backend
from routing.tools.embedding.builder import build_embedder
from routing.tools.embedding.message_vectors import MessageVectors
from routing.tools.selector import ToolSelector


@dataclass(frozen=True, slots=True)
class Tooling:
    """The toolbox, its sources and the tool selector."""

    toolbox: Toolbox
    selector: ToolSelector
    toolkits: WorkspaceToolkits
    mcp: McpClient
    embedder: Embedder | None
    """None with EMBEDDINGS=off."""

    async def start(self) -> None:
        """Connect to MCP servers and build the index, in the background."""
        self.selector.start()
        await self.mcp.start()

    async def refresh(self) -> None:
        """Apply the owner's changes."""
        await asyncio.to_thread(self.toolkits.refresh)
        await self.mcp.refresh()
        self.selector.start()

    async def close(self) -> None:
        """Stop the selector, and end all server processes."""
        await self.selector.close()
        await self.mcp.close()


def build_tooling(
    environment: Environment,
    workspace: Workspace,
    dependencies: ToolDependencies,
    message_vectors: MessageVectors | None,
    vectors: VectorStore,
    approval: Approval,
    accounts: Accounts | None = None,
) -> Tooling:
    """Read the workspace's toolkits and build the toolbox. Connects to nothing yet."""
    ours = builtin_source(dependencies)
    kits = [kit.toolkit for kit in ours.bound_toolkits()]
    toolkits = WorkspaceToolkits(workspace.toolkits_folder, kits)
    toolkits.refresh()
    taken = [card.name for kit in kits for card in kit.tools]
    mcp = McpClient(
        workspace.mcp_file,
        environment.variables,
        taken=taken,
        changed=lambda: selector.start(),
        conceal=workspace.conceal,
        clock=dependencies.clock,
    )
    toolbox = Toolbox(
        ours,
        WorkspaceSource(toolkits, dependencies.sandbox, mcp),
        mcp,
        approval=approval,
        accounts=accounts,
        metrics=dependencies.metrics,
    )
    selector = ToolSelector(toolbox.toolkits, message_vectors, vectors, workspace.tool_index)
    embedder = message_vectors.embedder if message_vectors is not None else None
    return Tooling(toolbox, selector, toolkits, mcp, embedder)


def build_message_vectors(
    environment: Environment, llm: LiteLlm, models: Models, clock: Clock
) -> MessageVectors | None:
    """Vectors from the embedder that EMBEDDINGS names; loads nothing yet."""
    settings = environment.settings
    backend = read_backend(settings.embeddings)
    embedder = build_embedder(backend, llm, lambda provider: models.config.profile(provider), clock)
    wait = settings.embeddings_wait_seconds or backend.wait_seconds
    return None if embedder is None else MessageVectors(embedder, wait)
