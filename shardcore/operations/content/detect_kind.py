"""Detection of the kind of a content: as declared by the format, by magic number, or as text."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.array_headers import LENGTH, MOST_HEADER, NPY_MAGIC, header_stop
from shardcore.codecs.draco import MAGIC as DRACO
from shardcore.codecs.images import picture_format
from shardcore.codecs.json_text import FREE, parse_json
from shardcore.containers import ZIP_MAGICS
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, ShardError, UsageError, ends_reading
from shardcore.model.content_layout import RAW, ArrayLayout, part_at
from shardcore.model.optional_packages import not_installed, optional
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.operations.content.archives import (
    compressed_content,
    compressed_format,
    is_tar,
    member_bytes,
    member_of,
    tar_content,
    zip_content,
)
from shardcore.operations.content.content_types import (
    ArchiveContent,
    ArrayContent,
    BytesContent,
    Content,
    JsonContent,
    ShardContent,
    TableContent,
    TensorsContent,
    TextContent,
)
from shardcore.operations.content.geometry import KINDS as GEOMETRY_KINDS
from shardcore.operations.content.geometry import geometry_content
from shardcore.operations.content.pictures import picture_content
from shardcore.operations.content.tensors import (
    GGUF,
    gguf_content,
    npy_content,
    safetensors_content,
    tensor_content,
)
from shardcore.shards.registry import all_formats

if TYPE_CHECKING:
    from shardcore.model.keys import Key
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard


HEAD = 1 << 20
"""Bytes read to recognise a content, and first bytes of a text that are shown."""

WHOLE = 64 << 20
"""Maximum size of pictures, arrays and archives that are read whole."""

WHOLE_KEY = "all"
"""Special key for the rows of a table whose columns are the objects (bcolz)."""

ROWS = 1000
"""Maximum rows read of such a table."""

HEADERS = 16 << 20
"""Maximum bytes read of a GGUF file, for its header."""

_STRING = re.compile(rb"[\x20-\x7e\t]{5,}")
_MOST_STRINGS = 10_000
_BINARY = (b"%PDF-",)
"""Magic numbers of binary files that begin like text."""

_DISTINCT = 3
"""Minimum number of distinct non-zero bytes in a magic number that is accepted."""

_SHARD_MARK = 4
"""Minimum length of a magic number by which a nested shard is recognised."""


def content(shard: Shard, ref: ObjectRef | Key, *, limit: int | None = None, strict: bool = False) -> Content:
    """Read an object and return it as picture, text, table, array and so on.

    Args:
        shard: The shard.
        ref: The object, or its key; `all` for the rows of a table of columns (bcolz).
        limit: Maximum bytes to read. Default: 1 MiB of text and unknown bytes; 64 MiB of pictures, arrays and
            archives, which must be complete to be useful.
        strict: Raise `PackageMissing` if a decoder is not installed, instead of adding a note.

    Returns:
        An instance of a class in `shardcore.operations.content.content_types`. If it cannot be decoded, it is a
        `BytesContent` whose `note` has the reason.

    Raises:
        KeyAbsent: The key was not found.
        FormatError: The stored bytes are corrupt.
        SourceError: The bytes cannot be read.
        UsageError: The limit is not positive.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    if ref == WHOLE_KEY and (columns := shard.arrays.first_rows(ROWS)) is not None and WHOLE_KEY not in columns:
        return table_of_columns(columns, shard.declared_objects or 0)
    wanted = shard.ref_of(ref)
    layout, reason = _layout_of(shard, wanted)
    size = wanted.size
    head = shard.read_range(wanted, 0, min(limit or HEAD, size if size >= 0 else HEAD), limit=limit or HEAD)
    if size < 0 and len(head) < (limit or HEAD):
        size = len(head)

    def first(count: int) -> bytes:
        count = min(count, limit or count, size if size >= 0 else count)
        return head if count <= len(head) else shard.read_range(wanted, 0, count, limit=count)

    beginning = _Beginning(head, size, _name(shard, wanted), first, limit or WHOLE)
    if layout is not None:
        data = beginning.whole()
        if layout.encoding == RAW:
            return _array(layout, data, size)
        try:
            return _decoded_array(shard, wanted, layout, data, size)
        except ShardError as error:
            if ends_reading(error) or (strict and isinstance(error, PackageMissing)):
                raise
            reason = error.message
    if (wanted.kind in GEOMETRY_KINDS or head.startswith(DRACO)) and size:
        shape, reason = _geometry(shard, wanted, beginning.whole(), size, limit, strict)
        if shape is not None:
            return shape
    return _recognised(beginning, reason)


def content_of(data: bytes, name: str = "", *, size: int | None = None) -> Content:
    """Recognise the kind of some bytes; see `content`. `size` is the total size (-1: unknown; default: `len(data)`)."""
    return _recognised(_Beginning(data, len(data) if size is None else size, name, lambda count: data[:count]))


@dataclass(frozen=True, slots=True)
class _Beginning:
    """First bytes of a content, and a function that reads more.

    Attributes:
        size: Total bytes; -1 if unknown.
        first: Reads the first `n` bytes, or fewer if a limit applies.
        most: Maximum size of a content that is read completely.
        inside: True for the content of a compressed file; a compressed file in it is not decompressed.
    """

    head: bytes
    size: int
    name: str
    first: Callable[[int], bytes]
    most: int = WHOLE
    inside: bool = False

    def whole(self) -> bytes:
        return self.first(self.size) if 0 <= self.size <= self.most else self.head


def _recognised(beginning: _Beginning, reason: str = "") -> Content:
    head, size = beginning.head, beginning.size
    if size == 0:
        return _bytes(head, size, reason)
    try:
        found = _by_magic(beginning) or text_content(head, size, beginning.name)
        if isinstance(found, TextContent) and head.startswith(_BINARY) and not found.encoding.startswith("utf-"):
            found = None
    except (FormatError, PackageMissing) as error:
        found, reason = None, error.message
    found = found or _bytes(head, size, reason)
    return replace(found, note=reason) if reason and not found.note else found


def content_span(shard: Shard, ref: ObjectRef, start: int, stop: int) -> Span | None:
    """Return the span that stores the bytes `[start, stop)` of a content; None if the shard does not store them.

    For uncompressed contents it is the exact span in the file. Otherwise it is a span of the decoded bytes
    (`Span.source`) if the shard has them as a source, or the stored block or object that contains the first byte.

    Raises:
        FormatError: The stored bytes are corrupt.
        SourceError: They cannot be read.
    """
    part = part_at(shard.content_parts(ref), start)
    return part.span_of(start, stop) if part is not None else None


def _layout_of(shard: Shard, ref: ObjectRef) -> tuple[ArrayLayout | None, str]:
    try:
        return shard.arrays.array_layout(ref), ""
    except FormatError as error:
        return None, error.message


def _geometry(
    shard: Shard, ref: ObjectRef, data: bytes, size: int, limit: int | None, strict: bool
) -> tuple[Content | None, str]:
    if len(data) != size:
        return None, f"only {plural(len(data), 'byte')} were read; the whole {ref.kind} is needed"
    try:
        return geometry_content(shard, ref, data, limit=limit, strict=strict), ""
    except FormatError as error:
        return None, error.message


def _array(layout: ArrayLayout, data: bytes, size: int) -> Content:
    title = f"{' × '.join(map(str, layout.shape))} array of {layout.dtype.name}"
    if size >= 0 and layout.start + layout.nbytes != size:
        return _bytes(data, size, f"expected an array of {layout.nbytes:,} bytes; the content has {size:,}")
    return ArrayContent(title, size, data, "", layout)


def _decoded_array(shard: Shard, ref: ObjectRef, layout: ArrayLayout, data: bytes, size: int) -> Content:
    if size != len(data):
        raise LimitExceeded(f"decoding {layout.encoding} needs the whole content of {plural(size, 'byte')}")
    decoded, elements = shard.arrays.decode_array(ref, layout, data, shard.decoder)
    title = f"{' × '.join(map(str, layout.shape))} array of {layout.dtype.name}"
    return ArrayContent(title, len(elements), elements, "", decoded, layout.encoding, size)


def _by_magic(beginning: _Beginning) -> Content | None:
    head, size, whole = beginning.head, beginning.size, beginning.whole
    if picture_format(head):
        return picture_content(whole(), size)
    if head.startswith(NPY_MAGIC):
        return npy_content(whole(), size)
    if head.startswith(GGUF):
        return gguf_content(beginning.first(HEADERS), size)
    if stop := header_stop(head):
        return safetensors_content(beginning.first(min(stop, LENGTH + MOST_HEADER)), size)
    if head.startswith(ZIP_MAGICS):
        return zip_content(whole(), size)
    if is_tar(head):
        return tar_content(whole(), size)
    if format := compressed_format(head):
        if beginning.inside:
            return ArchiveContent(f"{format} file", size, head, "", format)
        return compressed_content(head, size, beginning.name, _inside)
    for one in all_formats():
        marks = tuple(mark for mark in (*one.begins, *one.marks) if len(mark) >= _SHARD_MARK)
        if marks and head.startswith(marks):
            return ShardContent(f"shard: {one.title}", size, head, "", one.name, f"begins with the magic of {one.name}")
    return None


def _inside(data: bytes, size: int, name: str) -> Content:
    return _recognised(_Beginning(data, size, name, lambda count: data[:count], inside=True))


def _bytes(data: bytes, size: int, note: str) -> BytesContent:
    found = []
    for match in _STRING.finditer(data):
        found.append((match.start(), match[0].decode("ascii")))
        if len(found) >= _MOST_STRINGS:
            break
    try:
        kind = _kind_of(data)
    except ModuleNotFoundError:
        kind, note = "", note or not_installed("puremagic")
    title = kind or ("Empty" if size == 0 else "Bytes")
    return BytesContent(title, size, data, note, tuple(found))


def _kind_of(data: bytes) -> str:
    """Return the kind of file by magic number; empty if the match is weak, such as 16 zeros."""
    import puremagic

    try:
        matches = puremagic.magic_string(data[:4096])
    except (puremagic.PureError, ValueError, LookupError):
        return ""
    return next((one.name for one in matches if len({*(one.byte_match or b"")} - {0}) >= _DISTINCT), "")


def member_content(shard: Shard, ref: ObjectRef | Key, name: str = "", *, limit: int | None = None) -> Content:
    """Read a nested content and recognise its kind.

    For a tensor, only its own bytes are read; for an archive, the whole archive.

    Args:
        shard: The shard.
        ref: The object, or its key.
        name: Name of the tensor or of the archive member. Not needed for a compressed file, which has one member.
        limit: Maximum bytes of the member; default: 64 MiB.

    Raises:
        UsageError: The content has no members, or none of this name.
        LimitExceeded: The member, or the archive, is too large.
        Unsupported: The codec of the member is not supported.
        FormatError: It is corrupt.
        SourceError: The bytes cannot be read.
    """
    most = limit or WHOLE
    wanted = shard.ref_of(ref)
    found = content(shard, wanted)
    if isinstance(found, TensorsContent):
        tensor = next((one for one in found.tensors if one.name == name), None)
        if tensor is None:
            raise UsageError(
                f"no tensor {short(name)} (available: {', '.join(short(t.name) for t in found.tensors[:8])})"
            )
        size = tensor.stop - tensor.start
        if tensor.stop >= 0 and size > most:
            raise LimitExceeded(f"{short(name)} has {plural(size, 'byte')}; at most {most:,} are read")
        data = shard.read_range(wanted, tensor.start, tensor.stop, limit=most) if size > 0 else b""
        return tensor_content(tensor, data)
    if not isinstance(found, ArchiveContent):
        raise UsageError(f"{short(wanted.key)} has no members: it is {found.title}")
    if not found.complete and 0 <= found.size <= WHOLE:
        # `content` reads only the beginning of a compressed file.
        found = content_of(shard.read_range(wanted, 0, found.size, limit=WHOLE), _name(shard, wanted))
        assert isinstance(found, ArchiveContent)
    single = len(found.members) == 1 and found.inner is not None
    member = found.members[0] if single and name in ("", found.members[0].name) else member_of(found, name)
    return content_of(member_bytes(found, member, most), member.name)


def tensor_array(shard: Shard, ref: ObjectRef | Key, name: str, *, limit: int | None = None) -> NDArray[Any]:
    """Return a tensor as a read-only array. BF16 is widened to 32-bit floats.

    Raises:
        UsageError: There is no such tensor.
        Unsupported: Its type is not supported.
        LimitExceeded: It has more than `limit` bytes (default: 64 MiB).
    """
    found = member_content(shard, ref, name, limit=limit)
    if not isinstance(found, ArrayContent):
        raise UsageError(f"{short(name)} is not an array: it is {found.title}")
    return found.array


def _name(shard: Shard, ref: ObjectRef) -> str:
    return next(iter(shard.file_names(ref).values()), "")


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
