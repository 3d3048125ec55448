"""The built-in toolkits, one module each. The texts for models are in `toolkits/<name>.json`."""

from __future__ import annotations

from typing import Protocol

from handlers.tools import (
    basics,
    calendar,
    code,
    contacts,
    conversation,
    council,
    email,
    git,
    host_pc,
    images,
    memory,
    meta,
    scheduler,
    weather,
    web,
)
from handlers.tools.authoring.decorator import Tools, runnable
from handlers.tools.authoring.manifests import our_toolkit
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.files import shared_folder
from handlers.tools.files import tools as files
from handlers.tools.tool_source import BoundToolkit, BuiltinSource


class ToolkitModule(Protocol):
    """A built-in toolkit: the name of its manifest, and a function that returns its tools."""

    NAME: str

    def build(self, dependencies: ToolDependencies, /) -> Tools: ...


TOOLKITS: tuple[ToolkitModule, ...] = (
    basics,
    files,
    code,
    web,
    conversation,
    memory,
    council,
    email,
    git,
    scheduler,
    weather,
    calendar,
    contacts,
    images,
    host_pc,
    shared_folder,
    meta,
)


def builtin_source(dependencies: ToolDependencies) -> BuiltinSource:
    """All built-in toolkits with their manifests."""
    return BuiltinSource(
        BoundToolkit(our_toolkit(module.NAME), map(runnable, module.build(dependencies))) for module in TOOLKITS
    )
