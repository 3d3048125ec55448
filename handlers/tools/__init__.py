"""The built-in toolkits, one module each. The texts for models are in `toolkits/<name>.json`."""

from __future__ import annotations

from typing import Protocol

from handlers.tools import basics, code, conversation, council, files, meta
from handlers.tools.authoring.manifests import our_toolkit
from handlers.tools.authoring.tool import Tool
from handlers.tools.dependencies import ToolNeeds
from handlers.tools.tool_source import BoundToolkit, BuiltinSource


class ToolkitModule(Protocol):
    """A built-in toolkit: the name of its manifest and the functions that implement it."""

    NAME: str

    def build(self, needs: ToolNeeds, /) -> tuple[Tool, ...]: ...


TOOLKITS: tuple[ToolkitModule, ...] = (basics, files, code, conversation, council, meta)


def builtin_source(needs: ToolNeeds) -> BuiltinSource:
    """All built-in toolkits with their manifests."""
    return BuiltinSource(BoundToolkit(our_toolkit(module.NAME), module.build(needs)) for module in TOOLKITS)
