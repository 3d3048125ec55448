"""Medians and the like, in SQL that both databases speak."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, ColumnElement, Subquery, Table, case, func, select


def ranked(
    table: Table, value: Column[float], groups: Sequence[ColumnElement[str]], where: ColumnElement[bool]
) -> Subquery:
    """The rows of a table, each with its `place` by `value` among the `many` of its group."""
    place = func.row_number().over(partition_by=groups, order_by=value)
    many = func.count().over(partition_by=groups)
    return select(table, place.label("place"), many.label("many")).where(where).subquery()


def quantile(rows: Subquery, value: str, percent: int) -> ColumnElement[float]:
    """Of each group, the least value that is not below `percent` of them; `rows` are ranked by it."""
    return func.min(case((rows.c.place * 100 >= rows.c.many * percent, rows.c[value])))
