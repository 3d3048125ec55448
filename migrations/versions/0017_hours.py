"""Add hourly sums of usage and turns, and indexes for the newest turns of a model."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

UNCOUNTED_TOKENS = 3_000
TIMED = ["tier", "model", "at", "source", "seconds"]
USAGE_SUMS = {
    "calls": "count(*)",
    "input_tokens": "coalesce(sum(input_tokens), 0)",
    "output_tokens": "coalesce(sum(output_tokens), 0)",
    "cached_tokens": "coalesce(sum(cached_tokens), 0)",
    "cost_nano": "coalesce(sum(cost_nano), 0)",
    "unknown": "count(*) - count(cost_nano)",
    "charged_nano": "coalesce(sum(coalesce(cost_nano, held_nano)), 0)",
    "uncharged_tokens": "coalesce(sum(case when coalesce(cost_nano, held_nano) is null "
    f"then coalesce(input_tokens + output_tokens, {UNCOUNTED_TOKENS}) end), 0)",
}
TURN_SUMS = {
    "turns": "count(*)",
    "fallbacks": "count(case when fallback then 1 end)",
    "timeouts": "count(case when timed_out then 1 end)",
    "escalations": "count(case when escalated then 1 end)",
    "first_tokens": "count(first_token_seconds)",
    "first_token_seconds": "coalesce(sum(first_token_seconds), 0)",
    "cost_nano": "sum(cost_nano)",
    "unknown": "sum(unknown)",
    "liked": "count(case when rating > 0 then 1 end)",
    "disliked": "count(case when rating < 0 then 1 end)",
}


def upgrade() -> None:
    usage_key = [
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("tier", sa.String(length=16), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
    ]
    turn_key = [
        sa.Column("tier", sa.String(length=16), nullable=False),
        sa.Column("council", sa.Boolean(), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
    ]
    _create("usage_hours", usage_key, USAGE_SUMS)
    _create("turn_hours", turn_key, TURN_SUMS)
    op.create_index("ix_usage_hours_conversation_id_hour", "usage_hours", ["conversation_id", "hour"])
    _fill("usage_hours", "usage", {name: name for name in ("conversation_id", "tier", "model")}, USAGE_SUMS)
    turn_values = {"tier": "tier", "council": "source = 'council'", "model": "model"}
    _fill("turn_hours", "turns", turn_values, TURN_SUMS)
    op.create_index("ix_turns_person_id_at", "turns", ["person_id", "at"])
    op.create_index("ix_turns_person_id_tier", "turns", ["person_id", *TIMED])
    op.create_index("ix_turns_tier", "turns", TIMED)


def downgrade() -> None:
    op.drop_index("ix_turns_tier", "turns")
    op.drop_index("ix_turns_person_id_tier", "turns")
    op.drop_index("ix_turns_person_id_at", "turns")
    op.drop_table("turn_hours")
    op.drop_table("usage_hours")


def _create(table: str, key: list[sa.Column], sums: dict[str, str]) -> None:
    types = {"first_token_seconds": sa.Float()}
    op.create_table(
        table,
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        *key,
        *(sa.Column(name, types.get(name, sa.BigInteger()), nullable=False) for name in sums),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f(f"fk_{table}_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(f"ix_{table}_person_id_hour", table, ["person_id", "hour"])
    op.create_index(f"ix_{table}_hour", table, ["hour"])


def _fill(table: str, rows: str, key: dict[str, str], sums: dict[str, str]) -> None:
    # PostgreSQL's cast rounds; SQLite's truncates, and SQLite may lack floor().
    hour = "cast(at / 3600 as integer)" if op.get_bind().dialect.name == "sqlite" else "floor(at / 3600)"
    values = {"hour": hour, "person_id": "person_id"} | key
    op.execute(
        f"insert into {table} ({', '.join(values | sums)}) select {', '.join((values | sums).values())}"
        f" from {rows} group by {', '.join(values.values())}"
    )
