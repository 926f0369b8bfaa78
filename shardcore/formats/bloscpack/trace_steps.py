"""Titles, sentences and values of the steps of a lookup, for a trace; titles as in `docs/formats/bloscpack.md`."""

from __future__ import annotations

from shardcore.dataclasses import replace
from shardcore.errors import KeyAbsent
from shardcore.formats.bloscpack.bcolz import file_span
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, METADATA_HEADER, UNKNOWN, blosc_header_span
from shardcore.formats.bloscpack.lookup import (
    BlockFound,
    ByteChunk,
    ByteDecoded,
    ChecksumCompared,
    ChunkFound,
    ChunkWalked,
    ColumnFile,
    ColumnRead,
    ContentFile,
    ElementByte,
    FileOpened,
    HeaderRead,
    NoChunk,
    PastColumn,
    SlotRead,
    TableColumn,
    TableRead,
    WholeContent,
)
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.shards.trace import Row, Rows, Value


def _sizes(fact: FileOpened) -> str:
    header = fact.file.header
    if header.nchunks == UNKNOWN:
        return "The header does not have the number of chunks: they continue to the end of the file."
    count = plural(header.nchunks, "chunk")
    if header.plain_size == UNKNOWN:
        return f"{count}; their sizes are only in the chunks."
    if header.nchunks < 2:
        return f"{count} of {plural(header.plain_size, 'uncompressed byte')}."
    return f"{count} of {plural(header.chunk_size, 'uncompressed byte')} each, the last of {header.last_chunk:,}."


def _checksum(fact: FileOpened) -> str:
    checksum = fact.file.header.checksum
    if not checksum.size:
        return "Chunks have no checksum."
    return f"Each chunk is followed by its checksum ({checksum.name}, {plural(checksum.size, 'byte')})."


def _is_found(fact: ElementByte | ByteChunk) -> bool:
    return not isinstance(fact.found, KeyAbsent)


def _chunk_text(fact: ByteChunk) -> str:
    assert not isinstance(fact.found, KeyAbsent)
    (number, within), size = fact.found, fact.chunk_size
    how = f"{fact.offset} // {size} = {number}, {fact.offset} mod {size} = {within}"
    if size <= 0:
        how = "found by adding up the uncompressed sizes in the Blosc headers"
    return f"Uncompressed byte {fact.offset} is byte {within} of chunk {number}: {how}."


def _slot_text(fact: SlotRead) -> str:
    if fact.valid:
        return "the first byte of the chunk"
    reason = "not filled in" if fact.offset == UNKNOWN else "which is not the offset of the chunk"
    return f"{reason}, so a reader walks from the first chunk"


def _header_text(fact: HeaderRead) -> str:
    header = fact.stored.header
    size = plural(header.nbytes, "uncompressed byte")
    flags = ", ".join(header.flag_names())
    return f"{size} stored in {plural(header.ctbytes, 'byte')}, including this header; flags: {flags}."


def _verdict(fact: ChecksumCompared) -> str:
    return "they are equal" if fact.computed == fact.stored.digest else "they differ, so the chunk is damaged"


def _decode_text(fact: ByteDecoded) -> str:
    header = fact.stored.header
    how = "The chunk is stored uncompressed (memcpy)"
    if not header.memcpyed:
        undo = "" if header.filter_name == "none" else f", then undo the filter ({header.filter_name})"
        how = f"Decompress with {header.codec_name}{undo}"
    element, part = divmod(fact.within, header.typesize)
    return (
        f"{how}: byte {fact.within} of the chunk is {fact.value:#04x}, byte {part} of element {element} "
        f"({plural(header.typesize, 'byte')} each)."
    )


def _column_text(fact: ColumnRead) -> str:
    column = fact.column
    return (
        f"An array of {column.array.dtype} with the shape {list(column.array.shape)}: "
        f"{plural(column.nbytes, 'uncompressed byte')}, in chunks of {plural(column.chunklen, 'item')}"
        + (" of any size." if column.pickled else f", {plural(column.chunk_bytes, 'byte')} each.")
    )


_PAST_WHY = "The header gives the uncompressed size, so a byte after it is in no chunk."
_NOT_FOUND = "Not found: {found.message}."
_NCHUNKS = Value("nchunks", "file.header.nchunks", "number of chunks; -1 when unknown", "chunks")
_SIZE = Value("size", "size", "uncompressed bytes of the whole content; -1 when unknown", "bytes")
_NEXT = "offset of the next part"
_CHUNK_OFFSET = "offset of the chunk; -1 if not filled in"
_FOUND = (
    Value("chunk", "found[0]", "the number of the chunk"),
    Value("within", "found[1]", "offset of the byte in the uncompressed chunk", "byte", relative=True),
)
_NBYTES = Value("nbytes", "column.nbytes", "uncompressed bytes", "bytes")
_CHUNKLEN = Value("chunklen", "column.chunklen", "items in a chunk", "items")
_CHUNK_BYTES = Value("chunk_bytes", "column.chunk_bytes", "uncompressed bytes of a chunk", "bytes")
_V2 = (
    Value("options", "file.header.options", "bit 0: offsets; bit 1: metadata"),
    Value("checksum", "file.header.checksum.name", "the checksum after every chunk"),
    Value("chunk_size", "file.header.chunk_size", "uncompressed bytes of every chunk but the last", "bytes"),
    Value("last_chunk", "file.header.last_chunk", "uncompressed bytes of the last chunk", "bytes"),
    _NCHUNKS,
    Value("max_app_chunks", "file.header.max_app_chunks", "spare offset slots, for chunks that are appended", "slots"),
)


_FIELDS = Row(
    "Header fields",
    "{sizes} {checksum_text}",
    "All chunks but the last have the same uncompressed size, so these numbers give the chunk of any byte.",
    _V2,
    spans=lambda fact: Span("", 5, fact.file.header.size),
    words={"sizes": _sizes, "checksum_text": _checksum},
    only=lambda fact: fact.file.header.version > 1,
)

_OPENED = (
    Row(
        "Magic and version",
        "The file begins with `blpk` and has version {version}.",
        "The magic identifies the format, and the version gives the layout of the header.",
        (Value("version", "file.header.version", "the version of the format", at=lambda _: Span("", 4, 5)),),
        spans=lambda _: Span("", 0, 5),
    ),
    replace(
        _FIELDS,
        why="Version 1 stores only the number of chunks; each chunk's length is in its own header.",
        values=(_NCHUNKS,),
        only=lambda fact: fact.file.header.version == 1,
    ),
    _FIELDS,
    Row(
        "Skip the metadata",
        f"Its section has {METADATA_HEADER.size} bytes of header, {{room:,}} for the text and {{digest}} of checksum: "
        "it ends at byte {next:#x}.",
        "Space is reserved for the metadata to grow in place, so the next section begins after that space.",
        (Value("next", "file.metadata.stop", _NEXT, "byte"),),
        spans="file.metadata.header",
        words={
            "room": lambda fact: fact.file.metadata.values["max_meta_size"],
            "digest": "file.metadata.checksum.size",
        },
        only=lambda fact: fact.file.metadata is not None,
    ),
)

_WHOLE = Row(
    "All chunks",
    "The uncompressed bytes of all chunks, in order.",
    "The whole content needs no search: its chunks are read one after the other.",
    (_SIZE,),
    spans="spans",
    only=lambda fact: fact.size is not None,
)
_WHOLE_COLUMN = replace(
    _WHOLE,
    text="The chunks in order, cut at the end of the column.",
    values=(),
    spans=lambda fact: fact.spans[:100],
    only=lambda fact: fact.size is None,
)

_ELEMENT = Row(
    "Which byte",
    "{found.how}; {itemsize:byte} each: its first uncompressed byte is {element} × {itemsize} = {byte}.",
    "Chunks contain bytes, not elements, so the lookup continues with the first byte of the element.",
    (
        Value("element", "found.number", "number of the element in storage order"),
        Value("itemsize", "found.itemsize", "bytes of one element", "bytes"),
        Value("byte", "found.byte", "first uncompressed byte of the element", "byte", relative=True),
    ),
    spans="places",
    only=_is_found,
)
_NO_ELEMENT = replace(_ELEMENT, text=_NOT_FOUND, values=(), only=lambda fact: not _is_found(fact))

_BYTE = Row(
    "Which chunk",
    "{text}",
    "All chunks but the last have the same uncompressed size, so a division gives the chunk.",
    _FOUND,
    inputs="inputs",
    words={"text": _chunk_text},
    only=lambda fact: _is_found(fact) and fact.chunk_size > 0,
)
_SUMMED = replace(
    _BYTE,
    why="The file's header does not have the chunk size, so the sizes in the chunk headers are added up.",
    spans="read",
    only=lambda fact: _is_found(fact) and fact.chunk_size <= 0,
)
_PAST = replace(_SUMMED, text=_NOT_FOUND, why=_PAST_WHY, values=(_SIZE,), only=lambda fact: not _is_found(fact))

_NO_CHUNK = Row(
    "No such chunk",
    "The {owner} has {chunks:chunk}, numbered from 0.",
    "Chunks are numbered without gaps, so the count shows that this one does not exist.",
    (Value("chunks", "chunks", "number of chunks", "chunks"),),
    inputs="inputs",
)

_SLOT = Row(
    "Offset slot",
    "Slot {number} of the offsets is {offset}, {text}.",
    "Stored chunks differ in length; with offsets a reader finds one without reading those before it.",
    (Value("offset", "offset", _CHUNK_OFFSET, "byte", "span"),),
    spans="span",
    words={"text": _slot_text},
)

_WALKED = Row(
    "Walk past chunk {number}",
    "It begins at {place:#x}: {place:#x} + {stored} stored bytes + {digest} of checksum = {after:#x}, where chunk "
    "{follower} begins.",
    "Each chunk stores its length, so without offsets a reader can go from one to the next.",
    (Value("next", "after", _NEXT, "byte"),),
    spans=lambda fact: blosc_header_span(fact.place),
    words={"stored": lambda fact: fact.after - fact.place - fact.digest, "follower": lambda fact: fact.number + 1},
)

_HEADER = Row(
    "Blosc header",
    "{text}",
    "The header has codec, filter and sizes, so the chunk can be decompressed without other chunks.",
    (
        Value("flags", lambda fact: f"{fact.stored.header.flags:#010b}", "flags of the chunk, bit by bit"),
        Value("nbytes", "stored.header.nbytes", "uncompressed bytes", "bytes"),
        Value("blocksize", "stored.header.blocksize", "uncompressed bytes of a block", "bytes"),
        Value("ctbytes", "stored.header.ctbytes", "stored bytes, the Blosc header included", "bytes"),
        Value("typesize", "stored.header.typesize", "bytes of one element", "bytes"),
    ),
    spans=lambda fact: blosc_header_span(fact.stored.span.start),
    words={"text": _header_text},
)

_COMPARED = Row(
    "Checksum",
    "The checksum ({checksum.name}) covers the stored bytes: computed {computed}, stored {stored}: {verdict}.",
    "Damage is detected before decompression, so wrong content is never returned.",
    (
        Value("stored", lambda fact: fact.stored.digest.hex(), "the checksum stored in the file"),
        Value("computed", lambda fact: fact.computed.hex(), "the checksum of the stored bytes"),
    ),
    spans="stored.digest_span",
    words={"verdict": _verdict},
)

_BLOCK = Row(
    "Block",
    "{within} // {stored.header.blocksize} (blocksize) = {block}: block {block} begins at byte {start:#x} of the "
    "chunk and has {streams:stream}.",
    "Blocks are small enough for a processor's cache; to read one byte, one block is decompressed.",
    (
        Value("block", "block", "the number of the block in the chunk"),
        Value("start", "start", "offset of the block in the chunk", "byte", relative=True),
    ),
    spans=lambda fact: (
        BLOCK_START.span("", fact.stored.span.start + CHUNK_HEADER.size + fact.block * BLOCK_START.size),
        fact.span,
    ),
    words={"streams": lambda fact: int((fact.map.stream_at[fact.block] >= 0).sum())},
)

_DECODED = Row(
    "Decode",
    "{text}",
    "The Blosc header names the codec and the filter that must be undone.",
    (
        Value("byte", "value", "value of the uncompressed byte"),
        Value("element", lambda fact: fact.within // fact.stored.header.typesize, "number of the element in the chunk"),
    ),
    spans="spans",
    words={"text": _decode_text},
)

_CHUNK = Row(
    "Found",
    "Chunk {chunk} begins at byte {offset:#x}.",
    "A chunk can be decompressed alone, so only these bytes must be read.",
    (
        Value("chunk", "ref.row", "the number of the chunk"),
        Value("offset", lambda fact: fact.ref.extras["offset"], _CHUNK_OFFSET, "byte"),
    ),
    spans="ref.spans",
)

_FILE = Row(
    "Which file",
    "The key is the file name without its extension: {shown}.",
    "The folder is the index: each file has one content, and the file name is the key.",
    (Value("file", "name", "the file of the chunk"),),
    spans="span",
    words={"shown": lambda fact: short(fact.name)},
    only=lambda fact: fact.span is not None,
)
_NO_FILE = replace(
    _FILE, text="{shown} is not among the {files:file}.", values=(), spans="", only=lambda fact: fact.span is None
)

_COLUMN = Row(
    "The column",
    "{text}",
    "Shape and chunk length are in two small files, so an item is located without opening a chunk.",
    (_NBYTES, _CHUNKLEN, _CHUNK_BYTES),
    spans="column.described",
    words={"text": _column_text},
    only=lambda fact: not fact.column.pickled,
)
_PICKLED = replace(_COLUMN, values=(_NBYTES, _CHUNKLEN), only=lambda fact: fact.column.pickled)

_PAST_COLUMN = Row(
    "Which chunk", "Not found: the column has {nbytes:byte}.", _PAST_WHY, (_NBYTES,), inputs="column.described"
)

_COLUMN_FILE = Row(
    "Which file",
    "Each file of a column has one chunk and its number: chunk {file.number} is in {file.name}.",
    "One file per chunk: a column grows by new files, and existing files are not changed.",
    (Value("file", "file.name", "the file of the chunk"),),
    inputs="column.described",
)

_TABLE = Row(
    "Column names",
    "The table has {count:column}; {key!r} is {verdict} of them.",
    "One small file lists the columns in their order, which the folders alone do not have.",
    (Value("columns", lambda fact: list(fact.names[:100]), "the columns of the table"),),
    spans="place",
    words={
        "count": lambda fact: len(fact.names),
        "verdict": lambda fact: "one" if fact.key in fact.names else "not one",
    },
)

_TABLE_COLUMN = Row(
    "The column",
    "An array of {column.array.dtype} with the shape {shape}: {nbytes:uncompressed byte} in {files:file}.",
    "Each column is compressed separately, so it can be read without the others.",
    (_NBYTES, _CHUNKLEN),
    spans=lambda fact: [file_span(name, len(text)) for name, text in fact.column.texts.items()],
    words={"shape": lambda fact: list(fact.column.array.shape), "files": lambda fact: len(fact.column.files)},
)

STEPS: Rows = {
    FileOpened: _OPENED,
    WholeContent: (_WHOLE, _WHOLE_COLUMN),
    ElementByte: (_ELEMENT, _NO_ELEMENT),
    ByteChunk: (_BYTE, _SUMMED, _PAST),
    NoChunk: (_NO_CHUNK,),
    SlotRead: (_SLOT,),
    ChunkWalked: (_WALKED,),
    HeaderRead: (_HEADER,),
    ChecksumCompared: (_COMPARED,),
    BlockFound: (_BLOCK,),
    ByteDecoded: (_DECODED,),
    ChunkFound: (_CHUNK,),
    ContentFile: (_FILE, _NO_FILE),
    ColumnRead: (_COLUMN, _PICKLED),
    PastColumn: (_PAST_COLUMN,),
    ColumnFile: (_COLUMN_FILE,),
    TableRead: (_TABLE,),
    TableColumn: (_TABLE_COLUMN,),
}
