"""What a driver says about its database, in our words."""

from __future__ import annotations

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError

from routing.errors import ConfigError, StorageFault

OUR_OWN = (IntegrityError, ProgrammingError, DataError)
"""What a step did wrong; anything else is the database's trouble."""


def fault(error: BaseException) -> StorageFault:
    """For the process: wait and try again."""
    return StorageFault(f"The database can't be used at the moment ({_said(error)}).")


def _said(error: BaseException) -> str:
    """The driver's own words on one line: around them stand the statement and its values, which are private."""
    words = str(error.orig if isinstance(error, DBAPIError) and error.orig else error)
    return " ".join(words.split())


def explain(error: BaseException, where: str) -> ConfigError:
    """Turn what a driver said about an unusable database into the owner's sentence."""
    text = _said(error)
    low = text.lower()
    if "malformed" in low or "not a database" in low:
        mend = "it is damaged; move it aside and restore a copy from the backups folder (nothing was changed)"
    elif "locked" in low or "busy" in low:
        mend = "another program has locked it; close that program and start again"
    elif "full" in low or "no space" in low:
        mend = "the disk is full; free some space and start again (nothing was overwritten)"
    elif "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        mend = "it can't be written; make its folder writable for this user or set WORKSPACE to another folder"
    else:
        mend = "nothing was changed"
    return ConfigError(f"The database {where} can't be used ({text}): {mend}.")
