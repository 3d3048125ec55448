"""Pieces of a message, as tests read them."""

from __future__ import annotations

from bot.rendering.telegram import Piece, pieces
from tests.bot.rendering.checker import assert_valid, covered


def one(markdown: str) -> Piece:
    (piece,) = pieces(markdown)
    assert_valid(piece, 4096)
    return piece


def formatting(piece: Piece) -> list[tuple[str, str]]:
    return [(entity["type"], covered(piece, entity)) for entity in piece.entities]


def links(piece: Piece) -> dict[str, str | None]:
    return {covered(piece, entity): entity.get("url") for entity in piece.entities if entity["type"] == "text_link"}


def valid(markdown: str, limit: int = 4096) -> tuple[Piece, ...]:
    parts = pieces(markdown, limit)
    for part in parts:
        assert_valid(part, limit)
    return parts
