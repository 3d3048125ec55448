"""What can befall a call, beside what the tool itself says."""

from __future__ import annotations


class Hung(Exception):
    """The server does not answer."""


class Forgotten(Exception):
    """A call never ran: the connection is to be made again."""
