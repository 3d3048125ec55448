"""Add the toolkits that a person has switched off."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    off = sa.Column("toolkits_off", sa.Text(), nullable=False, server_default=sa.text("'[]'"))
    op.add_column("preferences", off)


def downgrade() -> None:
    op.drop_column("preferences", "toolkits_off")
