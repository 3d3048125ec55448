"""The systemd unit, checked by its text and by systemd itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app import GRACE_SECONDS
from bot.ops.systemd import PULSE_SECONDS, STUCK_SECONDS
from handlers.tools.sandbox import SandboxLimits
from handlers.tools.sandbox.bubblewrap import SPARE_PROCESSES
from handlers.tools.sandbox.sandbox import MAX_RUNNING

UNIT = Path(__file__).resolve().parents[2] / "docker" / "tierbot.service"
MAX_EXPOSED = 2.6
"""systemd 252 rates it 2.6 of 10. The rest is what bubblewrap needs (namespaces, system calls), the network, /proc,
other users' names and the clock device."""


def setting(name: str) -> list[str]:
    """Every value of a setting, in order."""
    return re.findall(rf"(?m)^{name}=(.*)$", UNIT.read_text(encoding="utf-8"))


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """systemd's own check. Skipped without systemd, unless TIERBOT_SETS=all."""
    if shutil.which("systemd-analyze") is None:
        if os.environ.get("TIERBOT_SETS") == "all":
            pytest.fail("systemd-analyze is not installed, and TIERBOT_SETS=all asks for every set")
        pytest.skip("system set: systemd-analyze is not installed")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)


def here(tmp_path: Path, replaced: str = "", by: str = "") -> str:
    """The unit with this machine's interpreter, and a fault if given."""
    text = UNIT.read_text(encoding="utf-8").replace("/opt/tierbot/.venv/bin/python", sys.executable)
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace(replaced, by) if replaced else text, encoding="utf-8")
    return str(copy)


@pytest.mark.system
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    judged = analyze("verify", here(tmp_path))
    ours = [line for line in judged.stderr.splitlines() if "tierbot" in line]
    assert (ours, judged.returncode) == ([], 0)


@pytest.mark.system
def test_systemd_would_name_a_fault(tmp_path: Path) -> None:
    assert "WatchdogSex" in analyze("verify", here(tmp_path, "WatchdogSec", "WatchdogSex")).stderr


@pytest.mark.system
def test_the_exposure_score_is_low(tmp_path: Path) -> None:
    judged = analyze("security", "--offline=yes", "--no-pager", here(tmp_path))
    found = re.search(r"Overall exposure level for tierbot.service: ([\d.]+)", judged.stdout)
    assert found is not None, judged.stderr
    assert float(found[1]) <= MAX_EXPOSED


def test_the_watchdog_interval_exceeds_the_heartbeat() -> None:
    assert setting("Type") == ["notify"]
    assert setting("NotifyAccess") == ["main"]
    assert int(setting("WatchdogSec")[0]) > STUCK_SECONDS > PULSE_SECONDS * 3


def test_a_stop_leaves_time_for_running_turns_and_replies() -> None:
    assert setting("KillSignal") == ["SIGTERM"]
    assert setting("KillMode") == ["mixed"]
    assert int(setting("TimeoutStopSec")[0]) > 2 * GRACE_SECONDS


def test_configuration_errors_are_not_restarted() -> None:
    assert setting("Restart") == ["on-failure"]
    assert setting("RestartPreventExitStatus") == ["2"]


def test_the_bot_may_write_its_own_folder_only() -> None:
    assert setting("ProtectSystem") == ["strict"]
    assert setting("StateDirectory") == ["tierbot"]
    assert setting("User") == ["tierbot"]
    assert "WORKSPACE=/var/lib/tierbot" in setting("Environment")
    assert setting("ReadWritePaths") == []
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "MemoryDenyWriteExecute"):
        assert setting(name) == ["yes"]
    assert setting("CapabilityBoundingSet") == [""]


def test_the_sandbox_can_work_under_it() -> None:
    """Found by trial: with ProcSubset=pid or without one of the calls, bubblewrap fails at once; with
    ProtectProc=invisible the resource monitor can't count a process that called prctl(PR_SET_DUMPABLE, 0)."""
    assert setting("ProcSubset") == setting("ProtectProc") == setting("ProtectHostname") == []
    assert set(setting("RestrictNamespaces")[0].split()) == {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}
    assert "AF_NETLINK" in setting("RestrictAddressFamilies")[0].split()
    allowed, removed, added = setting("SystemCallFilter")
    assert (allowed, removed) == ("@system-service", "~@privileged")
    assert set(added.split()) == {"mount", "umount2", "pivot_root", "capset", "sethostname"}


def test_namespaces_the_sandbox_does_not_need_are_denied() -> None:
    for name in ("ProtectKernelTunables", "ProtectKernelLogs", "ProtectKernelModules", "ProtectControlGroups"):
        assert setting(name) == ["yes"]
    for name in ("PrivateMounts", "PrivateDevices", "RestrictSUIDSGID", "LockPersonality"):
        assert setting(name) == ["yes"]


def test_commands_have_room_for_their_processes() -> None:
    each = SandboxLimits().processes + SPARE_PROCESSES
    assert int(setting("TasksMax")[0]) > MAX_RUNNING * each + 100  # the bot and its model also have threads


def test_credential_names_match_the_settings() -> None:
    names = re.findall(r"(?m)^#LoadCredential=(\w+):/etc/tierbot/(\w+)$", UNIT.read_text(encoding="utf-8"))
    assert ("telegram_bot_token", "telegram_bot_token") in names
    assert all(name == file for name, file in names)
