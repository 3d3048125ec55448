"""Add usernames of accounts, and the first messages of strangers until they get access."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("identities", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.add_column(sa.Column("username", sa.String(length=64), nullable=False, server_default=""))
    with op.batch_alter_table("pairings") as batch:
        batch.add_column(sa.Column("messages", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("pairings") as batch:
        batch.drop_column("messages")
    for table in ("identities", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.drop_column("username")
