"""Add the languages of accounts' apps."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("identities", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.add_column(sa.Column("language", sa.String(length=8), nullable=False, server_default=""))


def downgrade() -> None:
    for table in ("identities", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.drop_column("language")
