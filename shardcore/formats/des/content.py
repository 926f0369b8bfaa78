"""Content of objects: payloads in the shard, BigFiles as files (des-architecture, Write path and Read path)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from shardcore.codecs.decompress import decompress_stream
from shardcore.errors import BadChecksum, ExternalMissing, FormatError, LimitExceeded, SourceError, says_absent
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import CODECS, bigfile_name
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.sources.base import Folder, Source, read_pieces


def stream_inline(source: Source, entries: Entries, row: int, limit: int | None = None) -> Iterator[bytes]:
    """Yield the uncompressed content of an inline object.

    Without `limit` the size must equal the declared size for every codec; the reference does not check codec none. With
    it, that many bytes are allowed, else LimitExceeded. Raises FormatError for a damaged entry or payload.
    """
    start, stop, codec, size = inline_place(entries, row)
    chunks = read_pieces(source, start, stop)
    if codec == "none":
        return chunks
    if limit is not None:
        return decompress_stream(codec, chunks, limit=limit, span=Span("", start, stop))
    return decompress_stream(codec, chunks, limit=size, expected=size, span=Span("", start, stop))


def inline_place(entries: Entries, row: int) -> tuple[int, int, str, int]:
    """Return start, stop, codec and declared uncompressed size of an inline object; raise FormatError if invalid."""
    entries.check_readable(row)
    c = entries.columns
    start = int(c.offset[row])
    return start, start + int(c.length[row]), CODECS[int(c.codec[row])], int(c.size[row])


def open_bigfile(folder: Folder | None, entries: Entries, row: int, limit: int | None = None) -> Source:
    """Open the external file of a BigFile; its name must be 64 hex digits, and links are not followed."""
    entries.check_readable(row)
    name, entry = bigfile_name(entries.hash(row)), entries.span(row)
    if folder is None:
        raise ExternalMissing(f"the content is in {name}, but the folder of the shard is unknown", span=entry)
    try:
        source = folder.open(name)
    except SourceError as error:
        if not says_absent(error):
            raise
        raise ExternalMissing(f"{name} not found in the folder of the shard: {error.message}", span=entry) from error
    size, declared = source.size, int(entries.columns.size[row]) if limit is None else limit
    if size != declared and (limit is None or size > limit):
        source.close()
        raise FormatError(f"{name} has {plural(size, 'byte')}, but the entry declares {declared:,}", span=entry)
    return source


def stream_bigfile(folder: Folder | None, entries: Entries, row: int, limit: int | None = None) -> Iterator[bytes]:
    """Yield the content of a BigFile; its sha256 is compared only after the last piece (BadChecksum)."""
    wanted = entries.hash(row).decode("ascii", "replace").lower()
    digest = hashlib.sha256()
    with open_bigfile(folder, entries, row, limit) as source:
        for piece in read_pieces(source, 0, source.size):
            digest.update(piece)
            yield piece
        if digest.hexdigest() != wanted:
            name = bigfile_name(entries.hash(row))
            raise BadChecksum(
                f"sha256 of {name}: computed {digest.hexdigest()}, stored in its name", span=Span(name, 0, source.size)
            )


def cut(source: Source, first: int, last: int, start: int, stop: int, limit: int) -> bytes:
    """Return bytes `[start, stop)` of the content stored uncompressed at `[first, last)`; at most up to its end."""
    first, last = min(first + start, last), min(first + stop, last)
    if last - first > limit:
        raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {limit:,}")
    return source.read(first, last) if last > first else b""
