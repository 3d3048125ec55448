"""The toolkit `web`: searching the web and reading pages."""

from __future__ import annotations

from handlers.tools.authoring.decorator import Tools, tools_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.web.pages import PageTools
from handlers.tools.web.search import SearchTools
from handlers.tools.web.worker_process import WorkerProcess

NAME = "web"


def build(dependencies: ToolDependencies) -> Tools:
    worker = WorkerProcess()
    return (*tools_of(SearchTools(dependencies.web, worker)), *tools_of(PageTools(dependencies.web, worker)))
