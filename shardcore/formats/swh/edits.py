"""Editing a Read Shard in place: deleting objects, and truncating the bytes after the shard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardcore.errors import UsageError
from shardcore.formats.swh import layout
from shardcore.formats.swh.shard import SwhShard
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.sources.base import read_pieces
from shardcore.writing.in_place import Edit, FileChange, Zeros, edit_of

MANY = 100
"""Number of keys above which they are looked up together, which reads the whole index."""


def delete(shard: SwhShard, keys: Sequence[str]) -> Edit:
    """Delete objects: overwrite contents, then lengths, with zeros, then empty the slots.

    Lengths and slots are written last, so that an interrupted deletion still shows what to delete. All keys are looked
    up before anything is planned.
    """
    if not keys:
        raise UsageError("no keys given: name the objects to delete")
    rows: dict[int, str] = {}
    contents: list[FileChange] = []
    lengths: list[FileChange] = []
    slots: list[FileChange] = []
    found = shard.find_many(keys).tolist() if len(keys) > MANY else [-1] * len(keys)
    for key, row in zip(keys, found, strict=True):
        # A missing key is looked up alone, which raises the reason.
        ref = shard.objects.ref(row) if row >= 0 else shard.find(key)
        if ref.row in rows:
            raise UsageError(f"the key {key} is given twice")
        rows[ref.row] = key
        content = _extent(shard, ref)
        if content.size:
            contents.append(FileChange(content.start, Zeros(content.size), f"content of {ref.key}"))
        start = content.start - layout.OBJECT.size
        lengths.append(FileChange(start, Zeros(layout.OBJECT.size), f"length of {ref.key}"))
        slot = shard.file.geometry.slot_span(ref.row)
        slots.append(FileChange(slot.start, _EMPTY, f"slot {ref.row}"))
    changes = (*contents, *lengths, *slots)
    return edit_of(
        shard.source, f"delete {plural(len(rows), 'object')}", changes, verb="delete", keys=tuple(rows.values())
    )


def _extent(shard: SwhShard, ref: ObjectRef) -> Span:
    """Return the span of an object's content; for length 0, all non-zero bytes up to the next object.

    An interrupted deletion may have left a zero length and the content.
    """
    content = ref.spans[0]
    if content.size:
        return content
    shard.load_index()
    order = shard.file.order
    geometry = shard.file.geometry
    after = order.offsets[order.offsets >= content.start] if order is not None else ()
    stop = int(min(after)) if len(after) else geometry.index_start
    source = shard.file.source
    has_content = any(map(any, read_pieces(source, content.start, stop)))
    return Span("", content.start, stop) if has_content else content


def truncate(shard: SwhShard) -> Edit:
    """Cut off the bytes after the hash function, such as the rest of a block device."""
    trailing = next((section for section in shard.sections if section.name == "trailing"), None)
    if trailing is None:
        return edit_of(shard.source, "no bytes follow the shard", ())
    return edit_of(shard.source, f"cut off {plural(trailing.size, 'byte')}", (), trailing.start, verb="truncate")


def _empty_slot() -> bytes:
    row = np.zeros(1, layout.SLOT.dtype)
    row["offset"] = layout.NO_OBJECT
    return bytes(layout.SLOT.write(row))


_EMPTY = _empty_slot()
