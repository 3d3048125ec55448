"""What all pages share: sessions, the edits, templates and static files. Built once, in a thread."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.admin.edits import Edits
from bot.admin.formatting import FILTERS
from bot.admin.services import AdminServices
from bot.admin.sessions import Attempts, Sessions
from bot.findings import Finding
from handlers.version import VERSION

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file; `version` changes with its content."""

    content: bytes
    media_type: str
    version: str


@dataclass(slots=True)
class DoctorReport:
    """The last run of the doctor; `at` is in Unix seconds, 0 for never."""

    at: float = 0.0
    findings: tuple[Finding, ...] = ()
    running: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """The state of the admin page."""

    services: AdminServices
    sessions: Sessions
    attempts: Attempts
    edits: Edits
    templates: Environment
    assets: Mapping[str, Asset]
    report: DoctorReport = field(default_factory=DoctorReport)


def build_site(services: AdminServices) -> Site:
    """Read and compile everything, so that no request reads a template from disk."""
    assets = {path.name: _asset(path) for path in sorted((_HERE / "static").iterdir()) if path.suffix in _TYPES}
    templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters |= FILTERS
    templates.globals |= {"asset": lambda name: f"/static/{name}?v={assets[name].version}", "version": VERSION}
    for name in templates.list_templates():
        templates.get_template(name)
    steady, clock = services.messaging.steady, services.messaging.clock
    edits = Edits(services.workspace, clock)
    return Site(services, Sessions(steady), Attempts(steady), edits, templates, assets)


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    return Asset(content, _TYPES[path.suffix], hashlib.sha256(content).hexdigest()[:12])
