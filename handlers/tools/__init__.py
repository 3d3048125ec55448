"""What the model may ask: one module a toolkit, one line here; what a model is told is in `toolkits/<name>.json`."""

from __future__ import annotations

from typing import Protocol

from handlers.tools import basics, code, conversation, files
from handlers.tools.manifests import read_manifest
from handlers.tools.needs import ToolNeeds
from handlers.tools.tool import Registered, Tool
from handlers.tools.toolbox import Toolbox


class ToolkitModule(Protocol):
    """What each toolkit offers: the name of its manifest, and the functions behind it."""

    NAME: str

    def build(self, needs: ToolNeeds, /) -> tuple[Tool, ...]: ...


TOOLKITS: tuple[ToolkitModule, ...] = (basics, files, code, conversation)


def build_toolbox(needs: ToolNeeds) -> Toolbox:
    """Every tool with what a model is told of it."""
    registered = []
    for module in TOOLKITS:
        specs = read_manifest(module.NAME)
        registered += [Registered(tool, specs[tool.name]) for tool in module.build(needs)]
    return Toolbox(registered)
