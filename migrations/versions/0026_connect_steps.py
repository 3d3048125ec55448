"""Keep a step of connecting an account per chat instead of one per person."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Steps in progress are dropped: /connect begins again."""
    op.drop_table("connect_steps")
    _create(sa.PrimaryKeyConstraint("platform", "chat_id", "thread_id", "user_id"))
    op.create_index("ix_connect_steps_person_id", "connect_steps", ["person_id"])


def downgrade() -> None:
    op.drop_table("connect_steps")
    _create(sa.PrimaryKeyConstraint("person_id"))


def _create(key: sa.PrimaryKeyConstraint) -> None:
    op.create_table(
        "connect_steps",
        sa.Column("person_id", sa.BigInteger, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
        sa.Column("platform", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(64), nullable=False),
        sa.Column("chat_id", sa.String(64), nullable=False),
        sa.Column("thread_id", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        key,
    )
