"""The systemd unit, checked by its text and by systemd itself. Its template is in `bot.ops.service`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app import GRACE_SECONDS
from bot.ops.service.unit import Program, program_of, render, this_program, user_of, workspace_of
from bot.ops.systemd import PULSE_SECONDS, STUCK_SECONDS
from handlers.tools.sandbox import SandboxLimits
from handlers.tools.sandbox.bubblewrap import SPARE_PROCESSES
from handlers.tools.sandbox.sandbox import MAX_RUNNING
from routing.errors import ConfigError

UNIT = Path(__file__).resolve().parents[2] / "docker" / "tierbot.service"
MAX_EXPOSED = 2.6
"""systemd 252 rates it 2.6 of 10. The rest is what bubblewrap needs (namespaces, system calls), the network, /proc,
other users' names and the clock device."""


CHECKOUT = Path("/opt/tierbot")
STATE = Path("/var/lib/tierbot")
OPT = Program(CHECKOUT / ".venv" / "bin" / "python", CHECKOUT, (CHECKOUT, Path("/usr")))


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


def here(tmp_path: Path, replaced: str = "", by: str = "", text: str = "") -> str:
    """The unit with this machine's interpreter, and a fault if given."""
    text = text or UNIT.read_text(encoding="utf-8").replace("/opt/tierbot/.venv/bin/python", sys.executable)
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


HOME_PROGRAM = Program(
    Path("/home/ana/.local/share/uv/tools/tierbot/bin/python"),
    None,
    (Path("/home/ana/.local/share/uv/tools/tierbot"), Path("/root/python"), Path("/usr")),
)


def test_the_file_in_docker_is_what_the_template_makes() -> None:
    assert UNIT.read_text(encoding="utf-8") == render(OPT, STATE, "tierbot")


def test_a_unit_says_what_it_was_made_of() -> None:
    for program, workspace, user in (
        (OPT, STATE, "tierbot"),
        (HOME_PROGRAM, Path('/home/ana maria/50% "$x" \\'), "ana"),
        (this_program(), Path("/srv/bot"), ""),
    ):
        unit = render(program, workspace, user)
        assert (workspace_of(unit), user_of(unit), program_of(unit)) == (workspace, user, str(program.python))


def test_a_program_in_a_home_folder_is_all_the_bot_sees_there() -> None:
    lines = render(HOME_PROGRAM, STATE, "tierbot").splitlines()
    assert "ProtectHome=tmpfs" in lines
    assert "TemporaryFileSystem=/root:ro,mode=0755" in lines
    assert "BindReadOnlyPaths=/home/ana/.local/share/uv/tools/tierbot /root/python" in lines
    assert "ExecStart=/home/ana/.local/share/uv/tools/tierbot/bin/python -P -m bot run" in lines
    assert "WorkingDirectory=/" in lines


def test_another_workspace_is_writable() -> None:
    assert "ReadWritePaths=/srv/bot" in render(OPT, Path("/srv/bot"), "ana").splitlines()
    lines = render(OPT, Path("/home/ana/bot"), "ana", "people").splitlines()
    assert {"BindPaths=/home/ana/bot", "ProtectHome=tmpfs", "User=ana", "Group=people"} < set(lines)
    assert not [line for line in lines if line.startswith("StateDirectory")]


def test_a_folder_can_not_add_lines_to_the_unit() -> None:
    with pytest.raises(ConfigError, match="choose a folder without a line break"):
        render(OPT, Path("/srv/bot\nExecStartPre=/bin/sh"), "ana")


def test_the_address_of_the_manual_has_no_blank() -> None:
    blank = Program(Path("/opt/my bot/.venv/bin/python"), Path("/opt/my bot"), (Path("/opt/my bot"),))
    assert "Documentation=file:/opt/my%%20bot/docs/raspberry-pi.md" in render(blank, STATE, "ana").splitlines()


def test_credentials_are_passed_on() -> None:
    lines = render(OPT, STATE, "tierbot", credentials=["openai_api_key", "b"]).splitlines()
    assert [line for line in lines if "LoadCredential=" in line] == [
        "LoadCredential=b:/etc/tierbot/b",
        "LoadCredential=openai_api_key:/etc/tierbot/openai_api_key",
    ]


@pytest.mark.system
@pytest.mark.parametrize("workspace", [STATE, Path("/home/ana maria/50% bot"), Path("/srv/bot")])
@pytest.mark.parametrize("user", ["tierbot", ""])
def test_systemd_accepts_every_kind_of_unit(tmp_path: Path, workspace: Path, user: str) -> None:
    file = here(tmp_path, text=render(this_program(), workspace, user, credentials=["openai_api_key"]))
    judged = analyze(*(() if user else ("--user",)), "verify", file)
    assert [line for line in judged.stderr.splitlines() if "tierbot" in line] == []
    if user:
        scored = analyze("security", "--offline=yes", "--no-pager", file).stdout
        assert float(scored.split("tierbot.service:")[1].split()[0]) <= 3.0


def test_the_watchdog_interval_exceeds_the_heartbeat() -> None:
    assert setting("Type") == ["notify"]
    assert setting("ExecReload") == ["/bin/kill -HUP $MAINPID"]
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
