"""Add tool calls and results to messages, add summaries, and add each conversation's tier and skill."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SPOKEN = {
    "calls": sa.Text(),
    "model": sa.String(length=200),
    "thinking": sa.Text(),
    "call_id": sa.Text(),
    "tool": sa.Text(),
    "source": sa.String(length=64),
}


def upgrade() -> None:
    for name, kind in _SPOKEN.items():
        op.add_column("messages", sa.Column(name, kind, nullable=False, server_default=sa.text("''")))
    op.add_column("conversations", sa.Column("tier", sa.String(length=16)))
    op.add_column("conversations", sa.Column("tier_at", sa.Float(), nullable=False, server_default=sa.text("0")))
    skill = sa.Column("skill", sa.String(length=64), nullable=False, server_default=sa.text("''"))
    op.add_column("conversations", skill)
    op.add_column("conversations", sa.Column("skill_at", sa.Float(), nullable=False, server_default=sa.text("0")))
    op.create_table(
        "summaries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("upto", sa.BigInteger(), nullable=False),
        sa.Column("covers", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_summaries_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summaries")),
    )
    op.create_index("ix_summaries_conversation_id", "summaries", ["conversation_id", "id"])


def downgrade() -> None:
    op.drop_index("ix_summaries_conversation_id", table_name="summaries")
    op.drop_table("summaries")
    for name in ("skill_at", "skill", "tier_at", "tier"):
        op.drop_column("conversations", name)
    for name in reversed(_SPOKEN):
        op.drop_column("messages", name)
