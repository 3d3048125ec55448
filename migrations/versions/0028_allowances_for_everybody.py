"""Add an index of the allowances for everybody, so that a person's are found without reading those of all others."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_allowances_everybody", "allowances", ["everybody"])


def downgrade() -> None:
    op.drop_index("ix_allowances_everybody", "allowances")
