"""Every sentence for people, collected from the code."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from bot import outbox
from bot.adapters.console.prompt import EXIT
from bot.adapters.discord import connection, guilds
from bot.adapters.discord.connection import DiscordBackoff
from bot.adapters.discord.failures import REASONS as DISCORD_REASONS
from bot.adapters.discord.messages import UNREADABLE
from bot.adapters.shared import attachments
from bot.adapters.telegram import messages as telegram_messages
from bot.adapters.telegram.failures import REASONS as TELEGRAM_REASONS
from bot.adapters.telegram.receiving import TelegramBackoff
from bot.config.environment import UNREADABLE_CREDENTIAL, UNREADABLE_SECRET
from bot.platforms import PLATFORMS
from handlers import demo_model as demo
from handlers.access import audit_log
from handlers.access.linking import LINKED, MERGES
from handlers.access.roles import LINK_CODE_BURNED, OWNER_CODE_BURNED, PAIRING_CODE_BURNED, AccessMode
from handlers.accounts.dav import DavServers
from handlers.accounts.reachable import Reachable
from handlers.commands import COMMANDS, access, budget, help, start, status, tier, usage
from handlers.council import replies as council
from handlers.notices import alarms, outages
from handlers.replies import budget_limits as limits
from handlers.replies import facts, footer
from handlers.replies import outcome as wording
from handlers.schedules import views
from handlers.tool_reports import learned_list, tool_list, tool_offer, tool_policy
from handlers.tools import folder
from handlers.tools.authoring.manifests import ROLE
from handlers.tools.conversation import NO_SKILLS
from handlers.tools.council import UNAVAILABLE
from handlers.tools.email import account as email
from handlers.tools.git import account as git
from handlers.tools.mcp import config
from handlers.tools.packages import NO_INDEX, NO_PIP
from handlers.tools.sandbox.sandbox import NO_PROCESSES, NOT_INSTALLED
from handlers.tools.web.search import SWITCHED_OFF
from routing.catalog.cards import ModelCard
from routing.config import kinds as kinds_module
from routing.config import runtime, sections
from routing.config.contracts import TierContract
from routing.config.jsonfile import SYNTAX
from routing.config.kinds import FLAG, TEXT, Kind, settings
from routing.config.presentation import Presentation
from routing.config.sandbox import SandboxLimits
from routing.config.sections import (
    Compaction,
    ConcurrencyLimits,
    CouncilConfig,
    CriticConfig,
    LearningConfig,
    TurnBounds,
)
from routing.llm import error_mapping as failures
from routing.policy.auto.decision import EVIDENCE
from routing.tools import fallback_reasons as reasons
from routing.types.decisions import ModelSource
from routing.types.people import ROLES


def _nowhere(_person: object) -> Reachable:
    return Reachable()


ACCOUNTS = (*DavServers(_nowhere).kinds(), email.kind(_nowhere), git.kind(_nowhere))
ROOT = Path(__file__).resolve().parents[2]
SPEAKERS = {
    "say",
    "Refused",
    "Greeting",
    "to",
    "tell_owners",
    "_tell_owners",
    "Reason",
    "StorageFault",
    "EmbedderFailed",
    "SecretUnreadable",
    "ServiceFailed",
}
FAULTS: Mapping[str, int] = {
    "ConfigError": 0,
    "FileFault": 1,
    "IllegalSchema": 0,
    "Unresponsive": 0,
    "fault": 1,
    "_fault": 2,
}
"""Errors in files and servers, by the position of their template. `/tools`, `/skills` and `/skill` show them."""
FAULTY = (
    *(
        "handlers/tools/",
        "handlers/http/addresses.py",
        "handlers/access/rate_limit.py",
        "routing/config/",
        "routing/catalog/cards.py",
    ),
    *(
        "routing/catalog/catalog.py",
        "routing/tools/embedding/backend.py",
        "routing/errors.py",
    ),
    *("bot/config/environment.py", "bot/config/settings.py", "ops/backup/backup.py", "ops/backup/schedule.py"),
    *("telegram/platform.py", "telegram/webhook.py", "discord/connection.py"),
    *("telegram/doctor.py", "telegram/settings.py", "discord/settings.py"),
)
"""Where they are raised. Owners read those of the platforms on another one, or in the dialogue of setup. Other
ConfigErrors are logged or printed by the command line."""
SHELL_ONLY = ("handlers/tools/mcp/server.py", "handlers/tools/tool_router.py")

MANIFESTS = tuple(
    json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "handlers" / "tools" / "toolkits").glob("*.json"))
)
DESCRIPTIONS = tuple(manifest["description"] for manifest in MANIFESTS)
SHORT_DESCRIPTIONS = tuple(
    task["capabilityHints"]["tiers"]["small"]["description"] for manifest in MANIFESTS for task in manifest["tasks"]
)
SYSTEM_ERRORS = (
    *(errno.EPERM, errno.ENOENT, errno.EIO, errno.E2BIG, errno.ENOEXEC, errno.ENOMEM, errno.EACCES, errno.EBUSY),
    *(errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ENFILE, errno.EMFILE, errno.ETXTBSY),
    *(errno.EFBIG, errno.ENOSPC, errno.EROFS, errno.EPIPE, errno.ENAMETOOLONG, errno.ELOOP, errno.EDQUOT),
    *(errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.ECONNABORTED, errno.ECONNRESET),
    *(errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ETIMEDOUT),
)
"""Errors shown to people. Others stay in English."""
EXAMPLES = tuple(line for spec in COMMANDS for line in spec.usage if line.endswith(("?", ".")))
"""The arguments of commands, which contain words of the language."""
UNSENT = ("the reply has no visible content", "the chat moved to itself")
"""Reasons why a reply was not sent, besides the platforms' own."""
REASONS = (NO_SKILLS, UNAVAILABLE, NOT_INSTALLED, NO_PROCESSES, SWITCHED_OFF, NO_INDEX, NO_PIP)
"""Reasons why a tool can't be used that are the same everywhere."""


def _setting_rules() -> set[str]:
    """What the values in runtime-config.json and models.json must be."""
    forms = (
        *(TierContract, Presentation, Compaction, ConcurrencyLimits, CouncilConfig, CriticConfig, TurnBounds),
        *(LearningConfig, SandboxLimits, ModelCard),
    )
    kinds = (each.kind for form in forms for each in settings(form).values())
    others = (value for module in (kinds_module, runtime, sections) for value in vars(module).values())
    return {kind.rule for kind in (*kinds, *others) if isinstance(kind, Kind)}


# Sentences passed as an expression: the expression, and where its values come from.
TABLES: Mapping[str, tuple[str, ...]] = {
    "reason": (*REASONS, *TELEGRAM_REASONS.values(), *DISCORD_REASONS.values(), outbox.UNCONFIRMED, *UNSENT),
    "member.failure.reason": (),  # of Reason
    "PROGRAM_ENDING": (),  # of Reason
    "link.problem": (),  # of Reason
    **dict.fromkeys(("checked.words", "ollama.words", "raw", "error.reason", "state.reason"), ()),  # of Reason
    **dict.fromkeys(("warning", "problem", "self.template", "fault.template"), ()),  # of Reason
    **dict.fromkeys(("_refused(self._settings.telegram_api_root)", "self._progress.problem"), ()),  # of Reason
    **{"OLLAMA": (start.OLLAMA,), "self._options.notice": ()},  # the notice below the terminal's banner
    "PURPOSES[tier]": tuple(start.PURPOSES.values()),
    "each.summary": (EXIT.summary,),  # of a command
    "SYNTAX.get(error.msg.removesuffix(': '), error.msg.lower())": tuple(SYNTAX.values()),
    **dict.fromkeys(
        ("kind.rule", "TEXT.rule", "ADDRESS.rule"),
        tuple(kind.rule for kind in (FLAG, TEXT, ROLE, config.ROLE, config.STRINGS, config.ALLOWED, config.SECONDS))
        + tuple(sorted(_setting_rules())),
    ),
    "why": (),
    "self.UNSAVED": (DiscordBackoff.UNSAVED, TelegramBackoff.UNSAVED),
    "toolkit.description": DESCRIPTIONS,
    "card.texts['S'].description": SHORT_DESCRIPTIONS,
    "ASKING[rules[card.name]]": tuple(tool_list.ASKING.values()),
    "of numbers": (",", ".", "${amount}", "%Y-%m-%d %H:%M", "%m-%d"),  # said by Say itself
    "os.strerror(error.errno or 0)": tuple(map(os.strerror, SYSTEM_ERRORS)),
    "line": EXAMPLES,
    "self._access.mode": get_args(AccessMode),
    "cause": (*tool_offer.REASONS, reasons.FAILED),
    "topic": tuple(help.TOPICS),
    "AUTHORS[fact.author]": tuple(facts.AUTHORS.values()),
    "spec.summary": tuple(spec.summary for spec in COMMANDS),
    "DONE[role]": tuple(access.DONE.values()),
    "ACTION_TEXTS[role]": tuple(audit_log.ACTION_TEXTS.values()),
    "did": (audit_log.UNNAMED,),
    "ACTORS[entry.actor]": tuple(audit_log.ACTORS.values()),
    "WHY[decision.source]": tuple(tier.WHY.values()),
    "WEEKDAYS[there.weekday()]": views.WEEKDAYS,
    "MONTHS[there.month - 1]": views.MONTHS,
    "MONTHS[int(month) - 1]": views.MONTHS,
    "LONG_DAYS[int(each)]": views.LONG_DAYS,
    "each": tuple(EVIDENCE.values()),  # the reasons of /tier auto
    "WHY_SIZE[decision.source]": tuple(status.WHY_SIZE.values()),
    "WHY_WINDOW[window.source]": tuple(status.WHY_WINDOW.values()),
    "LINES[effect]": tuple(learned_list.LINES.values()),
    "STAGES[each.why]": tuple(tool_offer.STAGES.values()),
    "ORDERS[strategy]": tuple(tool_offer.ORDERS.values()),
    "SOURCES[toolkit.source]": tuple(tool_list.SOURCES.values()),
    "RULES[rule]": tuple(tool_policy.RULES.values()),
    "SERVER_STATES[state.status]": tuple(tool_list.SERVER_STATES.values()),
    "choice.source": get_args(ModelSource),
    "ask.person.role": ROLES,
    "person.role": ROLES,
    "role": ROLES,
    "LIMITS[limit.bound]": tuple(wording.LIMITS.values()),
    "ending": tuple(wording.ENDINGS.values()),
    "ask.message.text": (*telegram_messages._NOUNS.values(), attachments.FILES, UNREADABLE),
    "button.label": (),  # of tell_owners; its buttons are written as Button("…")
    "refusal.template": (),  # of Refused
    "refused.template": (),
    "each.refusal.template": (),
    "_REASONS[error.errno]": tuple(folder._REASONS.values()),
    "verdict.refusal.template": (),
    "LINKED": (LINKED,),
    "PASSED[each.why]": tuple(footer.PASSED.values()),
    "MEDIA_NAMES[kind]": tuple(usage.MEDIA_NAMES.values()),
    "FAILED[member.failure.cause]": tuple(council.FAILED.values()),
    "FAILED[verdict.failure.cause]": (),
    "VOTED[member.voting]": tuple(council.VOTED.values()),
    "THEN[self._budget.limits.at_limit]": tuple(budget.THEN.values()),
    "NAMES[ceiling.scope, ceiling.period]": tuple(limits.NAMES.values()),
    "alarm.words": tuple(each.words for each in alarms.ALARMS),
    "NOTHING_SAID": (footer.NOTHING_SAID,),
    "MERGES": (MERGES,),
    "burned": (LINK_CODE_BURNED, OWNER_CODE_BURNED, PAIRING_CODE_BURNED),
    "NOTE": (demo.NOTE,),
    "DECLINED": (demo.DECLINED,),
    "found": demo.TOPICS,
    "verdict.greeting.template": (),  # of Greeting
    "template": (  # of tell_owners in Notices and Outages, and of the alarms of Discord; in wording: FAILURES
        *(outages.KEY, outages.CREDIT, outages.MODEL),
        *("⚠️ " + words for words in (connection.REVOKED, connection.SHARDS, connection.CLOSED)),
        "⚠️ Discord: " + connection.NO_CONTENT,
        *(limits.NEVER, limits.BUSY, limits.FULL),
        *(guilds.NO_HISTORY, guilds.NO_FILES, guilds.NO_THREADS),
        *(UNREADABLE_CREDENTIAL, UNREADABLE_SECRET),
    ),
    "plain": (*failures.PLAIN.values(), failures.OUT_OF_CREDIT),
    **dict.fromkeys(("failed.reason", "cause.reason"), ()),  # of Reason
    **{
        f"{where}.title": tuple(kind.title for kind in ACCOUNTS)
        for where in ("kind", "kinds[each.kind]", "self._connecting.kinds[kind]")
    },
    "field.question": tuple(field.question for kind in ACCOUNTS for field in kind.fields),
    "kind.secret": tuple(kind.secret for kind in ACCOUNTS),
    "platform.steps": tuple(platform.steps for platform in PLATFORMS),
    "account.lacks": (),  # of Reason
    "message": (),  # the console's way to show a reply
}
FAILURES = (*(words for _, words in wording.FAILURES), wording.OTHER_FAILURE)


def sources() -> Iterator[Path]:
    """All but the admin page, which is in English."""
    pages = ROOT / "bot" / "admin" / "pages"
    for package in ("bot", "handlers", "routing", "storage"):
        yield from (path for path in sorted((ROOT / package).rglob("*.py")) if path.parent != pages)


def template_at(call: ast.Call, faulty: bool) -> int | None:
    """Position of the template in say(…), ask.say(…), Refused(…), notices.tell_owners(…), Say(…)(…), say_for(…)(…) and,
    in a module that is `faulty`, file.fault(path, …) and the like; None for other calls."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return 0 if name in SPEAKERS else FAULTS.get(name) if faulty else None
        case ast.Call(func=ast.Name(id=name)):
            return 0 if name in ("Say", "say_for") else None
    return None


class Collector:
    """The templates of one module, and the expressions that could not be resolved."""

    def __init__(self, path: Path) -> None:
        self.templates: set[str] = set()
        self.unknown: set[str] = set()
        name = path.as_posix()
        faulty = any(f"/{each}" in name for each in FAULTY) and not name.endswith(SHELL_ONLY)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self._constants = _assigned(tree.body)
        for function in [tree, *(each for each in ast.walk(tree) if isinstance(each, _FUNCTIONS))]:
            local = {} if isinstance(function, ast.Module) else _assigned(ast.walk(function))
            for node in _own(function):
                at = template_at(node, faulty) if isinstance(node, ast.Call) else None
                if isinstance(node, ast.Call) and at is not None and len(node.args) > at:
                    self._follow(node.args[at], local)
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "tell_owners":
                    self._labels(node)

    def _labels(self, call: ast.Call) -> None:
        for node in ast.walk(call):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Button":
                self._follow(node.args[0], {})

    def _follow(self, value: ast.expr, local: Mapping[str, list[ast.expr]]) -> None:
        match value:
            case ast.Constant(value=str(text)):
                self.templates |= {text} - {""}
            case ast.IfExp(body=one, orelse=other):
                self._follow(one, local)
                self._follow(other, local)
            case ast.Name(id=name) if texts := _texts(local.get(name) or self._constants.get(name) or []):
                for each in texts:
                    self._follow(each, local)
            case _:
                self.unknown.add(ast.unparse(value))


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module, without those of the functions inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _own(child)


def _texts(values: list[ast.expr]) -> list[ast.expr]:
    return [each for each in values if isinstance(each, ast.Constant | ast.IfExp)]


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def collected() -> tuple[set[str], set[str]]:
    templates: set[str] = set()
    unknown: set[str] = set()
    for path in sources():
        collector = Collector(path)
        templates |= collector.templates
        unknown |= collector.unknown
    return templates, unknown


def everything() -> set[str]:
    tables = {text for texts in TABLES.values() for text in texts}
    return collected()[0] | tables | set(FAILURES)


def placeholders(template: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)", template))
