"""Add indexes so that forgetting or merging people, and reactions, do not scan whole tables."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("messages", "summaries"):
        op.create_index(f"ix_{table}_person_id", table, ["person_id"])
    op.create_index("ix_outbox_chat", "outbox", ["platform", "chat_id"])
    op.create_index("ix_turns_turn_id", "turns", ["turn_id", "person_id"])
    op.drop_index("ix_turns_person_id_turn_id", "turns")


def downgrade() -> None:
    op.create_index("ix_turns_person_id_turn_id", "turns", ["person_id", "turn_id"])
    op.drop_index("ix_turns_turn_id", "turns")
    op.drop_index("ix_outbox_chat", "outbox")
    for table in ("messages", "summaries"):
        op.drop_index(f"ix_{table}_person_id", table)
