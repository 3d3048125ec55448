"""Installing packages: which names are accepted, and that nothing of a package runs with the network."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from handlers.tools.code import CodeTools
from handlers.tools.packages import MAX_PACKAGES, NO_INDEX, OFF, PackageIndex, PackageTools, requirements
from handlers.tools.sandbox import Sandbox, SandboxLimits
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA
from tests.handlers.tools.sandbox.test_sandbox import home, made
from tests.servers.package_index import PackageIndexServer, wheel

GREETING = "def main():\n    print('hello from', __name__)\n"
VERSIONS = """
import importlib.metadata, site
print(sorted(each.version for each in importlib.metadata.distributions(path=[site.USER_SITE])))
"""
SETUP = "import socket\nopen('/files/ran', 'w').write('setup.py ran')\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("requests", ["requests"]),
        (" requests\n pandas==2.2.3 ", ["requests", "pandas==2.2.3"]),
        ("requests, numpy , PyYAML", ["requests", "numpy", "PyYAML"]),
        ("requests >= 2.0", ["requests>=2.0"]),
        ("requests>=2.0,<3", ["requests>=2.0,<3"]),
        ("uvicorn[standard]~=0.30", ["uvicorn[standard]~=0.30"]),
        ("zope.interface ruamel_yaml==0.*", ["zope.interface", "ruamel_yaml==0.*"]),
    ],
)
def test_names_with_versions_are_accepted(text: str, found: list[str]) -> None:
    assert requirements(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "-r requirements.txt",
        "--index-url=http://evil.example/simple x",
        "-e .",
        ".",
        "./x",
        "/files/x",
        "http://127.0.0.1:8080/x.whl",
        "git+https://example.org/x",
        "x@http://127.0.0.1/x",
        "x @ file:///files/x",
        "evil-1.0.tar.gz",
        "evil.zip",
        "evil-1.0-py3-none-any.WHL",
        "x;python_version>'3'",
        "x==1;import os",
        "x[--pre",
        "$(id)",
        "`id`",
        "a\0b",
        "pakét",
        "x" * 300,
        "x==" + "1" * 3_900,
        " ".join(["x"] * (MAX_PACKAGES + 1)),
        "x " * 10_000,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ToolFailed):
        requirements(text)


async def test_the_owner_can_forbid_packages(tmp_path: Path) -> None:
    tools = PackageTools(Sandbox(tmp_path, SandboxLimits()), PackageIndex(OFF))
    assert tools.pip_install.off is not None
    assert await tools.pip_install.off() == NO_INDEX


@pytest.fixture
async def index() -> AsyncIterator[PackageIndexServer]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("sourceonly-1.0/setup.py")
        entry.size = len(SETUP)
        archive.addfile(entry, io.BytesIO(SETUP.encode()))
    wheels = [
        wheel("greeting", "1.0", GREETING),
        wheel("greeting", "2.0", GREETING, requires="punctuation>=1"),
        wheel("punctuation", "1.1", GREETING),
    ]
    async with PackageIndexServer({**dict(wheels), "sourceonly-1.0.tar.gz": packed.getvalue()}) as server:
        yield server


async def tools_of(tmp_path: Path, index: PackageIndexServer) -> tuple[PackageTools, CodeTools]:
    sandbox = await made(tmp_path)
    return PackageTools(sandbox, PackageIndex(index.url)), CodeTools(sandbox)


@pytest.mark.system
async def test_a_package_is_installed_used_and_replaced(tmp_path: Path, index: PackageIndexServer) -> None:
    tools, code = await tools_of(tmp_path, index)
    said = await tools.pip_install(ADA, "greeting==1.0")
    assert said == "Installed: greeting-1.0. Import them with run_python_code."
    assert await code.run_python_code(ADA, "import greeting; greeting.main()") == "hello from greeting\n"
    assert await code.run_command(ADA, "greeting-program") == "hello from greeting\n"
    said = await tools.pip_install(ADA, "greeting>1")
    assert said == "Installed: greeting-2.0 punctuation-1.1. Import them with run_python_code."
    assert await code.run_python_code(ADA, VERSIONS) == "['1.1', '2.0']\n"
    assert await tools.pip_install(ADA, "greeting") == "These are installed already."
    assert not (home(tmp_path) / ".pip-install").exists()


@pytest.mark.system
async def test_only_wheels_of_the_index_are_installed(tmp_path: Path, index: PackageIndexServer) -> None:
    tools, _ = await tools_of(tmp_path, index)
    for name in ("sourceonly", "absent", "greeting==9"):
        with pytest.raises(
            ToolFailed, match=r"^Nothing was installed: only wheels .*\nERROR: Could not find a version"
        ):
            await tools.pip_install(ADA, name)
    assert os.listdir(home(tmp_path)) == []
    async with index.outage():
        with pytest.raises(ToolFailed, match="Nothing was installed"):
            await tools.pip_install(ADA, "greeting")


@pytest.mark.system
async def test_a_persons_own_files_do_not_run_with_the_network(tmp_path: Path, index: PackageIndexServer) -> None:
    tools, code = await tools_of(tmp_path, index)
    await tools.pip_install(ADA, "greeting==1.0")
    await code.run_command(
        ADA, "mkdir -p .config/pip; cat > .config/pip/pip.conf <<< $'[global]\\nindex-url=http://x.invalid'"
    )
    reach = f"""
import socket
with open('/files/log', 'a') as log:
    try:
        socket.create_connection(('127.0.0.1', {index.port}), 5).close()
        log.write('connected ')
    except OSError:
        log.write('offline ')
"""
    await code.run_command(ADA, f"cat > $(python3 -m site --user-site)/usercustomize.py <<'END'\n{reach}\nEND\n: > log")
    planted = (
        "mkdir -p pip greeting; echo 'raise SystemExit(9)' | tee pip/__init__.py pip/__main__.py greeting/__init__.py"
    )
    await code.run_command(ADA, planted)
    said = await tools.pip_install(ADA, "punctuation")
    assert said.startswith("Installed: punctuation-1.1.")
    assert set((home(tmp_path) / "log").read_text().split()) == {"offline"}


@pytest.mark.system
async def test_the_quota_holds_for_packages(tmp_path: Path, index: PackageIndexServer) -> None:
    sandbox = await made(tmp_path)
    sandbox.limits = replace(sandbox.limits, disk_bytes=3_000_000)
    index.files |= [wheel("large", "1.0", "x = 1\n" * 1_000_000)]
    with pytest.raises(ToolFailed, match="Nothing was installed"):
        await PackageTools(sandbox, PackageIndex(index.url)).pip_install(ADA, "large")
    assert not (home(tmp_path) / ".pip-install").exists()
