"""Files in requests."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Upload:
    """A file part of a multipart request."""

    name: str
    data: bytes = field(repr=False)
    mime: str
