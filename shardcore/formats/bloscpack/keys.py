"""Keys of a Bloscpack file.

`5` is chunk 5, `@1000` the chunk with uncompressed byte 1000, `[3,4]` the chunk with that element of the array, and
`all` the whole content.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shardcore.errors import UsageError
from shardcore.formats.bloscpack.arrays import index_text, parse_index
from shardcore.model.safe_text import short

ALL = "all"
"""The key of the whole content."""


class KeyKind(Enum):
    CHUNK = ""
    BYTE = "@"
    ELEMENT = "["
    ALL = ALL


@dataclass(frozen=True, slots=True)
class BloscpackKey:
    """Parsed key.

    Attributes:
        kind: Kind of the request.
        number: Chunk number or uncompressed byte; 0 otherwise.
        index: Index of an element along each axis.
    """

    kind: KeyKind
    number: int = 0
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind is KeyKind.ELEMENT:
            return index_text(self.index)
        return ALL if self.kind is KeyKind.ALL else f"{self.kind.value}{self.number}"


def parse_key(text: str) -> BloscpackKey:
    """Parse a key; raise UsageError if it has none of the four forms."""
    if text == ALL:
        return BloscpackKey(KeyKind.ALL)
    if (index := parse_index(text)) is not None:
        return BloscpackKey(KeyKind.ELEMENT, index=index)
    digits = text.removeprefix("@")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
        forms = "a chunk number, `@` with the offset of an uncompressed byte, `[i,j]` for an element, or `all`"
        raise UsageError(f"invalid key {short(text)}: a key of a bloscpack file is {forms}")
    return BloscpackKey(KeyKind.BYTE if text.startswith("@") else KeyKind.CHUNK, int(digits))
