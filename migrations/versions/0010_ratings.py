"""Add the platform messages that show a turn's answer, so that reactions rate the turn."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("turn_id", sa.String(length=16), nullable=False, server_default=sa.text("''")))
    op.create_table(
        "pieces",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("outbox_id", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["outbox_id"], ["outbox.id"], name=op.f("fk_pieces_outbox_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pieces")),
    )
    op.create_index("ix_pieces_outbox_id", "pieces", ["outbox_id"])
    op.create_index("ix_pieces_message_id", "pieces", ["message_id"])


def downgrade() -> None:
    op.drop_table("pieces")
    op.drop_column("outbox", "turn_id")
