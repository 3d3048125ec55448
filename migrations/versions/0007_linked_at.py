"""Add the time at which an account was linked."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("identities", sa.Column("linked_at", sa.Float(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("identities", "linked_at")
