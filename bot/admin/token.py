"""ADMIN_TOKEN, or a generated token in the workspace."""

from __future__ import annotations

import hmac
import logging
import secrets
from contextlib import suppress
from pathlib import Path

from bot.config.settings import MIN_TOKEN_CHARACTERS
from bot.config.workspace import Workspace
from routing.atomic_file import write_text
from routing.errors import system_reason

log = logging.getLogger("bot.admin")


def admin_token(workspace: Workspace) -> str:
    """The token of the setting, or of `admin.token`, which is created if necessary. It is kept out of logs."""
    given = workspace.environment.settings.admin_token
    token = given.get_secret_value() if given else _stored(workspace.admin_token)
    workspace.conceal([token])
    return token


def is_token(given: str, token: str) -> bool:
    """Compares in a time that does not depend on where the texts differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


def _stored(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        token = path.read_text(encoding="utf-8").strip()
        if len(token) >= MIN_TOKEN_CHARACTERS:
            return token
    token = secrets.token_urlsafe(32)
    try:
        write_text(path, f"{token}\n", 0o600)
    except OSError as error:
        log.warning("%s can't be written (%s), so nobody knows the token. Set ADMIN_TOKEN.", path, system_reason(error))
    return token
