"""What only PostgreSQL has beside the tables: indexes for claims, notifications of rare changes."""

from __future__ import annotations

from collections.abc import Iterator

UNSENT = "state in ('pending', 'attempting')"
"""Condition for replies that are not sent yet."""
INDEXES = {
    "ix_inbox_free": "inbox (id) where state = 'waiting' and worker is null",
    "ix_inbox_claimed": "inbox (chat, id) where state = 'waiting'",
    "ix_outbox_free": f"outbox (id) where {UNSENT} and worker is null",
    "ix_outbox_claimed": f"outbox (chat, id) where {UNSENT}",
}
APPLICATION = "tierbot"
"""Name of a running bot's connection in `pg_stat_activity`."""
DEAD_SECONDS = 6.0
"""After the last heartbeat of a process."""
CHANGED = "tierbot_changed"
"""The channel of notifications, the function that sends them and the triggers that call it."""
_ANY, _LATER = "insert or update or delete", "update or delete"
WATCHED = {
    "people": (_LATER, "id"),
    "identities": (_ANY, "person_id"),
    "preferences": (_ANY, "person_id"),
    "overrides": (_ANY, "person_id"),
    "facts": (_ANY, "person_id"),
    "examples": (_ANY, "person_id"),
    "service_accounts": (_ANY, "person_id"),
    "connect_steps": (_ANY, ""),
    "chats": (_ANY, ""),
    "conversations": (_LATER, "id"),
    "messages": (_LATER, "conversation_id"),
    "summaries": (_ANY, "conversation_id"),
    "budgets": (_ANY, ""),
    "usage": (_LATER, ""),
    "schedules": (_ANY, ""),
}
"""The tables whose changes are notified, which changes, and the column that a notification names with the table. Turns
make none of them: a commit with a notification waits for all others of its kind."""
_FUNCTION = f"""
create or replace function {CHANGED}() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        perform pg_notify('{CHANGED}', tg_table_name || ' ' || coalesce(to_jsonb(old) ->> tg_argv[0], ''));
    end if;
    if tg_op <> 'DELETE' then
        perform pg_notify('{CHANGED}', tg_table_name || ' ' || coalesce(to_jsonb(new) ->> tg_argv[0], ''));
    end if;
    return null;
end $$
"""


def statements() -> Iterator[str]:
    """The statements that create all of it."""
    for name, what in INDEXES.items():
        yield f"create index {name} on {what}"
    yield _FUNCTION
    for table, (changes, column) in WATCHED.items():
        yield f"create trigger {CHANGED} after {changes} on {table} for each row execute function {CHANGED}('{column}')"
