"""Access requests of people without access, as rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update

from routing.one_time_codes import hashed, matches
from routing.types.messages import UserKey
from routing.types.people import Pairing
from storage.codec import INBOUNDS
from storage.schema import identities, pairings, people
from storage.upsert import insert_if_new

HAS_ACCESS = (
    select(identities)
    .join(people)
    .where(
        identities.c.platform == pairings.c.platform,
        identities.c.user_id == pairings.c.user_id,
        people.c.role.in_(("owner", "admin", "user")),
    )
    .correlate(pairings)
    .exists()
)
"""Whether the account of a request has access by now."""
KEPT_MESSAGES = 3
"""Number of a stranger's newest messages that are kept until they get access."""
KEPT_SECONDS = 7 * 24 * 3600.0
"""How long an access request is kept after its code has expired. Its approval buttons work for as long."""


def store_request(connection: Connection, pairing: Pairing, waiting_limit: int, now: float) -> Pairing:
    """Add or renew a request at `now`, in Unix seconds; see `routing.ports.PeopleStore.ask`."""
    connection.execute(delete(pairings).where(pairings.c.expires_at <= now - KEPT_SECONDS))
    renewed = _renew(connection, pairing, now)
    if renewed is not None:
        return renewed
    oldest_first = connection.execute(select(pairings).order_by(pairings.c.expires_at)).all()
    for each in oldest_first[: max(0, len(oldest_first) + 1 - waiting_limit)]:
        connection.execute(delete(pairings).where(of_account(UserKey(each.platform, each.user_id))))
    about = {"expires_at": pairing.expires_at, "name": pairing.name[:200], "username": pairing.username[:64]}
    account = {"platform": pairing.user.platform, "user_id": pairing.user.user_id}
    about |= {"messages": INBOUNDS.dump(pairing.messages), "language": pairing.language}
    if insert_if_new(connection, pairings, account | about | {"code_hash": hashed(pairing.code)}):
        return pairing
    return _renew(connection, pairing, now) or pairing  # another process was faster


def _renew(connection: Connection, pairing: Pairing, now: float) -> Pairing | None:
    """Add the messages to the account's request and replace its code. None if there is no request."""
    mine = of_account(pairing.user)
    row = connection.execute(select(pairings).where(mine).with_for_update()).one_or_none()
    if row is None:
        return None
    kept = (*INBOUNDS.load(row.messages), *pairing.messages)[-KEPT_MESSAGES:]
    expires_at = row.expires_at if row.expires_at > now else pairing.expires_at
    values = {"messages": INBOUNDS.dump(kept), "expires_at": expires_at, "language": pairing.language}
    connection.execute(update(pairings).where(mine).values(values | {"code_hash": hashed(pairing.code)}))
    return pairing if row.expires_at <= now else replace(pairing, expires_at=expires_at, messages=kept)


def of_account(user: UserKey) -> ColumnElement[bool]:
    """Selects the account's request."""
    return (pairings.c.platform == user.platform) & (pairings.c.user_id == user.user_id)


def matches_request(row: Row[Any], asked: str | UserKey, now: float) -> bool:
    """Whether this request belongs to the account, or has this code and the code is still valid."""
    if isinstance(asked, UserKey):
        return (row.platform, row.user_id) == (asked.platform, asked.user_id)
    return row.expires_at > now and matches(asked, row.code_hash)


def read_request(row: Row[Any]) -> Pairing:
    """The request, without its code, of which only a hash is stored."""
    messages = INBOUNDS.load(row.messages)
    user = UserKey(row.platform, row.user_id)
    return Pairing(user, row.name, "", row.expires_at, row.username, messages, row.language)
