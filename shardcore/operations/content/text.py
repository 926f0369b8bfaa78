"""Text, JSON and tables: detection of encoding, language and delimiter."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.errors import FormatError
from shardcore.model.number_text import plural
from shardcore.model.optional_packages import optional
from shardcore.operations.content.content_types import Content, JsonContent, TableContent, TextContent

SAMPLE = 1 << 16
"""Bytes from which the encoding is detected."""

LANGUAGE_SAMPLE = 4096
"""Number of characters from which the language is guessed if the file name does not determine it."""

_SURE = 0.3
"""Minimum rank of a Pygments guess."""

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


def text_content(data: bytes, size: int, name: str) -> Content | None:
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
    return TextContent(language or "Text", size, data, note, text, encoding, language, starts)


def table_of_columns(columns: Mapping[str, NDArray[Any]], count: int) -> TableContent:
    """Return the first rows of a table of `count` columns (bcolz); arrays in cells are written as by NumPy."""
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
    """Return the encoding of a text; None for other bytes. Unless `complete`, the last character may be incomplete."""
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
    charset_normalizer = optional("charset_normalizer")
    best = charset_normalizer.from_bytes(sample, steps=4, chunk_size=1024).best()
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
