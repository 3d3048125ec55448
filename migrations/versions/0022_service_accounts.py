"""Add the accounts with other services that people connect."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _person(**more: bool) -> sa.Column[int]:
    return sa.Column("person_id", sa.BigInteger, sa.ForeignKey("people.id", ondelete="CASCADE"), **more)


def upgrade() -> None:
    op.create_table(
        "service_accounts",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        _person(nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("tested_at", sa.Float, nullable=False),
    )
    op.create_index("ix_service_accounts_person_id", "service_accounts", ["person_id"])
    op.create_table(
        "connect_steps",
        _person(primary_key=True),
        sa.Column("platform", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(64), nullable=False),
        sa.Column("chat_id", sa.String(64), nullable=False),
        sa.Column("thread_id", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_table(
        "connect_hints",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        _person(nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_index("ix_connect_hints_person_id", "connect_hints", ["person_id"])


def downgrade() -> None:
    for table in ("connect_hints", "connect_steps", "service_accounts"):
        op.drop_table(table)
