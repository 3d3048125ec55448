"""Indexes that hold what reports add up."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

COUNTED = ["model", "tier", "input_tokens", "output_tokens", "cached_tokens", "cost_nano", "held_nano"]
REPORTED = ["tier", "source", "model", "seconds", "fallback", "timed_out", "escalated"]
REPORTED += ["first_token_seconds", "cost_nano", "unknown", "rating"]


def upgrade() -> None:
    for column in ("person_id", "conversation_id"):
        op.drop_index(f"ix_usage_{column}_at", "usage")
        op.create_index(f"ix_usage_{column}_at", "usage", [column, "at", *COUNTED])
    for table, columns in (("usage", COUNTED), ("turns", REPORTED)):
        op.drop_index(f"ix_{table}_at", table)
        op.create_index(f"ix_{table}_at", table, ["at", *columns])
    op.create_index("ix_turns_person_id_at", "turns", ["person_id", "at", *REPORTED])


def downgrade() -> None:
    op.drop_index("ix_turns_person_id_at", "turns")
    for table in ("usage", "turns"):
        op.drop_index(f"ix_{table}_at", table)
        op.create_index(f"ix_{table}_at", table, ["at"])
    for column in ("person_id", "conversation_id"):
        op.drop_index(f"ix_usage_{column}_at", "usage")
        op.create_index(f"ix_usage_{column}_at", "usage", [column, "at"])
