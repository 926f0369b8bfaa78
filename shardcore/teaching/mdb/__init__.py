"""Drawings of MDB shards: the file, the steps of a lookup, and charts of its bytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shardcore.codecs.xet.hashes import SIZE, words
from shardcore.formats.mdb.content import ChunksFound, ChunksMissing
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex, WalkedSection
from shardcore.formats.mdb.layout import CHUNK, FILE, FILE_ENTRY, FILE_INFO, RECORD_SIZE, XORB, XORB_INFO, RecordKind
from shardcore.formats.mdb.lookup import Matched, OtherHash, TableSearched
from shardcore.model.span import Span
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, counts_of, share_of
from shardcore.progress import Progress
from shardcore.shards.trace import Compared, Fields, Shown, Trace
from shardcore.teaching.mdb.chunk_map import ChunkMapSketch, CutsSketch
from shardcore.teaching.mdb.hash_lookup import HashLookupSketch, bisection_figure
from shardcore.teaching.mdb.scene import MdbScene

if TYPE_CHECKING:
    from shardcore.formats.mdb.folder import MdbDataSet
    from shardcore.formats.mdb.shard import MdbShard
    from shardcore.model.drawing import Sketch

MOST_CHUNKS = 8192
"""Maximum number of chunks in a xorb."""

_KINDS = (
    (RecordKind.FILE_HEADER, Use.INDEX, "headers of files", "The hash of a file, and the number of its records."),
    (RecordKind.FILE_ENTRY, Use.DATA, "segments of files", "Ranges of chunks in xorbs; together they are the file."),
    (RecordKind.FILE_VERIFICATION, Use.METADATA, "range hashes", "The hash of each segment, from its chunk hashes."),
    (RecordKind.FILE_METADATA, Use.METADATA, "metadata of files", "The SHA-256 of each file."),
    (RecordKind.CAS_HEADER, Use.INDEX, "headers of xorbs", "The hash of a xorb, and the number of its chunks."),
    (RecordKind.CAS_ENTRY, Use.DATA, "chunks of xorbs", "Hash, offset and size of each chunk."),
    (RecordKind.BOOKEND, Use.PADDING, "end mark", "48 bytes that end a section."),
    (RecordKind.UNREAD, Use.UNKNOWN, "unreadable records", "Records after a damaged record."),
)

MANY = 1024
"""Number of chunks from which keys are grouped by their first two hex digits instead of one."""

MOST_NAMED = 256
"""Maximum number of files or xorbs that are drawn with names."""


def shares(file: MdbFile) -> tuple[Share, ...]:
    inside: dict[str, list[Share]] = {}
    if (index := file.index) is not None:
        inside = {FILE_INFO: _records(index.files), XORB_INFO: _records(index.xorbs)}
    return budget(file.sections, inside)


def _records(section: WalkedSection) -> list[Share]:
    found = []
    for kind, use, name, doc in _KINDS:
        starts = section.start + RECORD_SIZE * np.flatnonzero(section.kinds == kind)
        if len(starts):
            found.append(share_of(use, name, starts, starts + RECORD_SIZE, doc))
    return found


def loads(file: MdbFile) -> tuple[LoadSource, ...]:
    """Return the three distributions; each loads the index, so the whole shard is read."""
    reads = 0 if file.index is not None else file.source.size
    return (
        LoadSource("keys", "Chunk hashes over the space of keys", reads, partial(_keys, file)),
        LoadSource("xorbs", "Chunks in the xorbs", reads, partial(_counts, file, XORB)),
        LoadSource("segments", "Segments of the files", reads, partial(_counts, file, FILE)),
    )


def _keys(file: MdbFile, progress: Progress) -> Load:
    hashes = np.ascontiguousarray(file.load(progress=progress).chunks["chunk_hash"])
    digits = 2 if len(hashes) >= MANY else 1
    places = 16**digits
    first = words(hashes)[:, 0] >> np.uint64(64 - 4 * digits) if len(hashes) else np.zeros(0, np.uint64)
    counts = counts_of(first, places)
    return Load(
        "Chunk hashes over the space of keys",
        "key prefix",
        "chunk",
        counts,
        "Hashes are evenly distributed, so a client can estimate the row of a key in the sorted table.",
        int(counts.sum()) / places,
        by_chance=True,
        key_prefixes=tuple(f"{CHUNK}:{number:0{digits}x}" for number in range(places)),
        names=tuple(f"{number:0{digits}x}…" for number in range(places)),
    )


_COUNTED = {
    XORB: (
        "Chunks in the xorbs",
        "chunk",
        f"A xorb has up to {MOST_CHUNKS:,} chunks or 64 MiB, whichever comes first.",
    ),
    FILE: (
        "Segments of the files",
        "segment",
        "Each segment is a range of one xorb and costs one request when the file is fetched, so one per file is best.",
    ),
}


def _counts(file: MdbFile, kind: str, progress: Progress) -> Load:
    index = file.load(progress=progress)
    section, (title, thing, doc) = index.section(kind), _COUNTED[kind]
    files = kind == FILE
    rows = np.arange(len(section.headers) + 1) if files else index.first_rows[CHUNK] + section.bounds
    return Load(
        title,
        kind,
        thing,
        section.counts,
        doc,
        1.0 if files else None,
        "one per file",
        row_bounds=rows.astype(np.int64),
        starts=section.start + RECORD_SIZE * section.headers,
        stops=section.start + RECORD_SIZE * section.ends,
        names=_labels(index, kind),
    )


def _labels(index: MdbIndex, kind: str) -> tuple[str, ...]:
    section = index.section(kind)
    if len(section.headers) > MOST_NAMED:
        return ()
    first = words(np.ascontiguousarray(section.hashes[section.headers]))[:, 0].tolist() if len(section.headers) else []
    return tuple(f"{int(word) >> 32:08x}…" for word in first)


def sketches(shard: MdbShard, trace: Trace | None) -> tuple[Sketch, ...]:
    key = shard.parse_key(trace.key) if trace is not None else None
    return _sketches(MdbScene(lambda: shard.file, key, shard.file))


def folder_sketches(data_set: MdbDataSet, trace: Trace | None) -> tuple[Sketch, ...] | None:
    """Return the drawings of the first shard, which is opened at the first drawing; None after a lookup."""
    first = data_set.first_member
    scene = MdbScene(lambda: cast("MdbShard", data_set.member(first)).file, None)
    return None if trace is not None else data_set.placed_sketches(_sketches(scene), first) if first else ()


def _sketches(scene: MdbScene) -> tuple[Sketch, ...]:
    return ChunkMapSketch(scene), CutsSketch(scene), HashLookupSketch(scene)


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    if isinstance(fact, TableSearched):
        table, shown = fact.table, list["Shown"]()
        if table.count:
            shown.append(bisection_figure(table, *fact.piece, fact.key))
        if len(fact.rows):
            start = table.span(fact.first, fact.first + 1).start
            shown.append(Fields(table.record, start, table.record.values(fact.rows[0]), relative=True))
        return tuple(shown)
    if isinstance(fact, OtherHash | Matched):
        found = fact.found if isinstance(fact, OtherHash) else fact.raw
        place = Span("", fact.place.start, fact.place.start + SIZE)
        return (Compared("The hash in the record", fact.raw, found, place, words=True),)
    if isinstance(fact, ChunksFound | ChunksMissing) and fact.segment is not None:
        segment = FILE_ENTRY.values(fact.segment) | {"cas_hash": fact.chunks.xorb}
        return (Fields(FILE_ENTRY, fact.chunks.place.start, segment),)
    return ()
