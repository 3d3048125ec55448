"""Deletes everything about a person. Rows with a `person_id` go with the person's row; this module has the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, exists, or_, select, update

from routing.ports import EDIT_KEY
from routing.types.messages import ChatKey, OutgoingFile, UserKey
from storage.audit import replace_accounts
from storage.codec import FILES, OUTBOUND
from storage.schema import (
    actions,
    audit,
    chats,
    conversations,
    identities,
    inbox,
    messages,
    outbox,
    pairings,
    people,
    state,
    summaries,
    usage_hours,
)
from storage.unreadable import STATE as UNREADABLE

ADOPTION = "adopt "
"""Key prefix in `state` of a pending move of files; followed by the id of the person who was merged."""


def forget_person(connection: Connection, person_id: int) -> tuple[OutgoingFile, ...]:
    """Delete a person and all their data, except replies that are being sent: their text is deleted once they are sent.
    In the audit log, the person's accounts are replaced by the id. Returns files that nothing names any more."""
    users = accounts_of(connection, person_id)
    files = [*_forget_replies(connection, person_id, users), *_files_of_actions(connection, person_id)]
    _forget_summaries(connection, person_id)
    theirs = _own_conversations(connection, person_id, users)
    connection.execute(delete(people).where(people.c.id == person_id))
    connection.execute(delete(conversations).where(conversations.c.id.in_(theirs)))
    moves = connection.execute(select(state).where(state.c.key.startswith(ADOPTION))).all()
    keys = [EDIT_KEY.format(person_id=person_id), *(move.key for move in moves if move.value == str(person_id))]
    connection.execute(delete(state).where(state.c.key.in_(keys)))
    for user in users:
        _forget_account(connection, user)
    _forget_in_audit(connection, person_id, users)
    return tuple(files)


def accounts_of(connection: Connection, person_id: int) -> tuple[UserKey, ...]:
    rows = connection.execute(select(identities).where(identities.c.person_id == person_id))
    return tuple(UserKey(row.platform, row.user_id) for row in rows)


def _private_chats(user: UserKey) -> tuple[str, str]:
    """The ids of the user's private chat: Telegram's is the user's, and that of `ChatKey.of`."""
    return user.user_id, ChatKey.of(user).chat_id


def _forget_account(connection: Connection, user: UserKey) -> None:
    """Delete what is stored by account instead of person."""
    here = (pairings.c.platform == user.platform) & (pairings.c.user_id == user.user_id)
    connection.execute(delete(pairings).where(here))
    private = (chats.c.platform == user.platform) & chats.c.chat_id.in_(_private_chats(user))
    connection.execute(delete(chats).where(private))
    damaged = (inbox.c.state == UNREADABLE) & inbox.c.payload.contains(f'"user_id":"{user.user_id}"', autoescape=True)
    connection.execute(delete(inbox).where(inbox.c.platform == user.platform, damaged))


def _forget_replies(connection: Connection, person_id: int, users: Sequence[UserKey]) -> list[OutgoingFile]:
    """Delete the replies that were kept for their buttons or are damaged. Replies still being sent become secret."""
    private = [(outbox.c.platform == user.platform) & outbox.c.chat_id.in_(_private_chats(user)) for user in users]
    owned = outbox.c.payload.contains(f'"owner":{person_id}')
    files: list[OutgoingFile] = []
    query = select(outbox.c.id, outbox.c.state, outbox.c.payload, or_(False, *private).label("private"))
    for row in connection.execute(query.where(or_(owned, *private))).all():
        try:
            message = OUTBOUND.load(row.payload)
        except ValueError:  # damaged
            connection.execute(delete(outbox).where(outbox.c.id == row.id, outbox.c.state == UNREADABLE))
            continue
        if message.owner != person_id and not row.private:
            continue
        if row.state in ("pending", "attempting"):
            secret = OUTBOUND.dump(replace(message, secret=True))
            connection.execute(update(outbox).where(outbox.c.id == row.id).values(payload=secret))
        else:
            connection.execute(delete(outbox).where(outbox.c.id == row.id))
            files += message.files
    return files


def _files_of_actions(connection: Connection, person_id: int) -> list[OutgoingFile]:
    theirs = select(actions.c.files).where(actions.c.person_id == person_id, actions.c.files != "[]")
    return [file for text in connection.execute(theirs).scalars() for file in FILES.load(text)]


def _forget_summaries(connection: Connection, person_id: int) -> None:
    """Delete summaries that may repeat what the person said. Other people's messages are summarised again."""
    theirs = select(messages.c.conversation_id).where(messages.c.person_id == person_id)
    connection.execute(delete(summaries).where(summaries.c.conversation_id.in_(theirs)))


def _own_conversations(connection: Connection, person_id: int, users: Sequence[UserKey]) -> list[int]:
    """Conversations in which nobody else wrote or spent anything. They name the chat."""
    wrote = select(messages.c.conversation_id).where(messages.c.person_id == person_id)
    here = messages.c.conversation_id == conversations.c.id
    spent = usage_hours.c.conversation_id == conversations.c.id
    private = [
        (conversations.c.platform == user.platform) & conversations.c.chat_id.in_(_private_chats(user))
        for user in users
    ]
    own = select(conversations.c.id).where(
        or_(conversations.c.id.in_(wrote), *private),
        ~exists().where(here, messages.c.person_id.is_distinct_from(person_id)),
        ~exists().where(spent, usage_hours.c.person_id != person_id),
    )
    return list(connection.execute(own).scalars())


def _forget_in_audit(connection: Connection, person_id: int, users: Collection[UserKey]) -> None:
    named = [
        column.contains(str(user), autoescape=True) for user in users for column in (audit.c.actor, audit.c.detail)
    ]
    if not named:
        return
    accounts = {str(user): f"person {person_id}" for user in users}
    for row in connection.execute(select(audit).where(or_(*named))).all():
        changed = {
            "actor": accounts.get(row.actor, row.actor),
            "detail": replace_accounts(row.action, row.detail, accounts),
        }
        connection.execute(update(audit).where(audit.c.id == row.id).values(changed))
