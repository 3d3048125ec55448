"""Parameter types of sample tools."""

from __future__ import annotations

import typing
from dataclasses import dataclass, field
from enum import Enum
from typing import NotRequired

from pydantic import BaseModel, Field


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Opening(typing.TypedDict):
    day: str
    hour: NotRequired[int]


class Node(BaseModel):
    name: str = Field(description="its label")
    children: list[Node] = []


class Pair(BaseModel):
    first: Point
    second: Point
