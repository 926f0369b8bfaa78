"""Results of `content`: one class per kind of content."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shardcore.model.content_layout import RAW, ArrayLayout
from shardcore.model.text import Displayed


@dataclass(frozen=True, slots=True)
class Content(Displayed):
    """Content of an object.

    Attributes:
        title: Short description: `PNG picture`, `Python source`.
        size: Total bytes; -1 if unknown.
        data: The bytes that were read, from the beginning.
        note: Reason why the content is incomplete or shown as bytes, or empty.
    """

    kind: ClassVar[str] = "bytes"

    title: str
    size: int
    data: bytes = field(repr=False)
    note: str = ""

    @property
    def complete(self) -> bool:
        """True if all bytes were read."""
        return self.size == len(self.data)


@dataclass(frozen=True, slots=True)
class BytesContent(Content):
    """Bytes of an unknown kind.

    Attributes:
        strings: Printable strings in the bytes that were read: offset and text.
    """

    strings: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TextContent(Content):
    """Text.

    Attributes:
        text: The decoded text.
        encoding: Python name of the encoding.
        language: Pygments name of the programming or markup language; empty for plain text.
        line_starts: Offset of each line in the content, int64 of shape `(lines,)`.
    """

    kind: ClassVar[str] = "text"

    text: str = ""
    encoding: str = "utf-8"
    language: str = ""
    line_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)

    def line_bytes(self, line: int) -> tuple[int, int]:
        """Return the bytes `[start, stop)` of a line (0-based), line end included."""
        start = int(self.line_starts[line])
        return start, int(self.line_starts[line + 1]) if line + 1 < len(self.line_starts) else len(self.data)

    def line_at(self, offset: int) -> int:
        """Return the line (0-based) that contains a byte of the content."""
        return max(int(np.searchsorted(self.line_starts, offset, "right")) - 1, 0)


@dataclass(frozen=True, slots=True)
class JsonContent(TextContent):
    """Text that is valid JSON, and the parsed value."""

    kind: ClassVar[str] = "json"

    value: Any = None


@dataclass(frozen=True, slots=True)
class TableContent(TextContent):
    """Rows of delimited text (CSV or TSV).

    Attributes:
        delimiter: The delimiter.
        rows: Cells of the rows that were read; the first row has the column names.
    """

    kind: ClassVar[str] = "table"

    delimiter: str = ","
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PictureContent(Content):
    """Encoded picture.

    Attributes:
        format: `png`, `jpeg`, `gif`, `webp`, `tiff` or `bmp`.
        width: Pixels; 0 if the header was not read.
        height: Pixels.
        frames: Frames of an animation, or pages.
        mode: Channels in words: `grey`, `RGB and alpha`.
    """

    kind: ClassVar[str] = "picture"

    format: str = ""
    width: int = 0
    height: int = 0
    frames: int = 1
    mode: str = ""


@dataclass(frozen=True, slots=True)
class ArrayContent(Content):
    """Array of numbers.

    Attributes:
        layout: Type, shape and order of the elements.
        encoding: Encoding of the stored content before it was decoded: `raw`, `jpeg`, …
        stored_size: Bytes before decoding; -1 if `raw`.
    """

    kind: ClassVar[str] = "array"

    layout: ArrayLayout = field(default_factory=lambda: ArrayLayout(np.dtype("u1"), (0,), "C"))
    encoding: str = RAW
    stored_size: int = -1

    @property
    def read_layout(self) -> ArrayLayout:
        """Layout of the elements that were read; if the content is incomplete, only its leading elements."""
        return self.layout if self.complete else self.layout.leading(len(self.data))

    @property
    def array(self) -> NDArray[Any]:
        """The elements of `read_layout` as a read-only array.

        Raises:
            FormatError: The content has more or fewer bytes than the array.
        """
        layout = self.read_layout
        return layout.of(self.data if self.complete else self.data[: layout.start + layout.nbytes])


@dataclass(frozen=True, slots=True)
class Tensor:
    """Tensor in a tensor file.

    Attributes:
        name: Its name.
        dtype: Type of an element, in the notation of the file.
        shape: Elements along each axis.
        start: First byte in the content.
        stop: One past the last byte; -1 if the size of the type is unknown.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class TensorsContent(Content):
    """Header of a tensor file: its tensors, in the order of the header, and its metadata."""

    kind: ClassVar[str] = "tensors"

    tensors: tuple[Tensor, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """Member of an archive.

    Attributes:
        name: Path in the archive.
        size: Uncompressed bytes; -1 if unknown.
        start: First byte of the member in the content, including a preceding header.
        stop: One past the last byte; -1 if unknown.
        data: First byte of its data; -1 if unknown.
        codec: Compression of its data: `none`, `deflate`, `gzip`, …
    """

    name: str
    size: int
    start: int
    stop: int
    data: int = -1
    codec: str = "none"


@dataclass(frozen=True, slots=True)
class ArchiveContent(Content):
    """Archive or compressed file.

    Attributes:
        format: `zip`, `tar`, `gzip`, `zstd`, `bzip2` or `xz`.
        members: The members that were found; a compressed file has one.
        inner: Beginning of the decompressed content; None for archives, and if decompression fails.
    """

    kind: ClassVar[str] = "archive"

    format: str = ""
    members: tuple[ArchiveMember, ...] = ()
    inner: Content | None = None


@dataclass(frozen=True, slots=True)
class ShardContent(Content):
    """Shard stored as an object of a shard: name of its format, and evidence of the detection."""

    kind: ClassVar[str] = "shard"

    format: str = ""
    why: str = ""
