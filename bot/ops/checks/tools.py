"""Checks of the owner's toolkits, the MCP servers, and the embedder that helps to choose tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

from bot.findings import Finding, ok, warn
from bot.ops.checks.inspection import Check, Inspection
from handlers.tools import TOOLKITS
from handlers.tools.authoring.manifests import our_toolkit
from handlers.tools.authoring.tasks import McpTool
from handlers.tools.mcp.client import McpClient
from handlers.tools.mcp.config import Limits, read_servers
from handlers.tools.mcp.connection import ServerState
from handlers.tools.toolbox import without_duplicates
from handlers.tools.workspace import Found, WorkspaceToolkits
from routing.errors import ConfigError, EmbedderFailed
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime
from routing.ports import Clock, Embedder, EmbeddingModel
from routing.tools.embedding.backend import Backend, read_backend
from routing.tools.embedding.builder import build_embedder
from routing.tools.embedding.texts import FEW_TEXTS
from routing.types.llm import ProviderProfile
from routing.types.toolkits import Toolkit

SERVER_SECONDS = 20.0
"""Timeout for connecting to all servers. The rest of the check's time is for ending them."""
EMBEDDING_SECONDS = 20.0
"""A worker that loads PyTorch from a memory card takes half of this."""
PROBE = ["What is the weather like tomorrow?"] * (FEW_TEXTS + 1)
"""One text more than a message has: the embedder does not load its model for fewer."""
LIMITS = Limits(start_seconds=15.0)

Build = Callable[[Backend, EmbeddingModel, Callable[[str], ProviderProfile], Clock], Embedder | None]


async def toolkits(inspection: Inspection) -> list[Finding]:
    """Toolkit files that can't be used, ignored hints, and tools of MCP servers that are not configured."""
    found = await asyncio.to_thread(_read, inspection)
    fix = "Fix it; the bot picks it up within seconds. The other toolkits work."
    problems = [warn("toolkits", reason, fix) for reason in found.broken.values()]
    for manifest in found.manifests.values():
        problems += [warn("toolkits", warning, "Fix the hint, or remove it.") for warning in manifest.warnings]
    problems += await asyncio.to_thread(lambda: list(_missing_servers(inspection, found)))
    names = [f"{each.toolkit.name} ({_tools(len(each.toolkit.tools))})" for each in found.manifests.values()]
    return [*problems, ok("toolkits", f"{len(TOOLKITS)} of ours; of the workspace: {', '.join(names) or 'none'}")]


def mcp_check(limits: Limits = LIMITS, seconds: float = SERVER_SECONDS) -> Check:
    """The check, with these limits per server and this timeout for all of them."""

    async def mcp_servers(inspection: Inspection) -> list[Finding]:
        """Connect to every server in mcp.json as the bot does, then end them all."""
        moved = asyncio.Event()
        client = McpClient(
            inspection.workspace.mcp_file,
            inspection.environment.variables,
            taken=[card.name for kit in _own_toolkits() for card in kit.tools],
            changed=moved.set,
            clock=inspection.clock,
            limits=limits,
        )
        try:
            await client.start()
            await _wait_for_servers(client, moved, seconds)
            states, faults, offered = client.states(), client.problems(), client.toolkits()
        finally:
            await client.close()
        problems = [warn("mcp.json", problem, "Fix that line. The other servers work.") for problem in faults]
        found = await asyncio.to_thread(_read, inspection)
        _, left_out = without_duplicates(
            (*_own_toolkits(), *(each.toolkit for each in found.manifests.values()), *offered)
        )
        fix = "To use both, rename the server in mcp.json or the tool of the toolkit."
        problems += [warn("mcp.json", each, fix) for each in left_out]
        nothing = [] if states or faults else [ok("mcp.json", "no servers")]
        return [*problems, *nothing, *(finding for state in states for finding in _server(state, seconds))]

    return mcp_servers


mcp_servers = mcp_check()


def embeddings_check(build: Build = build_embedder, seconds: float = EMBEDDING_SECONDS) -> Check:
    """The check, with this factory and this timeout."""

    async def embeddings(inspection: Inspection) -> list[Finding]:
        """Whether the embedder that EMBEDDINGS names can embed a text."""
        backend = read_backend(inspection.environment.settings.embeddings)
        try:
            config, catalog = inspection.workspace.config(), inspection.workspace.catalog()
        except ConfigError:
            return []

        def profile(provider: str) -> ProviderProfile:
            return replace(config.profile(provider), timeout_seconds=inspection.network_seconds)

        local = LocalRuntime(inspection.workspace.models)
        llm = LiteLlm(local, catalog, inspection.environment.settings.https_proxy)
        try:
            embedder = await asyncio.to_thread(build, backend, llm, profile, inspection.clock)
            if embedder is None:
                return [ok("embeddings", "off: tools are matched by words only")]
            return [await _try_embedder(embedder, seconds)]
        finally:
            await local.close()

    return embeddings


embeddings = embeddings_check()


def _read(inspection: Inspection) -> Found:
    found = WorkspaceToolkits(inspection.workspace.toolkits_folder, _own_toolkits())
    found.refresh()
    return found.found


def _own_toolkits() -> tuple[Toolkit, ...]:
    return tuple(our_toolkit(module.NAME) for module in TOOLKITS)


def _missing_servers(inspection: Inspection, found: Found) -> Iterator[Finding]:
    try:
        servers = read_servers(inspection.workspace.mcp_file, inspection.environment.variables).found
    except ConfigError:  # reported by the check of the servers
        return
    for file, manifest in found.manifests.items():
        for tool, way in manifest.implementations.items():
            if isinstance(way, McpTool) and way.server not in servers:
                detail = f"{file}: the tool {tool} belongs to the MCP server {way.server}, which is not in mcp.json"
                yield warn("toolkits", detail, "Add the server to mcp.json, or fix its name.")


async def _wait_for_servers(client: McpClient, moved: asyncio.Event, seconds: float) -> None:
    """Wait until each server has connected or failed, at most `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while any(state.status == "connecting" for state in client.states()):
                await moved.wait()
                moved.clear()
    except TimeoutError:
        pass


def _server(state: ServerState, seconds: float) -> Iterator[Finding]:
    name = f"mcp server {state.name}"
    fix = "Fix its entry in mcp.json, or find out why the server fails. The bot keeps trying and works without it."
    match state.status:
        case "disabled":
            yield ok(name, "disabled in mcp.json")
        case "connected":
            yield ok(name, f"{_tools(state.tools)}, for the role {state.role} and above")
            yield from (
                warn(name, warning, "Only the author of the server can fix that.") for warning in state.warnings
            )
        case "failed":
            yield warn(name, state.reason, fix)
        case "connecting":
            reason = state.reason or f"not connected after {seconds:.0f} s"
            yield warn(name, reason, fix)


async def _try_embedder(embedder: Embedder, seconds: float) -> Finding:
    fix = "Fix that, or set EMBEDDINGS to static. Until then tools are matched by words only."
    try:
        async with asyncio.timeout(seconds):
            vectors = await embedder.embed(PROBE)
    except EmbedderFailed as error:
        return warn("embeddings", str(error), fix)
    except TimeoutError:
        late = f"no vector after {seconds:.0f} s; the first time, a model may have to be downloaded"
        return warn("embeddings", f"{embedder.name}: {late}", fix)
    finally:
        await embedder.close()
    if not vectors[0].any():
        return warn("embeddings", f"{embedder.name} knows no English words", fix)
    return ok("embeddings", f"{embedder.name} makes vectors with {vectors.shape[1]} dimensions")


def _tools(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"
