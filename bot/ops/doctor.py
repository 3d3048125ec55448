"""`tierbot doctor`: checks everything the bot needs, changes nothing, and says how to fix problems."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.findings import Finding, fail
from bot.observability import logs
from bot.ops.checks import configuration, database, machine, platforms, providers, sandbox, service, tools
from bot.ops.checks.inspection import Check, Inspection
from bot.ops.fixes import Fix, fix
from bot.platforms import PLATFORMS
from handlers.tools.mcp.config import read_servers
from routing.errors import ConfigError, TierbotError

CHECKS: tuple[Check, ...] = (
    machine.program,
    machine.year,
    machine.disk,
    machine.workspace,
    sandbox.sandbox,
    service.service,
    configuration.settings,
    configuration.files,
    configuration.skills,
    database.database,
    *(platforms.check_of(platform) for platform in PLATFORMS),
    providers.tiers,
    providers.pools,
    providers.sizes,
    providers.keys,
    providers.critic,
    providers.voice,
    providers.local,
    tools.toolkits,
    tools.mcp_servers,
    tools.embeddings,
)
MAX_CHECK_SECONDS = 30.0
"""Timeout of one check. The integrity check of a 1 GB database on a memory card takes most of it."""


def doctor(
    environment: Environment,
    workspace: Workspace,
    *,
    as_json: bool,
    faults: Sequence[str],
    repair: bool,
) -> int:
    """Print one line per finding; returns 1 if something failed, else 0. `faults` are errors in the environment; its
    other values are still checked. With `repair`, what is safe to fix is fixed first."""
    fixes = fix(environment, workspace) if repair else None
    return _report(report(environment, workspace, faults), as_json, fixes)


def report(environment: Environment, workspace: Workspace, faults: Sequence[str] = ()) -> list[Finding]:
    """All findings, without secrets. Blocks for some seconds, so a running bot calls it in a thread."""
    redactor = logs.Redactor((*environment.secrets(), *_file_keys(workspace), *_mcp_secrets(environment, workspace)))
    findings = [fail("environment", fault, "Fix it, then run doctor again.") for fault in faults]
    findings += asyncio.run(examine(Inspection(environment, workspace, time.time)))
    return [_without_secrets(finding, redactor) for finding in findings]


def unreadable(error: TierbotError, as_json: bool) -> int:
    """The report if the environment can't be read: a single failure."""
    finding = fail("environment", str(error), "Fix that variable, then run doctor again.")
    return _report([_without_secrets(finding, logs.Redactor(()))], as_json)


async def examine(inspection: Inspection, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """Run all checks concurrently; returns findings in the order of `checks`."""
    running = (asyncio.wait_for(check(inspection), MAX_CHECK_SECONDS) for check in checks)
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    reported = {finding.detail for outcome in outcomes if isinstance(outcome, list) for finding in outcome}
    found = [_findings(check, outcome, reported) for check, outcome in zip(checks, outcomes, strict=True)]
    return [finding for group in found for finding in group]


def _findings(check: Check, outcome: list[Finding] | BaseException, reported: set[str]) -> list[Finding]:
    """A check that raises becomes a failed finding and does not affect the others. A file that several checks can't
    read is reported once."""
    match outcome:
        case list():
            return outcome
        case ConfigError():
            if str(outcome) in reported:
                return []
            reported.add(str(outcome))
            return [fail(check.__name__, str(outcome), "Fix what the message names.")]
        case TimeoutError():
            fault = "took too long"
        case _:
            fault = f"failed: {type(outcome).__name__}: {outcome}"
    return [fail(check.__name__, f"this check {fault}", "Please report this with the line above.")]


def _file_keys(workspace: Workspace) -> tuple[str, ...]:
    """Keys in runtime-config.json."""
    try:
        profiles = workspace.config().profiles.values()
    except ConfigError:
        return ()
    return tuple(profile.api_key for profile in profiles if profile.api_key)


def _mcp_secrets(environment: Environment, workspace: Workspace) -> tuple[str, ...]:
    """Secrets in mcp.json."""
    try:
        servers = read_servers(workspace.mcp_file, environment.variables).found.values()
    except ConfigError:
        return ()
    return tuple(secret for server in servers for secret in server.secrets)


def _without_secrets(finding: Finding, redactor: logs.Redactor) -> Finding:
    return replace(finding, detail=redactor.clean(finding.detail), fix=redactor.clean(finding.fix))


def _report(findings: Sequence[Finding], as_json: bool, fixes: Sequence[Fix] | None = None) -> int:
    """`fixes` is None if none were asked for."""
    failed = any(finding.status == "fail" for finding in findings)
    if as_json:
        checks = [
            {"name": each.name, "status": each.status, "detail": each.detail, "fix": each.fix} for each in findings
        ]
        done = [{"name": each.name, "detail": each.detail, "done": not each.failed} for each in fixes or ()]
        report = {"checks": checks} if fixes is None else {"fixes": done, "checks": checks}
        json.dump(report, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return int(failed)
    if fixes is not None:
        _print_fixes(fixes)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{finding.status:<4}  {finding.name:<{width}}  {finding.detail}")
        if finding.fix:
            print(f"{'':<{width + 6}}  → {finding.fix}")
    counts = {status: sum(finding.status == status for finding in findings) for status in ("ok", "warn", "fail")}
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return int(failed)


def _print_fixes(fixes: Sequence[Fix]) -> None:
    for each in fixes:
        print(f"{'not fixed' if each.failed else 'fixed':<9}  {each.name}: {each.detail}")
    print("Nothing to fix automatically.\n" if not fixes else "")
