"""Add turn statistics, personal limits, and indexes for sums by chat and time."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("turn_id", sa.String(length=16), nullable=False),
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        sa.Column("tier", sa.String(length=16), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("failed", sa.Text(), nullable=False),
        sa.Column("fallback", sa.Boolean(), nullable=False),
        sa.Column("timed_out", sa.Boolean(), nullable=False),
        sa.Column("escalated", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("first_token_seconds", sa.Float()),
        sa.Column("cost_nano", sa.BigInteger(), nullable=False),
        sa.Column("unknown", sa.Integer(), nullable=False),
        sa.Column("rating", sa.Integer()),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_turns_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    op.create_index("ix_turns_person_id_turn_id", "turns", ["person_id", "turn_id"])
    op.create_index("ix_turns_at", "turns", ["at"])
    op.create_table(
        "budgets",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        sa.Column("daily_nano", sa.BigInteger()),
        sa.Column("monthly_nano", sa.BigInteger()),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_budgets_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budgets")),
    )
    op.create_index("ix_budgets_person_id", "budgets", ["person_id"])
    op.create_index("ix_usage_conversation_id_at", "usage", ["conversation_id", "at"])
    op.create_index("ix_usage_at", "usage", ["at"])


def downgrade() -> None:
    op.drop_index("ix_usage_at", table_name="usage")
    op.drop_index("ix_usage_conversation_id_at", table_name="usage")
    op.drop_table("budgets")
    op.drop_table("turns")
