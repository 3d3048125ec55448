"""Add the files of confirmed actions, which were lost if the process ended before the answer was stored."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("files", sa.Text(), nullable=False, server_default=sa.text("'[]'")))


def downgrade() -> None:
    op.drop_column("actions", "files")
