"""Base class of the contents of objects, and two kinds: bytes of an unknown type, and nested shards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field
from shardcore.errors import UsageError
from shardcore.model.optional_packages import not_installed
from shardcore.model.text import Displayed, hex_rows, json_values, plural, visible
from shardcore.shards.registry import all_formats
from shardcore.shards.shard import Shard

WHOLE = 64 << 20
"""Maximum size of pictures, arrays and archives that are read whole."""

LINES = 40
"""Maximum lines, rows and members in the text of a content."""

HTML_ROWS = 20
"""Maximum rows, members and elements in the HTML of a content."""

HTML_LETTERS = 4000
"""Maximum characters of a text in HTML."""

_STRING = re.compile(rb"[\x20-\x7e\t]{5,}")
_MOST_STRINGS = 10_000

_DISTINCT = 3
"""Minimum number of distinct non-zero bytes in a magic number that is accepted."""

_SHARD_MARK = 4
"""Minimum length of a magic number by which a nested shard is recognised."""


Recognise = Callable[[bytes, int, str], "Content"]
"""Function that returns bytes as a `Content`; its arguments are the bytes read, the total size and the file name."""


class TextBlock(NamedTuple):
    """Paragraph of an HTML page; preformatted if `code` is set, in a pale colour if `faint` is set."""

    text: str
    code: bool = False
    faint: bool = False


class TableBlock(NamedTuple):
    """Table of an HTML page: the first of `total` rows, at most `most`."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: int
    noun: str
    most: int = HTML_ROWS


class PictureBlock(NamedTuple):
    """Encoded picture of an HTML page, enlarged to `width` pixels without smoothing; 0: not enlarged."""

    data: bytes
    format: str
    width: int = 0


class Rows(NamedTuple):
    """Rows of a table view, with texts and offsets as cells; `spans` are the bytes `[start, stop)` of each row."""

    titles: Sequence[str]
    cells: Sequence[tuple[str | int, ...]]
    spans: Sequence[tuple[int, int]]


class ListedPart(NamedTuple):
    """Bytes `[start, stop)` of a tensor or archive member in a content.

    Attributes:
        exact: True if the bytes are the data itself, False if they are compressed.
        in_tab: True for the only member of a compressed file, which is opened in a tab like a file.
    """

    name: str
    start: int
    stop: int
    exact: bool = True
    in_tab: bool = False


@dataclass(frozen=True, slots=True)
class Beginning:
    """First bytes of a content, and a function that reads more.

    Attributes:
        size: Total bytes; -1 if unknown.
        first: Function that returns the first `n` bytes, or fewer if a limit applies.
        recognise: Function that recognises nested bytes, such as those of a compressed file.
        most: Maximum size of a content that is read completely.
        inside: True for the content of a compressed file; a compressed file in it is not decompressed.
    """

    head: bytes
    size: int
    name: str
    first: Callable[[int], bytes]
    recognise: Recognise
    most: int = WHOLE
    inside: bool = False

    def whole(self) -> bytes:
        return self.first(self.size) if 0 <= self.size <= self.most else self.head


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
    views: ClassVar[tuple[str, ...]] = ()
    """Views that display it, the best first, of `array`, `picture`, `scene`, `tree`, `table` and `text`."""
    opens: ClassVar[bool] = False
    """True if it can be opened like a shard."""
    parts: ClassVar[str] = ""
    """Name of the parts that can be read on their own: `tensor`, or `member` for files; empty if there are none."""

    title: str
    size: int
    data: bytes = field(repr=False)
    note: str = ""

    @property
    def complete(self) -> bool:
        """True if all bytes were read."""
        return self.size == len(self.data)

    @classmethod
    def recognise(cls, beginning: Beginning) -> Content | None:
        """Return the content if it is of this kind, else None; FormatError if it is of this kind but invalid."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return kind, title, size and properties as JSON values, without the bytes."""
        size = self.size if self.size >= 0 else None
        common = {"kind": self.kind, "title": self.title, "size": size, "read": len(self.data), "note": self.note}
        return {name: json_values(value) for name, value in (common | self.properties()).items()}

    def to_text(self, *, colours: bool = False) -> str:
        """Return title, note and first lines for a terminal; control characters are escaped.

        Args:
            colours: Add colours to source code.
        """
        return escaped(self.heading()) + escaped(self.lines())

    def heading(self) -> Iterator[str]:
        """Yield title and note."""
        yield f"{self.title}, {plural(self.size, 'byte') if self.size >= 0 else 'unknown size'}"
        if self.note:
            yield f"note: {self.note}"

    def properties(self) -> dict[str, Any]:
        """Return the members that `to_json` adds for contents of this kind."""
        return {}

    def lines(self) -> Iterable[str]:
        """Return the lines that `to_text` adds for contents of this kind."""
        return ()

    def blocks(self) -> Iterator[TextBlock | TableBlock | PictureBlock | Content]:
        """Yield the content as parts of an HTML page."""
        yield TextBlock("\n".join(hex_rows(self.data[: 16 * 8], digits=6)), code=True)

    def listing(self) -> Rows:
        """Return the rows that the view `table` displays."""
        return Rows((), (), ())

    def pixels(self, shard: Shard, index: str | None = None) -> NDArray[np.uint8]:
        """Return a picture of the content: grey of shape `(rows, columns)`, RGB or RGBA.

        Args:
            shard: The shard that contains it, whose decoder is used.
            index: Slice of an array: comma-separated indices of the axes after the second.

        Raises:
            UsageError: The content is not complete, or there is no picture of this kind.
        """
        raise UsageError(f"--png needs an array, a picture, a mesh, a skeleton or annotations; this is {self.title}")

    def _needs_all(self) -> None:
        if not self.complete:
            raise UsageError(f"--png needs the whole content; only {plural(len(self.data), 'byte')} were read")

    def part(self, number: int) -> ListedPart:
        """Return the location of a tensor or archive member."""
        raise IndexError(number)

    def member(self, name: str, read: Callable[[int, int], bytes], recognise: Recognise, limit: int) -> Content:
        """Return a tensor or archive member as a content; see `member_content`.

        `read` returns bytes of this content; `recognise` recognises bytes, given their size and name.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class BytesContent(Content):
    """Bytes of an unknown kind.

    Attributes:
        strings: Printable strings in the bytes that were read: offset and text.
    """

    kind: ClassVar[Literal["bytes"]] = "bytes"
    views: ClassVar[tuple[str, ...]] = ("table",)

    strings: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, data: bytes, size: int, note: str) -> BytesContent:
        """Return bytes with the strings in them; the title is the file type, if their magic number is known."""
        found = []
        for match in _STRING.finditer(data):
            found.append((match.start(), match[0].decode("ascii")))
            if len(found) >= _MOST_STRINGS:
                break
        try:
            kind = _file_kind(data)
        except ModuleNotFoundError:
            kind, note = "", note or not_installed("puremagic")
        return cls(kind or ("Empty" if size == 0 else "Bytes"), size, data, note, tuple(found))

    def lines(self) -> Iterator[str]:
        yield from (f"{offset:>#10x}  {text[:100]}" for offset, text in self.strings[:LINES])
        yield from rest(len(self.strings), LINES, "string")

    def listing(self) -> Rows:
        return Rows(("Offset", "String"), self.strings, [(offset, offset + len(text)) for offset, text in self.strings])


def _file_kind(data: bytes) -> str:
    """Return the file type by magic number; empty if none matches, or only one with too few distinct bytes (zeros)."""
    import puremagic

    try:
        matches = puremagic.magic_string(data[:4096])
    except (puremagic.PureError, ValueError, LookupError):
        return ""
    return next((one.name for one in matches if len({*(one.byte_match or b"")} - {0}) >= _DISTINCT), "")


@dataclass(frozen=True, slots=True)
class ShardContent(Content):
    """Shard stored as an object of a shard: name of its format, and evidence of the detection."""

    kind: ClassVar[Literal["shard"]] = "shard"
    opens: ClassVar[bool] = True

    format: str = ""
    why: str = ""

    @classmethod
    def recognise(cls, beginning: Beginning) -> ShardContent | None:
        head = beginning.head
        for one in all_formats():
            marks = tuple(mark for mark in (*one.begins, *one.marks) if len(mark) >= _SHARD_MARK)
            if marks and head.startswith(marks):
                why = f"begins with the magic of {one.name}"
                return cls(f"shard: {one.title}", beginning.size, head, "", one.name, why)
        return None

    def properties(self) -> dict[str, Any]:
        return {"format": self.format}


def rest(count: int, listed: int, noun: str, many: str = "") -> Iterator[str]:
    """Yield a line such as `… and 5 rows more` if not all items are listed."""
    if count > listed:
        yield f"… and {plural(count - listed, noun, many)} more"


def escaped(lines: Iterable[str]) -> str:
    """Return lines as text without control characters."""
    return "".join(f"{visible(line)}\n" for line in lines)


def aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines, in columns of at most 40 characters."""
    rows, widths = list(rows), dict[int, int]()
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = min(max(widths.get(column, 0), len(cell)), 40)
    for row in rows:
        yield "  ".join(cell[:40].ljust(widths[column]) for column, cell in enumerate(row)).rstrip()
