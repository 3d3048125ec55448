"""The entry point: imports the command line faster and smaller than a plain import would."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from routing.lean_imports import without_collection


def main(arguments: Sequence[str] | None = None) -> int:
    """See `bot.cli.main`."""
    # An interrupted update can leave packages half replaced, so that `bot.cli` can't be imported.
    if list(sys.argv[1:] if arguments is None else arguments)[:1] == ["update"]:
        from bot.ops.update.rollback import rescue

        rescue()
    with without_collection("httpx._main"):  # httpx's own command line, with rich, click and pygments: 4 MB
        from bot import cli

    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
