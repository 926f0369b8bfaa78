"""Changes of a Read Shard in place: deleting objects, and cutting off what follows the shard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardcore.errors import UsageError
from shardcore.formats.swh import layout
from shardcore.formats.swh.shard import SwhShard
from shardcore.words import plural
from shardcore.writing.edit import Change, Edit, Zeros, edit_of

MANY = 100
"""More keys than this are looked up all at once, for which the whole index is read."""


def delete(shard: SwhShard, keys: Sequence[str]) -> Edit:
    """Deletes objects as the reference does: length and content become zeros, then the slot that of no object.

    All keys are looked up before anything is planned.

    Raises:
        KeyAbsent: A key is not in the shard, or its object was deleted before.
        UsageError: A key comes twice, or is none; the shard is no local file.
    """
    if not keys:
        raise UsageError("which objects? give keys")
    rows: dict[int, str] = {}
    objects: list[Change] = []
    slots: list[Change] = []
    found = shard.find_many(keys).tolist() if len(keys) > MANY else [-1] * len(keys)
    for key, row in zip(keys, found, strict=True):
        # What is not found at once is looked up alone: that says why.
        ref = shard.objects.ref(row) if row >= 0 else shard.find(key)
        if ref.row in rows:
            raise UsageError(f"the key {key} is given twice")
        rows[ref.row] = key
        content = ref.spans[0]
        start = content.start - layout.OBJECT.size
        objects.append(Change(start, Zeros(content.stop - start), f"length and content of {ref.key}"))
        slot = shard.file.geometry.slot_span(ref.row)
        slots.append(Change(slot.start, _EMPTY, f"slot {ref.row}"))
    return edit_of(shard.source, f"delete {plural(len(rows), 'object')}", (*objects, *slots))


def truncate(shard: SwhShard) -> Edit:
    """Cuts off the bytes after the hash function, such as the rest of a larger block device.

    Raises:
        UsageError: The shard is no local file.
    """
    trailing = next((section for section in shard.sections if section.name == "trailing"), None)
    if trailing is None:
        return edit_of(shard.source, "nothing follows the shard", ())
    return edit_of(shard.source, f"cut off {plural(trailing.size, 'byte')}", (), trailing.start)


def _empty_slot() -> bytes:
    row = np.zeros(1, layout.SLOT.dtype)
    row["offset"] = layout.NO_OBJECT
    return bytes(layout.SLOT.write(row))


_EMPTY = _empty_slot()
