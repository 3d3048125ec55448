"""Add the examples of tools and tiers, and the setting of a chat for them."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "examples",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        sa.Column("signal", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("encoder", sa.String(length=200), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_examples_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_examples")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_examples_person_id", "examples", ["person_id"])
    op.add_column("chats", sa.Column("learning", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("chats", "learning")
    op.drop_table("examples")
