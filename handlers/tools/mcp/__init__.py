"""Tools over the Model Context Protocol: other people's servers, and ours. The only place that knows the SDK, which is
imported when the first server is connected or ours is served."""

from __future__ import annotations

from handlers.tools.mcp.client import McpClient
from handlers.tools.mcp.connection import ServerState
from handlers.tools.mcp.limits import Limits

__all__ = ["Limits", "McpClient", "ServerState"]
