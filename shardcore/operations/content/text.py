"""Contents that are text: plain text, JSON and tables, and the detection of encoding and language."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.dataclasses import dataclass, field
from shardcore.errors import FormatError, LimitExceeded
from shardcore.model.optional_packages import optional
from shardcore.model.text import plural, visible
from shardcore.operations.content.base import (
    HTML_LETTERS,
    HTML_ROWS,
    LINES,
    Beginning,
    Content,
    TableBlock,
    TextBlock,
    aligned,
    escaped,
    rest,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

SAMPLE = 1 << 16
"""Bytes from which the encoding is detected."""

LANGUAGE_SAMPLE = 4096
"""Number of characters from which the language is guessed if the file name does not determine it."""

_SURE = 0.3
"""Minimum confidence (0 to 1) of a guess of the language by Pygments."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CODE = re.compile(r"^(def|class|import|from|#include|package)\b", re.MULTILINE)
_HEX = re.compile(r"[0-9a-f]+")
_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_MOST_ROWS = 100_000
_MOST_COLUMNS = 4096
_BINARY = (b"%PDF-",)
"""Magic numbers of binary files that begin like text."""


@dataclass(frozen=True, slots=True)
class TextContent(Content):
    """Text, with the offset of each line in the bytes.

    Attributes:
        text: The decoded text.
        encoding: Python name of the encoding.
        language: Pygments name of the programming or markup language; empty for plain text.
        line_starts: Offset of each line in the content, int64 of shape `(lines,)`.
    """

    kind: ClassVar[Literal["text", "json", "table"]] = "text"
    views: ClassVar[tuple[str, ...]] = ("text",)

    text: str = ""
    encoding: str = "utf-8"
    language: str = ""
    line_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)

    @classmethod
    def recognise(cls, beginning: Beginning) -> TextContent | None:
        found = text_content(beginning.head, beginning.size, beginning.name)
        if found is not None and found.data.startswith(_BINARY) and not found.encoding.startswith("utf-"):
            return None
        return found

    def properties(self) -> dict[str, Any]:
        return {"encoding": self.encoding, "language": self.language, "lines": len(self.line_starts)}

    def to_text(self, *, colours: bool = False) -> str:
        lines = "\n".join(self._first_lines())
        # Text with control characters is escaped, without colours.
        if colours and self.language and visible(lines, keep="\n\t") == lines:
            from pygments import highlight
            from pygments.formatters import TerminalFormatter
            from pygments.lexers import find_lexer_class

            if (lexer := find_lexer_class(self.language)) is not None:
                coloured = str(highlight(lines, lexer(), TerminalFormatter()))
                return escaped(self.heading()) + coloured + escaped(rest(len(self.line_starts), LINES, "line"))
        return Content.to_text(self)

    def lines(self) -> Iterable[str]:
        yield from self._first_lines()
        yield from rest(len(self.line_starts), LINES, "line")

    def _first_lines(self) -> list[str]:
        return [line.removesuffix("\r") for line in self.text.split("\n")[:LINES]]

    def blocks(self) -> Iterator[TextBlock | TableBlock]:
        cut = self.text[:HTML_LETTERS]
        more = "…" if len(cut) < len(self.text) or not self.complete else ""
        yield TextBlock(visible(cut, keep="\n\t") + more, code=True)

    def line_bytes(self, line: int) -> tuple[int, int]:
        """Return the bytes `[start, stop)` of a line (0-based), line end included."""
        start = int(self.line_starts[line])
        return start, int(self.line_starts[line + 1]) if line + 1 < len(self.line_starts) else len(self.data)

    def line_at(self, offset: int) -> int:
        """Return the line (0-based) that contains a byte of the content."""
        return max(int(np.searchsorted(self.line_starts, offset, "right")) - 1, 0)


@dataclass(frozen=True, slots=True)
class PlainTextContent(TextContent):
    """Text that is neither JSON nor a table."""

    kind: ClassVar[Literal["text"]] = "text"


@dataclass(frozen=True, slots=True)
class JsonContent(TextContent):
    """Text that is valid JSON, and the parsed value."""

    kind: ClassVar[Literal["json"]] = "json"
    views: ClassVar[tuple[str, ...]] = ("tree", "text")

    value: Any = None


@dataclass(frozen=True, slots=True)
class TableContent(TextContent):
    """Rows of delimited text (CSV or TSV).

    Attributes:
        delimiter: The delimiter.
        rows: Cells of the rows that were read; the first row has the column names.
    """

    kind: ClassVar[Literal["table"]] = "table"
    views: ClassVar[tuple[str, ...]] = ("table", "text")

    delimiter: str = ","
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as a `pyarrow.Table`; types of the columns are inferred, as by `pyarrow.csv`.

        Raises:
            PackageMissing: pyarrow is not installed.
            LimitExceeded: The content was not read completely.
            FormatError: Rows differ in length.
        """
        if not self.complete:
            of = f" of {self.size:,}" if self.size >= 0 else ""
            raise LimitExceeded(f"only {plural(len(self.data), 'byte')}{of} were read; the whole table is needed")
        arrow, csv = optional("pyarrow"), optional("pyarrow.csv")
        options = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        try:
            return csv.read_csv(io.BytesIO(self.text.encode()), parse_options=options)
        except arrow.ArrowInvalid as error:
            raise FormatError(f"the rows do not form a table: {error}") from error

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a `pandas.DataFrame`; see `to_arrow`."""
        optional("pandas")
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def properties(self) -> dict[str, Any]:
        columns = {"delimiter": self.delimiter, "rows": len(self.rows), "columns": self.rows[0]}
        return TextContent.properties(self) | columns

    def lines(self) -> Iterator[str]:
        yield from aligned(self.rows[:LINES])
        yield from rest(len(self.rows), LINES, "row")

    def blocks(self) -> Iterator[TableBlock]:
        heads, *rows = [row[:HTML_ROWS] for row in self.rows[: HTML_ROWS + 1]] or [()]
        yield TableBlock(heads, rows, len(self.rows), "row", HTML_ROWS + 1)


def text_content(data: bytes, size: int, name: str) -> TextContent | None:
    encoding = encoding_of(data, complete=size == len(data))
    if encoding is None:
        return None
    text = codecs.getincrementaldecoder(encoding)("replace").decode(data, final=size == len(data))
    starts = line_starts(data, encoding)
    if (rows := table_rows(text, name)) is not None:
        delimiter, found = rows
        title = "TSV table" if delimiter == "\t" else "CSV table"
        return TableContent(title, size, data, "", text, encoding, "", starts, delimiter, found)
    note = ""
    if size == len(data) and text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        try:
            value = parse_json(text.lstrip("\ufeff \t\r\n").encode(), "the content", limits=FREE)
        except FormatError as error:
            note = error.message if name.lower().endswith(".json") else ""
        else:
            return JsonContent("JSON", size, data, "", text, encoding, "JSON", starts, value)
    language = language_of(text, name)
    return PlainTextContent(language or "Text", size, data, note, text, encoding, language, starts)


def table_of_columns(columns: Mapping[str, NDArray[Any]], count: int) -> TableContent:
    """Return the first rows of a table (bcolz) of `count` columns, some of which may be unreadable."""
    texts = [[str(item) for item in values] for values in columns.values()]
    rows = [tuple(columns), *zip_longest(*texts, fillvalue="")]
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows(rows)
    text = target.getvalue()
    data = text.encode()
    note = f"the first {plural(len(rows) - 1, 'row')}"
    if len(columns) < count:
        note += f"; {plural(count - len(columns), 'column')} cannot be read"
    starts = line_starts(data, "utf-8")
    return TableContent("bcolz table", -1, data, note, text, "utf-8", "", starts, ",", tuple(rows))


def encoding_of(data: bytes, *, complete: bool) -> str | None:
    """Return the encoding of a text; None for other bytes. If not `complete`, the last character may be cut."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data[:SAMPLE]:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=complete)
    except UnicodeDecodeError:
        return _legacy_encoding(data[:SAMPLE])
    # Escape and form feed occur in text; other control characters rarely.
    return "utf-8" if len(_CONTROL.findall(text[:SAMPLE])) <= len(text) // 100 else None


def _legacy_encoding(sample: bytes) -> str | None:
    if len(set(sample)) < 2 or sum(byte < 9 or 14 <= byte < 27 for byte in sample) > len(sample) // 100:
        return None
    best = optional("charset_normalizer").from_bytes(sample, steps=4, chunk_size=1024).best()
    if best is None or best.percent_chaos > 10:
        return None
    # Several encodings may decode to the same text; cp1252 is the most frequent.
    return "cp1252" if "cp1252" in best.could_be_from_charset else best.encoding


def line_starts(data: bytes, encoding: str) -> NDArray[np.int64]:
    """Return the offsets at which lines begin (after each LF), int64 of shape `(lines,)`."""
    width, feed = {"utf-16": (2, "\n".encode("utf-16-le")), "utf-32": (4, "\n".encode("utf-32-le"))}.get(
        encoding, (1, b"\n")
    )
    if width > 1 and data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        feed = feed[::-1]
    units = np.frombuffer(data, f"<u{width}", len(data) // width)
    ends = np.flatnonzero(units == int.from_bytes(feed, "little")) + 1
    starts = np.concatenate([[0], ends]).astype(np.int64) * width
    return starts[starts < max(len(data), 1)]


def table_rows(text: str, name: str) -> tuple[str, tuple[tuple[str, ...], ...]] | None:
    """Return delimiter and rows of a table; None if the text is not a table.

    A text is a table if its extension says so, or if its first lines have equally many tabs. The delimiter of a `.csv`
    is the most frequent one in its first line, since many programs write semicolons.
    """
    delimiter = _TABLES.get(name[name.rfind(".") :].lower() if "." in name else "", "")
    lines = text[:SAMPLE].splitlines()[:8]
    if not delimiter:
        counts = {line.count("\t") for line in lines}
        if len(lines) < 3 or len(counts) != 1 or counts == {0}:
            return None
        delimiter = "\t"
    elif delimiter == "," and lines:
        delimiter = max(",;\t|", key=lines[0].count)
    rows: list[tuple[str, ...]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append(tuple(row[:_MOST_COLUMNS]))
            if len(rows) >= _MOST_ROWS:
                break
    except csv.Error:
        return None
    return (delimiter, tuple(rows)) if rows else None


def language_of(text: str, name: str) -> str:
    from pygments.lexers import get_lexer_for_filename, guess_lexer
    from pygments.util import ClassNotFound

    try:
        # Skip numbers and hashes: searching a lexer for them would load all lexers.
        found = get_lexer_for_filename(name).name if name and not _HEX.fullmatch(name) else ""
    except ClassNotFound:
        found = ""
    if found:
        return "" if found == "Text only" else found
    sample = text[:LANGUAGE_SAMPLE]
    if not sample.startswith(("#!", "<")) and not _CODE.search(sample):
        return ""
    try:
        lexer = guess_lexer(sample)
    except ClassNotFound:
        return ""
    return lexer.name if lexer.analyse_text(sample) >= _SURE else ""
