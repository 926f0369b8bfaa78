"""A Read Shard as a `Shard`: detection and opening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, Truncated
from shardcore.formats.swh import layout
from shardcore.formats.swh.file import SwhFile
from shardcore.formats.swh.hash_section import HashParts, read_hash_parts, read_hash_tail
from shardcore.formats.swh.lookup import SwhLookup
from shardcore.formats.swh.objects import KEY_FORM, SwhObjects
from shardcore.formats.swh.step_values import MEANINGS
from shardcore.formats.swh.tree import SwhTree, cut_nodes, header_node
from shardcore.model.number_words import grouped_digits, plural
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import Draft, OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT

if TYPE_CHECKING:
    from shardcore.formats.swh.hash_data import SwhHashing
    from shardcore.formats.swh.key_scene import KeyedScene
    from shardcore.model.drawing import Sketch
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Value
    from shardcore.shards.trace import Trace
    from shardcore.sources.opening import PrefetchedSource

LAST_SLOTS = 200
"""Slots before the hash function that are fetched with it: their keys show whether the hash uses signed bytes."""

SECTION_GUESS = (60 << 10) - LAST_SLOTS * layout.SLOT.size
"""Bytes of the hash function read at opening; sufficient for about 170,000 objects."""


class SwhShard(FileShard):
    file: SwhFile
    _lookup: SwhLookup
    key_form = KEY_FORM
    meanings = MEANINGS

    format = "swh"
    version = "1"

    def __init__(self, file: SwhFile) -> None:
        super().__init__(file, SwhObjects(file), SwhTree(file), SwhLookup(file))
        self.damage = file.damage

    @property
    def fields(self) -> dict[str, Value]:
        fields = {f"header.{name}": value for name, value in self.file.header.items()}
        if (parts := self.file.parts) is not None:
            fields.update({f"hash_function.{name}": value for name, value in parts.values.items()})
            fields["hash_function.end"] = parts.stop
        return fields

    @property
    def write_options(self) -> dict[str, Any]:
        """The seed; with it, the same objects in the same order give the same bytes."""
        return {"seed": self.file.parts.values["seed"]} if self.file.parts is not None else {}

    @property
    def declared_objects(self) -> int:
        return self.file.geometry.declared

    @cached_property
    def hashing(self) -> SwhHashing:
        from shardcore.formats.swh.hash_data import SwhHashing

        return SwhHashing(self.file)

    def sketches(self, trace: Trace | None = None) -> tuple[Sketch, ...]:
        if self.file.parts is None:
            return ()
        from shardcore.formats.swh.key_scene import KeyedScene

        return sketches_of(KeyedScene(lambda: self.hashing, trace))

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self._lookup.find_many(keys)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return self.file.pieces(self._objects.content_of(ref))

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        content = self._objects.content_of(ref)
        first, last = min(content.start + start, content.stop), min(content.start + stop, content.stop)
        if last - first > limit:
            raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {grouped_digits(limit)}")
        return self.file.source.read(first, last)


def sketches_of(scene: KeyedScene) -> tuple[Sketch, ...]:
    from shardcore.formats.swh.displacement_sketch import DisplacementSketch
    from shardcore.formats.swh.slot_placement import SlotPlacementSketch

    return SlotPlacementSketch(scene), DisplacementSketch(scene)


def detect(source: PrefetchedSource) -> Verdict | None:
    head = source.head(layout.HEADER.size)
    if head.startswith(layout.WHOLE_MAGIC):
        return Verdict(Certainty.MAGIC, "magic SWHShard")
    if head.startswith(layout.MAGIC):
        return Verdict(Certainty.PARTLY, "magic SWHShard without the zero after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext) -> SwhShard:
    """Open a Read Shard with two reads: the start of the file, and the start of the hash function."""
    draft = context.draft
    head = source.head(layout.HEADER.size)
    if draft.kept and (context.forced or head.startswith(layout.WHOLE_MAGIC)):
        _note_header(head, draft)
    header = layout.read_header(head)
    draft.declared = header["objects_count"]
    try:
        layout.check_reach(header, source.size)
    except Truncated:
        for section, node in cut_nodes(header, source.size):
            draft.add(section, node)
        raise
    start = header["hash_position"]
    geometry = layout.SwhGeometry.of(header)
    last = max(geometry.slots - LAST_SLOTS, 0)
    lead = start - geometry.slot_start(last)
    window = source.read(start - lead, min(start + SECTION_GUESS, source.size))
    slots, window = window[:lead], window[lead:]
    parts: HashParts | None = None
    damage: FormatError | None = None
    try:
        parts = _read_parts(window, header, source.size)
    except FormatError as error:
        # Index and objects may be intact, so a partial shard is usable without the hash function.
        if not context.partial:
            raise
        damage = error
    return SwhShard(SwhFile(source.base, header, window, parts, damage, slots))


def _note_header(head: bytes, draft: Draft) -> None:
    values = layout.cut_header(head)
    if not values:
        return
    draft.version = str(values.get("version", ""))
    draft.add(layout.header_section(len(head)), header_node(values, size=len(head)), values)


def _read_parts(window: bytes, header: dict[str, Any], size: int) -> HashParts:
    """Return the parts of the hash function, and check its last bytes if `window` contains them."""
    geometry = layout.SwhGeometry.of(header)
    parts = read_hash_parts(window, header["hash_position"], geometry.slots, size)
    stop = parts.stop - parts.start
    if stop <= len(window):
        read_hash_tail(window[stop - layout.HASH_TAIL.size : stop], parts)
    return parts
