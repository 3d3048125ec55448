"""Add the codes that link two accounts to one person."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "links",
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_links_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_links")),
        sa.UniqueConstraint("code", name=op.f("uq_links_code")),
    )


def downgrade() -> None:
    op.drop_table("links")
