"""Replace the markers in waiting messages with fields, and drop the reasoning tokens of calls, which nothing read.

The text of a removed reaction started with "-" (now `removed`), and the text of an unsupported file was its extension
(now `extension`). The previous version reads both forms, so a downgrade leaves the messages as they are.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

BATCH = 1000
_INBOX = sa.table("inbox", sa.column("id", sa.BigInteger), sa.column("payload", sa.Text), sa.column("state", sa.String))
_MARKABLE = sa.or_(*(_INBOX.c.payload.like(f'%"kind":"{kind}"%') for kind in ("reaction", "unsupported")))


def upgrade() -> None:
    op.drop_column("usage", "reasoning_tokens")
    connection = op.get_bind()
    # Read as bytes: SQLite may hold damaged text, which would make the query fail.
    payload = sa.cast(_INBOX.c.payload, sa.LargeBinary) if connection.dialect.name == "sqlite" else _INBOX.c.payload
    markable = sa.select(_INBOX.c.id, payload.label("payload")).where(_INBOX.c.state == "waiting", _MARKABLE)
    rewrite = sa.update(_INBOX).where(_INBOX.c.id == sa.bindparam("row")).values(payload=sa.bindparam("rewritten"))
    last = 0
    while rows := connection.execute(markable.where(_INBOX.c.id > last).order_by(_INBOX.c.id).limit(BATCH)).all():
        last = rows[-1].id
        if changed := [{"row": row.id, "rewritten": new} for row in rows if (new := _with_fields(row.payload))]:
            connection.execute(rewrite, changed)


def downgrade() -> None:
    op.add_column("usage", sa.Column("reasoning_tokens", sa.Integer(), nullable=True))


def _with_fields(payload: bytes | str) -> str | None:
    """The rewritten message; None if it has no marker or can't be read."""
    try:
        message = json.loads(payload)
    except ValueError:
        return None
    match message:
        case {"kind": "reaction", "text": str(text)} if text.startswith("-"):
            return _dump(message | {"text": text[1:], "removed": True})
        case {"kind": "unsupported", "text": str(text)} if text.startswith("."):
            return _dump(message | {"text": "", "extension": text})
    return None


def _dump(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))
