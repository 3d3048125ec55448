"""Database tables. Times are Unix seconds, money is integer nano-dollars, documents are JSON text."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

REVISION = "0031"
"""The newest migration. It is here so that starting on a current database does not import Alembic; a test compares it
with the migrations folder."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)


# Tables with ids that are used elsewhere (buttons, caches) set sqlite_autoincrement, so ids are never reused.


def _person(*, primary_key: bool = False, nullable: bool = False) -> Column[int]:
    reference = ForeignKey("people.id", ondelete="CASCADE")
    return Column("person_id", BigInteger, reference, primary_key=primary_key, nullable=nullable)


people = Table(
    "people",
    metadata,
    _id(),
    Column("name", String(200), nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Float, nullable=False),
    sqlite_autoincrement=True,
)

identities = Table(
    "identities",
    metadata,
    Column("platform", String(32), primary_key=True),
    Column("user_id", String(64), primary_key=True),
    _person(),
    Column("linked_at", Float, nullable=False, default=0.0, server_default=text("0")),
    Column("username", String(64), nullable=False, default="", server_default=text("''")),
    Column("language", String(8), nullable=False, default="", server_default=text("''")),
    Index("ix_identities_person_id", "person_id"),
)

preferences = Table(
    "preferences",
    metadata,
    _person(primary_key=True),
    Column("tier", String(16)),
    Column("force", Boolean, nullable=False, default=False),
    Column("language", String(8), nullable=False, default=""),
    Column("time_zone", String(64), nullable=False, default="UTC"),
    Column("instructions", Text, nullable=False, default=""),
    Column("toolkits_off", Text, nullable=False, default="[]", server_default=text("'[]'")),
    Column("footer", Boolean, nullable=False, default=False, server_default=text("false")),
    Column("voice", Boolean, nullable=False, default=False, server_default=text("false")),
    Column("memory", Boolean, nullable=False, default=True, server_default=text("true")),
)

overrides = Table(
    "overrides",
    metadata,
    _person(primary_key=True),
    Column("tier", String(16), primary_key=True),
    Column("model", String(200), nullable=False),
    Column("reasoning", String(16)),
)

chats = Table(
    "chats",
    metadata,
    Column("platform", String(32), primary_key=True),
    Column("chat_id", String(64), primary_key=True),
    Column("streaming", Boolean, nullable=False, default=True),
    Column("allowed", Boolean, nullable=False, default=False),
    Column("learning", Boolean),
)

conversations = Table(
    "conversations",
    metadata,
    _id(),
    Column("platform", String(32), nullable=False),
    Column("chat_id", String(64), nullable=False),
    Column("thread_id", String(64), nullable=False),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("tier", String(16)),
    Column("tier_at", Float, nullable=False, default=0.0, server_default=text("0")),
    Column("skill", String(64), nullable=False, default="", server_default=text("''")),
    Column("skill_at", Float, nullable=False, default=0.0, server_default=text("0")),
    Index("ix_conversations_chat", "platform", "chat_id", "thread_id"),
    sqlite_autoincrement=True,
)

messages = Table(
    "messages",
    metadata,
    _id(),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    _person(nullable=True),
    Column("turn_id", String(16), nullable=False),
    Column("role", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("pictures", Text, nullable=False, default="[]"),
    Column("at", Float, nullable=False),
    Column("calls", Text, nullable=False, default="", server_default=text("''")),
    Column("model", String(200), nullable=False, default="", server_default=text("''")),
    Column("thinking", Text, nullable=False, default="", server_default=text("''")),
    Column("call_id", Text, nullable=False, default="", server_default=text("''")),
    Column("tool", Text, nullable=False, default="", server_default=text("''")),
    Column("source", String(64), nullable=False, default="", server_default=text("''")),
    Column("own_words", Text, nullable=False, default="", server_default=text("''")),
    Index("ix_messages_conversation_id", "conversation_id", "id"),
    Index("ix_messages_person_id", "person_id"),
)

summaries = Table(
    "summaries",
    metadata,
    _id(),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("upto", BigInteger, nullable=False),
    Column("covers", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
    _person(nullable=True),
    Index("ix_summaries_conversation_id", "conversation_id", "id"),
    Index("ix_summaries_person_id", "person_id"),
)

# States in the inbox: waiting, done. In the outbox: pending, attempting, sent, dead. Damaged rows: unreadable. `chat`
# names the row's chat in `claims`, and `worker` is the process that handles it.
inbox = Table(
    "inbox",
    metadata,
    _id(),
    Column("platform", String(32), nullable=False),
    Column("bot_id", String(64), nullable=False),
    Column("update_id", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("placeholder", String(64), nullable=False, default=""),
    Column("received_at", Float, nullable=False),
    Column("fixed", Text, nullable=False, default="", server_default=text("''")),
    Column("chat", String(100), nullable=False, default="", server_default=text("''")),
    Column("worker", BigInteger),
    UniqueConstraint("platform", "bot_id", "update_id"),
    Index("ix_inbox_state", "state"),
    sqlite_autoincrement=True,
)

outbox = Table(
    "outbox",
    metadata,
    _id(),
    Column("platform", String(32), nullable=False),
    Column("chat_id", String(64), nullable=False),
    Column("thread_id", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("picture", LargeBinary),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("pieces_sent", Integer, nullable=False, default=0),
    Column("ambiguous", Integer, nullable=False, default=0, server_default=text("0")),
    Column("not_before", Float, nullable=False, default=0.0),
    Column("message_id", String(64), nullable=False, default=""),
    Column("error", Text, nullable=False, default=""),
    Column("created_at", Float, nullable=False),
    Column("turn_id", String(16), nullable=False, default="", server_default=text("''")),
    Column("chat", String(100), nullable=False, default="", server_default=text("''")),
    Column("worker", BigInteger),
    Index("ix_outbox_state", "state"),
    Index("ix_outbox_chat", "platform", "chat_id"),
    sqlite_autoincrement=True,
)

pieces = Table(
    "pieces",
    metadata,
    _id(),
    Column("outbox_id", BigInteger, ForeignKey("outbox.id", ondelete="CASCADE"), nullable=False),
    Column("message_id", String(64), nullable=False),
    Index("ix_pieces_outbox_id", "outbox_id"),
    Index("ix_pieces_message_id", "message_id"),
)

usage = Table(
    "usage",
    metadata,
    _id(),
    Column("turn_id", String(16), nullable=False),
    _person(),
    Column("conversation_id", BigInteger, nullable=False),
    Column("tier", String(16), nullable=False),
    Column("model", String(200), nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cost_nano", BigInteger),
    Column("held_nano", BigInteger),
    Column("seconds", Float, nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_usage_person_id_at", "person_id", "at"),
    Index("ix_usage_conversation_id_at", "conversation_id", "at"),
    Index("ix_usage_at", "at"),
)

# Sums of `usage` and `turns` per hour of Unix time. Reports and budgets read these instead of every row. Two rows have
# the same key if two people were merged.

usage_hours = Table(
    "usage_hours",
    metadata,
    _id(),
    Column("hour", Integer, nullable=False),
    _person(),
    Column("conversation_id", BigInteger, nullable=False),
    Column("tier", String(16), nullable=False),
    Column("model", String(200), nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("cost_nano", BigInteger, nullable=False),
    Column("unknown", BigInteger, nullable=False),
    Column("charged_nano", BigInteger, nullable=False),
    Column("uncharged_tokens", BigInteger, nullable=False),
    Index("ix_usage_hours_person_id_hour", "person_id", "hour"),
    Index("ix_usage_hours_conversation_id_hour", "conversation_id", "hour"),
    Index("ix_usage_hours_hour", "hour"),
)

turn_hours = Table(
    "turn_hours",
    metadata,
    _id(),
    Column("hour", Integer, nullable=False),
    _person(),
    Column("tier", String(16), nullable=False),
    Column("council", Boolean, nullable=False),
    Column("model", String(200), nullable=False),
    Column("turns", BigInteger, nullable=False),
    Column("fallbacks", BigInteger, nullable=False),
    Column("timeouts", BigInteger, nullable=False),
    Column("escalations", BigInteger, nullable=False),
    Column("first_tokens", BigInteger, nullable=False),
    Column("first_token_seconds", Float, nullable=False),
    Column("cost_nano", BigInteger, nullable=False),
    Column("unknown", BigInteger, nullable=False),
    Column("liked", BigInteger, nullable=False),
    Column("disliked", BigInteger, nullable=False),
    Index("ix_turn_hours_person_id_hour", "person_id", "hour"),
    Index("ix_turn_hours_hour", "hour"),
)

_TIMED = ("tier", "model", "at", "source", "seconds")

turns = Table(
    "turns",
    metadata,
    _id(),
    Column("turn_id", String(16), nullable=False),
    _person(),
    Column("tier", String(16), nullable=False),
    Column("source", String(16), nullable=False),
    Column("model", String(200), nullable=False),
    Column("failed", Text, nullable=False),
    Column("fallback", Boolean, nullable=False),
    Column("timed_out", Boolean, nullable=False),
    Column("escalated", Boolean, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("first_token_seconds", Float),
    Column("cost_nano", BigInteger, nullable=False),
    Column("unknown", Integer, nullable=False),
    Column("rating", Integer),
    Column("at", Float, nullable=False),
    Index("ix_turns_turn_id", "turn_id", "person_id"),
    Index("ix_turns_person_id_at", "person_id", "at"),
    Index("ix_turns_at", "at"),
    Index("ix_turns_person_id_tier", "person_id", *_TIMED),
    Index("ix_turns_tier", *_TIMED),
)

budgets = Table(
    "budgets",
    metadata,
    _id(),
    _person(),
    Column("daily_nano", BigInteger),
    Column("monthly_nano", BigInteger),
    Index("ix_budgets_person_id", "person_id"),
)

pairings = Table(
    "pairings",
    metadata,
    Column("platform", String(32), primary_key=True),
    Column("user_id", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("code_hash", String(100), nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("username", String(64), nullable=False, default="", server_default=text("''")),
    Column("messages", Text, nullable=False, default="[]", server_default=text("'[]'")),
    Column("language", String(8), nullable=False, default="", server_default=text("''")),
)

links = Table(
    "links",
    metadata,
    _person(primary_key=True),
    Column("code_hash", String(100), nullable=False),
    Column("expires_at", Float, nullable=False),
)

actions = Table(
    "actions",
    metadata,
    _id(),
    _person(),
    Column("conversation_id", BigInteger, nullable=False),
    Column("tool", String(64), nullable=False),
    Column("toolkit", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("note", Text, nullable=False),
    Column("tier", String(16)),
    Column("state", String(16), nullable=False),
    Column("press", String(64), nullable=False),
    Column("result", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("files", Text, nullable=False, default="[]", server_default=text("'[]'")),
    Index("ix_actions_person_id", "person_id"),
    sqlite_autoincrement=True,
)

allowances = Table(
    "allowances",
    metadata,
    _id(),
    _person(),
    Column("conversation_id", BigInteger),
    Column("tool", String(64), nullable=False),
    Column("version", String(64), nullable=False),
    Column("everybody", Boolean, nullable=False),
    Index("ix_allowances_person_id", "person_id"),
    Index("ix_allowances_everybody", "everybody"),  # a partial one would load PostgreSQL's dialect, 2 MB
)

service_accounts = Table(
    "service_accounts",
    metadata,
    _id(),
    _person(),
    Column("kind", String(32), nullable=False),
    Column("label", String(200), nullable=False),
    Column("details", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("tested_at", Float, nullable=False),
    Index("ix_service_accounts_person_id", "person_id"),
)

connect_steps = Table(
    "connect_steps",
    metadata,
    _person(),
    Column("platform", String(32), primary_key=True),
    Column("chat_id", String(64), primary_key=True),
    Column("thread_id", String(64), primary_key=True),
    Column("user_id", String(64), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("details", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Index("ix_connect_steps_person_id", "person_id"),
)

connect_hints = Table(
    "connect_hints",
    metadata,
    _id(),
    _person(),
    Column("kind", String(32), nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_connect_hints_person_id", "person_id"),
)

facts = Table(
    "facts",
    metadata,
    _id(),
    _person(),
    Column("text", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("author", String(16), nullable=False),
    Column("conversation_id", BigInteger, nullable=False),
    Column("turn_id", String(16), nullable=False),
    Column("sources", Text, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Index("ix_facts_person_id", "person_id"),
    sqlite_autoincrement=True,
)

examples = Table(
    "examples",
    metadata,
    _id(),
    _person(),
    Column("signal", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("turn_id", String(16), nullable=False),
    Column("at", Float, nullable=False),
    Column("encoder", String(200), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Index("ix_examples_person_id", "person_id"),
    sqlite_autoincrement=True,
)

schedules = Table(
    "schedules",
    metadata,
    _id(),
    _person(),
    Column("platform", String(32), nullable=False),
    Column("chat_id", String(64), nullable=False),
    Column("thread_id", String(64), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("next_at", Float, nullable=False),
    Column("state", String(16), nullable=False),
    Column("failures", Integer, nullable=False, default=0),
    Column("created_at", Float, nullable=False),
    Index("ix_schedules_person_id", "person_id"),
    Index("ix_schedules_next_at", "platform", "state", "next_at"),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    _id(),
    Column("at", Float, nullable=False),
    Column("actor", String(100), nullable=False),
    Column("action", String(32), nullable=False),
    Column("detail", Text, nullable=False),
)

state = Table(
    "state",
    metadata,
    Column("key", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

vectors = Table(
    "vectors",
    metadata,
    Column("encoder", String(200), primary_key=True),
    Column("hash", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# Of several processes that share a PostgreSQL database: those that run, and the chats that each of them handles.
# `beat_at` is the time of the last heartbeat, and of a process that ended, minus the time of that.

processes = Table(
    "processes",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    Column("beat_at", Float, nullable=False),
    sqlite_autoincrement=True,
)

claims = Table(
    "claims",
    metadata,
    Column("chat", String(100), primary_key=True),
    Column("process_id", BigInteger, nullable=False),
    Index("ix_claims_process_id", "process_id"),
)
