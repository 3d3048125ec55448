"""Add a picture to outgoing replies."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("picture", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "picture")
