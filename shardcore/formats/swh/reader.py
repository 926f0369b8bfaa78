"""A Read Shard, opened: sections, objects and bytes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, ShardError, Truncated, UsageError
from shardcore.finding import Depth, Report
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.swh import chd, chd_code, layout, tree, verify
from shardcore.formats.swh.lookup import lookup, slot_of_key
from shardcore.formats.swh.objects import Geometry, SwhObjects, key_bytes, load_order, read_slots, read_slots_at
from shardcore.nodes.node import Node
from shardcore.nodes.sections import tile
from shardcore.objects import ObjectRef, State
from shardcore.progress import Progress, no_progress
from shardcore.record import Value
from shardcore.shard import DEFAULT_LIMIT, PIECE, Shard
from shardcore.sources.base import Source
from shardcore.sources.opening import PrefetchedSource
from shardcore.sources.wrapped import KeptSource
from shardcore.span import Span
from shardcore.trace import Look

SECTION_GUESS = 65536
"""Bytes of the hash function fetched when opening; shards of up to about 250,000 objects fit whole."""

SAMPLE_SLOTS = 200
"""Slots in which a live key is sought to tell the dialect of the hash."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeFunction:
    """The hash function with all displacements.

    Attributes:
        encoded: The parts as the file keeps them.
        decoded: What they say.
    """

    encoded: chd_code.Encoded
    decoded: chd_code.Decoded


class SwhShard(Shard):
    """An opened Read Shard.

    Attributes:
        header: The fields of the header.
        geometry: Where the parts lie.
        parts: Where the parts of the hash function lie; None when it is damaged.
        signed: Whether key bytes count as signed (an old dialect no current reader follows); None until known.
    """

    format = "swh"
    version = "1"
    source: Source

    def __init__(self, source: Source, header: dict[str, Any], window: bytes, parts: layout.HashParts | None) -> None:
        self.source = source
        self.header = header
        slots = header["index_size"] // layout.SLOT.size
        self.geometry = Geometry(header["objects_position"], header["index_position"], slots, header["objects_count"])
        self.parts = parts
        self.signed: bool | None = None
        hash_stop = parts.stop if parts is not None else source.size
        self.sections, _ = tile(tree.sections_of(header, hash_stop, source.size), source.size)
        self._objects = SwhObjects(source, self.geometry)
        whole = parts is not None and parts.stop - parts.start <= len(window)
        self._section = window[: parts.stop - parts.start] if parts is not None and whole else None
        self._function: WholeFunction | None = None
        self._tail: dict[str, Any] | None = None
        self._window: tuple[int, bytes] = (0, b"")
        self._lock = threading.RLock()

    @property
    def objects(self) -> SwhObjects:
        """One row for each slot."""
        return self._objects

    @property
    def tree(self) -> Node:
        """The root of the node tree."""
        return tree.tree(self, self.source.name, self.source.size)

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of the header and of the fixed part of the hash function."""
        fields = {f"header.{name}": value for name, value in self.header.items()}
        if self.parts is not None:
            fields.update({f"hash_function.{name}": value for name, value in self.parts.values.items()})
            fields["hash_function.end"] = self.parts.stop
        return fields

    @property
    def declared_objects(self) -> int:
        """`objects_count`; deletions do not lower it."""
        return self.geometry.declared

    @property
    def loaded(self) -> bool:
        """Whether the objects are known in the order of their bytes."""
        return self._objects.by_offset is not None

    @property
    def index_bytes(self) -> int:
        """Bytes of the index."""
        return int(self.header["index_size"])

    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads the offsets of all slots, and lengths where deletions leave them open."""
        with self._lock:
            if self._objects.by_offset is None:
                with self._enough_memory():
                    self._objects.by_offset = load_order(self.source, self.geometry, progress)

    def hash_parts(self) -> layout.HashParts:
        """Where the parts of the hash function lie.

        Raises:
            FormatError: The hash function is damaged.
        """
        if self.parts is None:
            raise self.damage or FormatError("the hash function is damaged")
        return self.parts

    def hash_tail(self) -> dict[str, Any]:
        """The last two counts of the hash function, as they stand there."""
        if self._tail is None:
            parts = self.hash_parts()
            data = self.hash_source().read(parts.stop - layout.HASH_TAIL.size, parts.stop)
            self._tail = layout.HASH_TAIL.read_one(data)
        return self._tail

    def hash_source(self, source: Source | None = None) -> Source:
        """Where to read the hash function from: memory, where the whole section was fetched when opening."""
        base = source or self.source
        return base if self._section is None else KeptSource(base, self.hash_parts().start, self._section)

    def function(self, progress: Progress = no_progress) -> WholeFunction:
        """The whole hash function, read and checked once.

        Raises:
            FormatError: It is damaged.
        """
        with self._lock:
            if self._function is None:
                parts = self.hash_parts()
                section = self.hash_source().read(parts.start, parts.stop)
                layout.read_hash_tail(section[-layout.HASH_TAIL.size :], parts)
                encoded = layout.read_encoded(section, parts)
                self._function = WholeFunction(encoded, chd_code.decode(encoded, parts.buckets, parts.where))
            return self._function

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds a key; see `Shard.lookup`."""
        return lookup(self, key, look)

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The slots of many keys, vectorised; -1 where a key is absent."""
        if not len(keys):
            return np.empty(0, np.int64)
        if any(len(key) != 64 for key in keys):
            raise UsageError("a key of a swh shard is 64 hex digits")
        try:
            # `fromhex` skips blanks, which no key has: fewer bytes come out then.
            wanted = np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(len(keys), 32)
        except ValueError:
            wanted = np.frombuffer(b"".join(key_bytes(key) for key in keys), np.uint8).reshape(-1, 32)
        rows = self.slots_of(wanted, signed=self.is_signed(self.source))
        slots = read_slots_at(self.source, self.geometry, rows)
        live = self.geometry.states(slots["offset"]) == State.LIVE
        equal = (slots["key"].reshape(-1, 32).view("<u8") == np.ascontiguousarray(wanted).view("<u8")).all(axis=1)
        return np.where(live & equal, rows, -1)

    def slots_of(self, keys: NDArray[np.uint8], *, signed: bool) -> NDArray[np.int64]:
        """The slot of every key, shape `(m, 32)`, present or not."""
        parts = self.hash_parts()
        function = chd.Function(parts.seed, parts.slots, self.function().decoded.displacements, signed)
        return function.slots_of(keys)

    def is_signed(self, source: Source) -> bool:
        """Whether keys are hashed in the signed dialect; told by a live key once, and kept.

        Raises:
            SourceError: The bytes cannot be had.
        """
        if self.signed is None:
            parts = self.hash_parts()
            votes = 0
            for slot, key in self._sample_keys(source, parts):
                hashes = self.hash_source(source)
                plain, other = (slot_of_key(hashes, parts, key, signed=signed) for signed in (False, True))
                if slot == plain != other:
                    votes = 0
                    break
                # One damaged key may fall into its slot by chance: a second one has to agree, where there is one.
                votes += slot == other != plain
                if votes == 2:
                    break
            # Where no key tells, it is the dialect that everybody writes, and the slots are not searched again.
            self.signed = votes > 0
        return self.signed is True

    def keep_window(self, start: int, data: bytes) -> None:
        """Keeps bytes that a lookup fetched with the length of an object; reading that object uses them up."""
        self._window = (start, data)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The content in pieces."""
        content = self._checked_span(ref)
        start, data = self._window
        self._window = (0, b"")
        if start + layout.OBJECT.size == content.start and len(data) - layout.OBJECT.size >= content.size:
            self._check_length(data, content)
            yield data[layout.OBJECT.size : layout.OBJECT.size + content.size]
            return
        first = True
        at = content.start
        while at < content.stop or first:
            stop = min(at + PIECE, content.stop)
            # The length is read with the first piece, and must be what the reference said.
            lead = layout.OBJECT.size if first else 0
            piece = self.source.read(at - lead, stop)
            if first:
                self._check_length(piece, content)
            yield piece[lead:]
            first, at = False, stop

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the content, read alone."""
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        content = self._checked_span(ref)
        first, last = min(content.start + start, content.stop), min(content.start + stop, content.stop)
        if last - first > limit:
            raise LimitExceeded(f"the range has {last - first} bytes; the limit is {limit}")
        return self.source.read(first, last)

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks the shard; see `docs/formats/swh.md` for what each depth does."""
        with self._enough_memory():
            return verify.verify(self, Depth(depth), progress)

    @contextmanager
    def _enough_memory(self) -> Iterator[None]:
        """A sparse file of a few bytes may have billions of slots: that too ends as an error of ours."""
        try:
            yield
        except MemoryError as error:
            raise ShardError(f"there is not enough memory for {self.geometry.slots} slots") from error

    def _checked_span(self, ref: ObjectRef) -> Span:
        if ref.state is not State.LIVE or not ref.spans:
            raise FormatError(ref.error or f"slot {ref.row} holds no object", span=self._slot_span(ref.row))
        return ref.spans[0]

    def _check_length(self, piece: bytes, content: Span) -> None:
        place = Span("", content.start - layout.OBJECT.size, content.start)
        size = layout.OBJECT.read_one(piece, place=place)["size"]
        if size != content.size:
            raise FormatError(f"the object says {size} bytes, but takes {content.size}", span=place)

    def _slot_span(self, slot: int) -> Span:
        return Span("", self.geometry.slot_start(slot), self.geometry.slot_start(slot + 1))

    def _sample_keys(self, source: Source, parts: layout.HashParts) -> Iterator[tuple[int, bytes]]:
        """Some live keys with bytes that the two dialects read differently, from the first slots that have any."""
        for first in range(0, min(self.geometry.slots, 50 * SAMPLE_SLOTS), SAMPLE_SLOTS):
            last = min(first + SAMPLE_SLOTS, self.geometry.slots)
            rows = read_slots(source, self.geometry, first, last)
            live = self.geometry.states(rows["offset"]) == State.LIVE
            differs = (rows["key"] >= 0x80).any(axis=1)
            for at in np.flatnonzero(live & differs)[:4].tolist():
                yield first + at, rows["key"][at].tobytes()


def detect(source: PrefetchedSource) -> Verdict | None:
    """Recognises a Read Shard by its magic."""
    head = source.head(layout.HEADER.size)
    if head[:9] == layout.MAGIC + b"\0":
        return Verdict(Certainty.MAGIC, "magic SWHShard")
    if head[:8] == layout.MAGIC:
        return Verdict(Certainty.PARTLY, "magic SWHShard without the zero after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext) -> SwhShard:
    """Opens a Read Shard with two reads: the head of the file, and the head of the hash function.

    Raises:
        FormatError: Header or hash function are damaged.
        SourceError: The bytes cannot be had.
    """
    draft = context.draft
    head = source.head(min(layout.HEADER.size, source.size))
    if len(head) == layout.HEADER.size:
        raw = layout.HEADER.read_one(head)
        draft.add(tree.header_section(), tree.header_node_unchecked(raw), raw)
    header = layout.read_header(head)
    draft.version, draft.declared = str(header["version"]), header["objects_count"]
    try:
        layout.check_reach(header, source.size)
    except Truncated:
        for section, node in tree.cut_sections(header, source.size):
            draft.add(section, node)
        raise
    start, slots = header["hash_position"], header["index_size"] // layout.SLOT.size
    parts: layout.HashParts | None = None
    damage: FormatError | None = None
    window = source.read(start, min(start + SECTION_GUESS, source.size))
    try:
        parts = layout.read_hash_parts(window, start, slots, source.size)
        if parts.stop - start <= len(window):
            tail = window[parts.stop - start - layout.HASH_TAIL.size : parts.stop - start]
            layout.read_hash_tail(tail, parts)
    except FormatError as error:
        # Index and objects are whole: what does not need the hash function still works.
        if not context.partial:
            raise
        parts, damage = None, error
    shard = SwhShard(source.base, header, window, parts)
    shard.damage = damage
    return shard
