"""What limits were charged for a call that its provider did not count."""

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
