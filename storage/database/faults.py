"""Translates database driver errors."""

from __future__ import annotations

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError

from routing.errors import ConfigError, Reason, StorageFault

_BAD_VALUE = "a value can't be stored"
STEP_ERRORS = (IntegrityError, ProgrammingError, DataError)
"""Errors of the step itself; all others mean that the database is unavailable."""


REASONS = {
    "locked": Reason("another program has locked it"),
    "disk is full": Reason("the disk is full"),
    "disk i/o error": Reason("the disk reports an error"),
    "readonly": Reason("it can't be written"),
    "unable to open": Reason("it can't be opened"),
    "malformed": Reason("it is damaged"),
    "not a database": Reason("it is damaged"),
    "pool limit": Reason("all connections are in use"),
    _BAD_VALUE: Reason("a value can't be stored"),
}
"""Plain words for error messages of SQLite and SQLAlchemy."""


def fault(error: BaseException) -> StorageFault:
    """The error for a database that is unavailable for now."""
    message = driver_message(error)
    known = next((reason for words, reason in REASONS.items() if words in message.lower()), message)
    return StorageFault("the database can't be used at the moment ({error})", error=known)


def driver_message(error: BaseException) -> str:
    """The driver's message on one line, without values, which are private: SQLAlchemy's own message has those of the
    statement, asyncpg's DETAIL those of a row."""
    driver = error.orig if isinstance(error, DBAPIError) and error.orig else error
    if _shows_value(error, driver):
        return _BAD_VALUE
    return " ".join(str(driver).partition("\nDETAIL:")[0].split())


def _shows_value(error: BaseException, driver: BaseException) -> bool:
    """Whether the message is about a value of the wrong type or size: SQLSTATE class 22, and asyncpg's own checks."""
    is_data_exception = str(getattr(driver, "sqlstate", "")).startswith("22")
    return is_data_exception or isinstance(error, DataError) or isinstance(driver.__cause__, ValueError)


def explain(error: BaseException, where: str) -> ConfigError:
    """The error for a database that can't be opened, with the reason and a remedy."""
    text = driver_message(error)
    low = text.lower()
    if "malformed" in low or "not a database" in low:
        fix = "it is damaged; move it aside and restore a copy from the backups folder (nothing was changed)"
    elif "locked" in low or "busy" in low:
        fix = "another program has locked it; close that program and start again"
    elif "full" in low or "no space" in low:
        fix = "the disk is full; free some space and start again (nothing was overwritten)"
    elif "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        fix = "it can't be written; make its folder writable for this user or set WORKSPACE to another folder"
    else:
        fix = "nothing was changed"
    return ConfigError(f"The database {where} can't be used ({text}): {fix}.")
