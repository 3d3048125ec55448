"""Add the amount charged to limits for calls whose usage the provider did not report."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("usage", sa.Column("held_nano", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("usage", "held_nano")
