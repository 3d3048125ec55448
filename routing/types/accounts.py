"""Accounts with other services, such as a calendar server, that a person has connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from routing.types.messages import ChatKey, UserKey


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """An account with a service. `kind` is what `/connect` calls it, `label` tells two of one kind apart, `details` are
    what is not secret, such as the server's address and the user name. `sealed` is the encrypted password or token.
    Times are Unix seconds."""

    person_id: int
    kind: str
    label: str
    details: Mapping[str, str]
    sealed: str = field(repr=False)
    created_at: float
    tested_at: float


@dataclass(frozen=True, slots=True)
class ConnectStep:
    """A person is connecting an account of this kind in this chat. `details` are their answers so far, without the
    password. `expires_at` is in Unix seconds."""

    person_id: int
    user: UserKey
    chat: ChatKey
    kind: str
    details: Mapping[str, str]
    expires_at: float
