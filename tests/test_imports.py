"""Import rules, that each can fail, light imports, and unique package names."""

from __future__ import annotations

import ast
import asyncio
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import grimp
import pytest

from tests.stories.harness import bot_harness

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations")
BREACHES = {
    "Layers: bot → handlers → routing ← storage ← migrations": (
        "routing/types/messages.py",
        "import bot.files",
    ),
    "Layers inside routing": ("routing/config/runtime.py", "import routing.turn.loop"),
    "No cycles between the packages and modules of a folder": ("handlers/replies/names.py", "import handlers.chat"),
    "handlers and storage do not import each other": ("handlers/parsing.py", "import storage.schema"),
    "In bot, only the composition root imports storage": ("bot/config/workspace.py", "import storage.codec"),
    "Only bot/adapters/telegram imports telegram": ("handlers/parsing.py", "import telegram"),
    "Only bot/adapters/discord imports discord": ("handlers/parsing.py", "import discord"),
    "Only routing imports litellm": ("handlers/parsing.py", "import litellm"),
    "Only storage and migrations import SQLAlchemy and Alembic": ("routing/types/messages.py", "import sqlalchemy"),
    "Only routing imports xllamacpp": ("storage/codec.py", "import xllamacpp"),
    "Only handlers imports the MCP SDK": ("storage/codec.py", "import httpx2"),
    "Only routing imports sentence_transformers": ("handlers/parsing.py", "import sentence_transformers"),
}
VENDORS = {
    "litellm": r"routing/llm/adapter\.py",
    "telegram": r"bot/adapters/telegram/.*",
    "discord": r"bot/adapters/discord/.*",
    "xllamacpp": r"routing/llm/local/server\.py",
    "sqlalchemy": r"(storage|migrations)/.*",
    "alembic": r"(storage|migrations)/.*",
    "prompt_toolkit": r"bot/adapters/console/.*",
    "rich": r"bot/adapters/console/.*",
    "aiohttp": r"bot/adapters/(telegram/(api|webhook)|shared/outbound|discord/.*)\.py"
    r"|handlers/(tools/git/gateway|http/client)\.py",
    "trafilatura": r"handlers/tools/web/worker\.py",
    "pypdf": r"handlers/tools/(web/worker|files/document_reader)\.py",
    "pypdfium2": r"handlers/tools/files/document_reader\.py",
    "docx": r"handlers/tools/files/document_reader\.py",
    "openpyxl": r"handlers/tools/files/document_reader\.py",
    "pptx": r"handlers/tools/files/document_reader\.py",
    "ddgs": r"handlers/tools/web/worker\.py",
    "PIL": r"handlers/replies/charts\.py",
    "pint": r"handlers/tools/calculator/units\.py",
    "charset_normalizer": r"handlers/tools/decoding\.py",
    "jsonschema": r"handlers/tools/(authoring/(arguments|schemas)|mcp/schemas)\.py",
    "mcp": r"handlers/tools/mcp/.*",
    "mcp_types": r"handlers/tools/mcp/.*",
    "httpx2": r"handlers/tools/mcp/.*",
    "anyio": r"handlers/tools/mcp/.*",
    "uvicorn": r"handlers/tools/mcp/server\.py|bot/admin/listener\.py",
    "starlette": r"handlers/tools/mcp/server\.py|bot/admin/.*",
    "opentelemetry": r"bot/observability/tracing\.py",
    "prometheus_client": r"bot/admin/metrics\.py",
    "jinja2": r"bot/(admin/site|ops/service/unit)\.py",
    "numpy": r"routing/(tools/(selection|embedding)/.*|(memory|learning)/(index|vectors)\.py|types/vectors\.py)",
    "tokenizers": r"routing/tools/selection/.*",
    "safetensors": r"routing/tools/selection/.*",
    "Stemmer": r"routing/tools/selection/.*",
    "sentence_transformers": r"routing/tools/embedding/sentence\.py",
}
"""Stricter than the contracts, which can't name a single file of a package."""

KNOWN_PTH = re.compile(r"distutils-precedence\.pth|_virtualenv\.pth|__editable__\.tierbot-[\d.]+\.pth")
LATE = (
    "litellm",
    "openai",
    "mcp",
    "mcp_types",
    "httpx2",
    "uvicorn",
    "starlette",
    "prometheus_client",
    "jinja2",
    "bot.admin.app",
    "bot.admin.pages",
    "torch",
    "sentence_transformers",
    "xllamacpp",
    "alembic",
    "numpy",
    "tokenizers",
    "safetensors",
    "Stemmer",
    "prompt_toolkit",
    "pint",
    "jsonschema",
    "PIL",
    "yaml",
    "trafilatura",
    "pypdf",
    "pypdfium2",
    "docx",
    "openpyxl",
    "pptx",
    "ddgs",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.orm",
)
"""Imports that cost too many seconds and megabytes before the bot answers."""

VERSION_ONLY = """
import sys
from bot.__main__ import main

try:
    main(["--version"])
finally:
    print("left in:", *[name for name in ("rich", "pygments", "click") if name in sys.modules])
"""

CONNECTED_LATE = (*LATE, "bot.app", "bot.engine", "handlers.commands", "handlers.tools", "routing.router")
FIRST_POLL = f"""
import os, signal, sys
from bot.__main__ import main
from bot import running

def show(label, names):
    print(label, *[name for name in names if name in sys.modules], flush=True)

def import_app(import_app=running._import_app):
    show("connected:", {CONNECTED_LATE!r})
    assembled = import_app()
    from routing.llm.adapter import LiteLlm
    LiteLlm.load = load
    return assembled

def load(self):
    show("early:", {(*LATE, "prompt_toolkit", "cryptography")!r})
    os.kill(os.getpid(), signal.SIGTERM)

running._import_app = import_app
sys.exit(main(["run"]))
"""


def broken(tree: Path) -> list[str]:
    """The contracts that a tree violates."""
    linter = Path(sysconfig.get_path("scripts")) / "lint-imports"
    judged = subprocess.run(
        [str(linter), "--no-cache"], cwd=tree, capture_output=True, text=True, check=False, timeout=100
    )
    found = re.findall(r"(?m)^(.+) BROKEN(?: \(.*\))?$", judged.stdout)
    assert (judged.returncode == 0) == (not found), judged.stdout + judged.stderr
    assert re.search(r"(?m)^Contracts: ", judged.stdout), judged.stdout + judged.stderr
    return found


def test_every_contract_holds() -> None:
    assert broken(ROOT) == []


def test_every_contract_can_fail(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line in BREACHES.values():
        with (tmp_path / file).open("a", encoding="utf-8") as source:
            source.write(f"\n\ndef sneak() -> None:\n    {line}\n")
    assert set(broken(tmp_path)) == set(BREACHES)


def test_every_contract_has_a_violation() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {contract["name"] for contract in document["tool"]["importlinter"]["contracts"]} == set(BREACHES)


def imported(source: str) -> Iterator[str]:
    """The packages that a module imports: at the top, inside functions, or by a quoted name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (str(a.value).partition(".")[0] for a in node.args if isinstance(a, ast.Constant))


def environment_reads(source: str) -> list[str]:
    """Where a module reads the environment of the process; other uses set variables for child processes."""
    nodes = list(ast.walk(ast.parse(source)))
    setting = {
        node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("update", "setdefault")
    } | {node.value for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)}
    uses = (node for node in nodes if isinstance(node, ast.Attribute) and node not in setting)
    return [found for node in uses if (found := ast.unparse(node)) in ("os.environ", "os.environb", "os.getenv")]


def test_one_module_reads_the_environment() -> None:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    reading = [path for path in files if environment_reads(path.read_text(encoding="utf-8"))]
    assert reading == [ROOT / "bot" / "config" / "environment.py"]
    assert environment_reads("import os\nname = os.getenv('A') or os.environ['A'] or dict(os.environ)") != []
    assert environment_reads("import os\nos.environ['A'] = 'b'\nos.environ.update(C='d')") == []


def test_imports_have_no_circles() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()


def test_a_vendor_is_imported_in_one_folder() -> None:
    trespassers = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in imported(path.read_text(encoding="utf-8"))
        if name in VENDORS and not re.fullmatch(VENDORS[name], path.relative_to(ROOT).as_posix())
    ]
    assert trespassers == []


@pytest.mark.parametrize(
    "source",
    ["import litellm.types", "def f():\n    from litellm import x", "importlib.import_module('litellm.x')"],
)
def test_every_form_of_import_is_detected(source: str) -> None:
    assert list(imported(source)) == ["litellm"]


def protocols(source: str) -> list[str]:
    """The names of the classes that derive from Protocol, and of those that are called so."""
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return [
        each.name
        for each in classes
        if each.name == "Protocol" or any(re.match(r"(\w+\.)*Protocol\b", ast.unparse(base)) for base in each.bases)
    ]


def test_every_protocol_of_routing_is_in_ports() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "routing").rglob("*.py")
        if protocols(path.read_text(encoding="utf-8"))
    }
    assert found == {"routing/ports.py"}


@pytest.mark.parametrize("bases", ["Protocol", "Sized, Protocol[T]", "typing.Protocol", "t.Protocol[K, V]"])
def test_every_form_of_protocol_is_detected(bases: str) -> None:
    assert protocols(f"class Port({bases}): ...\nclass Plain(ProtocolError): ...") == ["Port"]


def test_package_names_are_unique() -> None:
    owners = metadata.packages_distributions()
    assert {name: owners[name] for name in PACKAGES if set(owners.get(name, ())) - {"tierbot"}} == {}


def test_no_installed_package_runs_code_at_every_start() -> None:
    folders = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    strange = [file.name for folder in folders for file in folder.glob("*.pth") if not KNOWN_PTH.fullmatch(file.name)]
    assert strange == []


@pytest.mark.parametrize(
    ("modules", "allowed"),
    [
        ("bot.app, bot.running, bot.__main__, bot.adapters.telegram", set()),
        ("bot.ops.backup.backup", set()),
        ("bot.terminal", {"prompt_toolkit"}),
        ("bot.admin.app", {"bot.admin.app", "starlette"}),
    ],
)
def test_importing_the_program_is_light(modules: str, allowed: set[str]) -> None:
    code = f"import sys, {modules}; print(*[name for name in {LATE!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(shown.stdout.split()) <= allowed


def test_the_entry_point_leaves_out_the_command_line_of_httpx() -> None:
    shown = subprocess.run([sys.executable, "-c", VERSION_ONLY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "left in:"


async def test_nothing_heavy_is_loaded_before_the_platforms_answer(tmp_path: Path) -> None:
    async with bot_harness(tmp_path / "workspace") as on:
        on.write_config()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FIRST_POLL, cwd=ROOT, env=on.environment(), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        asked = {request.method for request in on.tg.requests}
    assert process.returncode == 0
    assert output.decode().splitlines()[-2:] == ["connected:", "early:"]
    assert "getMe" in asked
