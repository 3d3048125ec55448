"""Move the person who alone may read a summary from the first line of the text to a column."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_MARK = re.compile(r"\[for person (\d+) alone\]\n")
_SUMMARIES = sa.table(
    "summaries", sa.column("id", sa.BigInteger), sa.column("text", sa.Text), sa.column("person_id", sa.BigInteger)
)
_PEOPLE = sa.table("people", sa.column("id", sa.BigInteger))


def upgrade() -> None:
    with op.batch_alter_table("summaries") as batch:
        batch.add_column(sa.Column("person_id", sa.BigInteger(), nullable=True))
        batch.create_foreign_key("fk_summaries_person_id", "people", ["person_id"], ["id"], ondelete="CASCADE")
    connection = op.get_bind()
    known = set(connection.execute(sa.select(_PEOPLE.c.id)).scalars())
    for row in connection.execute(sa.select(_SUMMARIES).where(_SUMMARIES.c.text.like("[for person % alone]%"))).all():
        found = _MARK.match(row.text)
        if found is None:
            continue
        here = _SUMMARIES.c.id == row.id
        if int(found[1]) in known:
            values = {"text": row.text[found.end() :], "person_id": int(found[1])}
            connection.execute(sa.update(_SUMMARIES).where(here).values(**values))
        else:  # of a deleted person: no one could read it
            connection.execute(sa.delete(_SUMMARIES).where(here))


def downgrade() -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(_SUMMARIES).where(_SUMMARIES.c.person_id.is_not(None))).all():
        text = f"[for person {row.person_id} alone]\n{row.text}"
        connection.execute(sa.update(_SUMMARIES).where(_SUMMARIES.c.id == row.id).values(text=text))
    with op.batch_alter_table("summaries") as batch:
        batch.drop_constraint("fk_summaries_person_id", type_="foreignkey")
        batch.drop_column("person_id")
