"""Folders of bcolz 1.x, whose files are Bloscpack: columns (carrays), and tables of columns (ctables).

column: data/__0.blp, data/__1.blp, … | meta/sizes | meta/storage | __attrs__
table:  __rootdirs__ | __attrs__ | a column folder per name

The files are Bloscpack version 1 with one chunk each; every chunk but the last has `chunklen` items.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from typing import Any

from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import ExternalMissing, FormatError
from shardcore.formats.bloscpack.metadata import MAX_DIMENSIONS, parse_dtype
from shardcore.model.content_layout import ArrayLayout, is_length
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural
from shardcore.sources.base import Folder

DATA, META = "data", "meta"
SIZES, STORAGE, ATTRS, ROOTDIRS = "meta/sizes", "meta/storage", "__attrs__", "__rootdirs__"
MAX_TEXT = 1 << 22
"""Largest JSON file that is read, in bytes."""

_CHUNK_FILE = re.compile(r"__(0|[1-9]\d{0,17})\.blp", re.ASCII)

DOCS = {
    SIZES: "Size of the column: `shape` in items, `nbytes` (uncompressed) and `cbytes` (stored) in bytes.",
    STORAGE: "Storage: type of an item, `chunklen` (items per chunk), `cparams` (compressor), `dflt` (default).",
    ATTRS: "User attributes of the column or table; usually empty.",
    ROOTDIRS: "The names of the columns of the table, in order.",
}


@dataclass(frozen=True, slots=True)
class ChunkFile:
    number: int
    name: str
    size: int

    @property
    def span(self) -> Span:
        return file_span(self.name, self.size)


@dataclass(frozen=True)
class BcolzColumn:
    """Column of a bcolz folder, as its JSON files describe it.

    Attributes:
        name: Folder of the column, relative to that of the data set; empty if they are the same.
        array: Type and shape of the content.
        chunklen: Items in every chunk but the last; an item is one index of the first axis.
        nbytes: Uncompressed bytes of the column.
        cbytes: Stored bytes according to `meta/sizes`; -1 if missing.
        files: The chunk files that exist, sorted by number.
        texts: Bytes of the JSON files, by their names relative to the folder of the data set.
    """

    name: str
    array: ArrayLayout
    chunklen: int
    nbytes: int
    cbytes: int
    files: tuple[ChunkFile, ...]
    texts: dict[str, bytes]

    @property
    def pickled(self) -> bool:
        """True if the items are pickled Python objects, which are never loaded; their chunks may have any size."""
        return self.array.dtype.hasobject

    @property
    def layout(self) -> ArrayLayout | None:
        return None if self.pickled else self.array

    @property
    def chunk_bytes(self) -> int:
        """Uncompressed bytes of every chunk but the last; 0 if chunks may have any size."""
        return 0 if self.pickled else self.chunklen * self.array.stride

    @property
    def chunks(self) -> int:
        return -(-self.array.shape[0] // self.chunklen)

    @property
    def described(self) -> tuple[Span, Span]:
        """Spans of the files `meta/sizes` and `meta/storage`, which describe the column."""
        sizes, storage = self.inside(SIZES), self.inside(STORAGE)
        return file_span(sizes, len(self.texts[sizes])), file_span(storage, len(self.texts[storage]))

    @cached_property
    def by_number(self) -> dict[int, ChunkFile]:
        return {file.number: file for file in self.files}

    @property
    def missing(self) -> list[int]:
        """Numbers of chunks without a file; at most 1,000, because a damaged shape can declare billions of chunks."""
        return list(islice((number for number in range(self.chunks) if number not in self.by_number), 1000))

    def file_of(self, number: int) -> ChunkFile:
        if number not in self.by_number:
            name = f"{self.inside(DATA)}/__{number}.blp"
            raise ExternalMissing(f"{name} is missing; the column has {plural(self.chunks, 'chunk')}")
        return self.by_number[number]

    def inside(self, name: str) -> str:
        return f"{self.name}/{name}" if self.name else name

    def check_chunk(self, number: int, size: int) -> None:
        """Raise FormatError for a wrong uncompressed size; the last chunk may be short or as long as the others."""
        if self.pickled:
            return
        wanted = min(self.chunk_bytes, self.nbytes - number * self.chunk_bytes)
        if size != wanted and not wanted < size <= self.chunk_bytes:
            message = f"chunk {number} has {plural(size, 'uncompressed byte')}; the shape requires {wanted:,}"
            raise FormatError(message, span=self.file_of(number).span)

    def ref(self, key: str, row: int, kind: str) -> ObjectRef:
        files = [file for file in self.files if file.number < self.chunks]
        return ObjectRef(
            key,
            row,
            tuple(file.span for file in files),
            size=self.nbytes,
            stored_size=sum(file.size for file in files),
            codec="blosc",
            kind=kind,
            extras={"dtype": str(self.array.dtype), "shape": list(self.array.shape), "chunklen": self.chunklen},
        )

    def fields(self, name: str) -> dict[str, Value]:
        return {
            f"{name}.dtype": str(self.array.dtype),
            f"{name}.shape": str(list(self.array.shape)),
            f"{name}.nbytes": self.nbytes,
            f"{name}.cbytes": self.cbytes,
            f"{name}.chunklen": self.chunklen,
        }


def is_column(folder: Folder) -> bool:
    inside = {entry.name for entry in folder.list() if entry.is_folder}
    return {DATA, META} <= inside and {SIZES, STORAGE} <= {entry.name for entry in folder.list(META)}


def is_table(folder: Folder) -> bool:
    return any(entry.name == ROOTDIRS and not entry.is_folder for entry in folder.list())


def read_column(folder: Folder, name: str = "") -> BcolzColumn:
    """Read the JSON files of the column in subfolder `name` and list its chunk files; raise FormatError if invalid."""
    lead = f"{name}/" if name else ""
    texts = {lead + part: folder.read(lead + part, MAX_TEXT) for part in (SIZES, STORAGE)}
    entries = folder.list(lead + DATA)
    if any(entry.name == lead + ATTRS for entry in folder.list(name)):
        texts[lead + ATTRS] = folder.read(lead + ATTRS, MAX_TEXT)
    sizes, storage = (_mapping(texts[lead + part], lead + part) for part in (SIZES, STORAGE))
    files = [
        ChunkFile(int(found[1]), entry.name, entry.size)
        for entry in entries
        if not entry.is_folder and (found := _CHUNK_FILE.fullmatch(entry.name.rpartition("/")[2]))
    ]
    array = _array(sizes, storage, texts, lead)
    chunklen, cbytes = storage.get("chunklen"), sizes.get("cbytes")
    if not is_length(chunklen) or not chunklen:
        message = f"chunklen is {str(chunklen)[:80]}; it must be an integer, at least 1"
        raise FormatError(f"{lead}{STORAGE}: {message}", span=file_span(lead + STORAGE, len(texts[lead + STORAGE])))
    return BcolzColumn(
        name,
        array,
        chunklen,
        sizes["nbytes"],
        cbytes if is_length(cbytes) else -1,
        tuple(sorted(files, key=lambda file: file.number)),
        texts,
    )


def read_names(text: bytes) -> list[str]:
    """Return the column names of a table in the order of `__rootdirs__`, each once."""
    names = _mapping(text, ROOTDIRS).get("names")
    if not isinstance(names, list) or not all(name and isinstance(name, str) for name in names):
        raise FormatError(f"{ROOTDIRS}: `names` is not a list of column names", span=file_span(ROOTDIRS, len(text)))
    return list(dict.fromkeys(names))


def _mapping(text: bytes, name: str) -> dict[str, Any]:
    span = file_span(name, len(text))
    value = parse_json(text, name, span=span)
    if not isinstance(value, dict):
        raise FormatError(f"{name} is not a JSON object", span=span)
    return value


def file_span(name: str, size: int) -> Span:
    return Span(str(SourceName(name)), 0, size)


def _array(sizes: dict[str, Any], storage: dict[str, Any], texts: dict[str, bytes], lead: str) -> ArrayLayout:
    span, kind_span = (file_span(lead + name, len(texts[lead + name])) for name in (SIZES, STORAGE))
    shape, nbytes = sizes.get("shape"), sizes.get("nbytes")
    if not isinstance(shape, list) or not 1 <= len(shape) <= MAX_DIMENSIONS or not all(is_length(n) for n in shape):
        raise FormatError(f"{lead}{SIZES}: {str(shape)[:80]} is not a valid shape", span=span)
    try:
        array = ArrayLayout(parse_dtype(storage.get("dtype"), objects=True), tuple(shape), "C")
    except FormatError as error:
        error.span = kind_span
        raise
    if not array.stride:
        raise FormatError(f"{lead}{STORAGE}: items of {array.dtype} in the shape {shape} have 0 bytes", span=kind_span)
    if nbytes != array.nbytes and not (array.dtype.hasobject and is_length(nbytes)):
        message = f"nbytes is {str(nbytes)[:80]}; {array.dtype} in the shape {shape} takes {array.nbytes}"
        raise FormatError(f"{lead}{SIZES}: {message}", span=span)
    return array
