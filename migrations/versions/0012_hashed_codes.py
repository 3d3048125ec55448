"""Store codes as salted hashes. Existing codes are deleted; they were valid for at most ten minutes."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _drop_codes()
    for table in ("links", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(op.f(f"uq_{table}_code"), type_="unique")
            batch.drop_column("code")
            batch.add_column(sa.Column("code_hash", sa.String(length=100), nullable=False))


def downgrade() -> None:
    _drop_codes()
    for table in ("links", "pairings"):
        with op.batch_alter_table(table) as batch:
            batch.drop_column("code_hash")
            batch.add_column(sa.Column("code", sa.String(length=16), nullable=False))
            batch.create_unique_constraint(op.f(f"uq_{table}_code"), ["code"])


def _drop_codes() -> None:
    op.execute("delete from links")
    op.execute("delete from pairings")
    op.execute("delete from state where key = 'owner_code'")
