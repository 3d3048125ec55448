"""Add the processes that share a database, their claims on chats, and the chat and worker of what waits.

PostgreSQL notifies processes of changes. Up to now they noticed each other's commits by rows of `state`.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

BATCH = 1000
QUEUES = ("inbox", "outbox")
INDEXES = {
    "ix_inbox_free": "inbox (id) where state = 'waiting' and worker is null",
    "ix_inbox_claimed": "inbox (chat, id) where state = 'waiting'",
    "ix_outbox_free": "outbox (id) where state in ('pending', 'attempting') and worker is null",
    "ix_outbox_claimed": "outbox (chat, id) where state in ('pending', 'attempting')",
}
FUNCTION = """
create or replace function tierbot_changed() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        perform pg_notify('tierbot_changed', tg_table_name || ' ' || coalesce(to_jsonb(old) ->> tg_argv[0], ''));
    end if;
    if tg_op <> 'DELETE' then
        perform pg_notify('tierbot_changed', tg_table_name || ' ' || coalesce(to_jsonb(new) ->> tg_argv[0], ''));
    end if;
    return null;
end $$
"""
ANY, LATER = "insert or update or delete", "update or delete"
WATCHED = {
    "people": (LATER, "id"),
    "identities": (ANY, "person_id"),
    "preferences": (ANY, "person_id"),
    "overrides": (ANY, "person_id"),
    "facts": (ANY, "person_id"),
    "examples": (ANY, "person_id"),
    "service_accounts": (ANY, "person_id"),
    "connect_steps": (ANY, ""),
    "chats": (ANY, ""),
    "conversations": (LATER, "id"),
    "messages": (LATER, "conversation_id"),
    "summaries": (ANY, "conversation_id"),
    "budgets": (ANY, ""),
    "usage": (LATER, ""),
    "schedules": (ANY, ""),
}
_TRIGGER = "create trigger tierbot_changed after {} on {} for each row execute function tierbot_changed('{}')"
_INBOX = sa.table(
    "inbox",
    sa.column("id", sa.BigInteger),
    sa.column("payload", sa.Text),
    sa.column("state", sa.String),
    sa.column("chat", sa.String),
)
_NAME_REPLIES = """
update outbox set chat = platform || ':' ||
case when chat_id like '@%' then substr(chat_id, 2) else chat_id end where state in ('pending', 'attempting')
"""


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "processes",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("beat_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processes")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "claims",
        sa.Column("chat", sa.String(length=100), nullable=False),
        sa.Column("process_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chat", name=op.f("pk_claims")),
    )
    op.create_index("ix_claims_process_id", "claims", ["process_id"])
    for queue in QUEUES:
        op.add_column(queue, sa.Column("chat", sa.String(length=100), server_default=sa.text("''"), nullable=False))
        op.add_column(queue, sa.Column("worker", sa.BigInteger(), nullable=True))
    _name_messages(op.get_bind())
    op.execute(_NAME_REPLIES)
    op.execute("delete from state where key like 'writer %'")
    if op.get_bind().dialect.name == "postgresql":
        for name, what in INDEXES.items():
            op.execute(f"create index {name} on {what}")
        op.get_bind().exec_driver_sql(FUNCTION)
        for table, (changes, column) in WATCHED.items():
            op.execute(_TRIGGER.format(changes, table, column))


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for name in INDEXES:
            op.execute(f"drop index {name}")
        op.execute("drop function tierbot_changed cascade")
    for queue in QUEUES:
        op.drop_column(queue, "worker")
        op.drop_column(queue, "chat")
    op.drop_table("claims")
    op.drop_table("processes")


def _name_messages(connection: sa.Connection) -> None:
    """Name the chats of waiting messages, which only their payloads have. Those that can't be read are set aside at the
    next start."""
    # Read as bytes: SQLite may hold damaged text, which would make the query fail.
    payload = sa.cast(_INBOX.c.payload, sa.LargeBinary) if connection.dialect.name == "sqlite" else _INBOX.c.payload
    waiting = sa.select(_INBOX.c.id, payload.label("payload")).where(_INBOX.c.state == "waiting")
    name = sa.update(_INBOX).where(_INBOX.c.id == sa.bindparam("row")).values(chat=sa.bindparam("named"))
    last = 0
    while rows := connection.execute(waiting.where(_INBOX.c.id > last).order_by(_INBOX.c.id).limit(BATCH)).all():
        last = rows[-1].id
        if named := [{"row": row.id, "named": chat} for row in rows if (chat := _chat(row.payload))]:
            connection.execute(name, named)


def _chat(payload: bytes | str) -> str:
    try:
        chat = json.loads(payload)["chat"]
        return f"{chat['platform']}:{chat['chat_id'].removeprefix('@')}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
