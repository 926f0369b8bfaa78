"""Makes a Read Shard of 100 GB with 46 million slots that takes little room on the disk.

Header, hash function and some live slots are real; the rest of objects and index are holes. Every bucket has
displacement 0, so the hash function is a sound one; the keys that are stored are chosen so that each has a slot alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.swh import chd, layout
from shardcore.formats.swh.hash_section import encode, write_hash_section

SLOTS = 46_000_013
OBJECTS = 45_540_000
DATA_BYTES = 100_000_000_000
STORED = 200
CANDIDATES = 60_000
FIRST_SLOTS = 200
"""Some of the slots at the beginning are live, as in every shard: what a reader samples of the index is there."""

LAST_SLOTS = 200
"""Of these at the end all are: displacements lead so many keys there."""


def make_sparse(path: Path, *, slots: int = SLOTS, declared: int = OBJECTS, data_bytes: int = DATA_BYTES) -> list[str]:
    """Writes the shard; returns the keys that are really in it. The arguments are those of `sparse_pieces`."""
    size, pieces, keys = sparse_pieces(slots=slots, declared=declared, data_bytes=data_bytes)
    with path.open("wb") as file:
        file.truncate(size)
        for start, piece in pieces.items():
            file.seek(start)
            file.write(piece)
    return keys


def sparse_pieces(
    *, slots: int = SLOTS, declared: int = OBJECTS, data_bytes: int = DATA_BYTES
) -> tuple[int, dict[int, bytes], list[str]]:
    """The size of the shard, what is in it besides zeros, by offset, and the keys that are really in it.

    Args:
        slots: Slots of the index, a prime.
        declared: Objects that the header says.
        data_bytes: Bytes of the objects section.
    """
    buckets = declared // 4 + 1
    rng = np.random.default_rng(5)
    displacements = rng.integers(0, 40, buckets, dtype=np.uint32)
    contents = [b"object number %d" % n for n in range(CANDIDATES)]
    keys = [hashlib.sha256(data).digest() for data in contents]
    last = _lead_to_the_end(keys, displacements, slots)
    section = write_hash_section(1, slots, buckets, encode(displacements))
    index_start = layout.DATA_START + data_bytes
    hash_start = index_start + slots * layout.SLOT.size
    header = layout.HEADER.pack(
        objects_count=declared,
        objects_position=layout.DATA_START,
        objects_size=data_bytes,
        index_position=index_start,
        index_size=slots * layout.SLOT.size,
        hash_position=hash_start,
    )
    places = chd.Function(1, slots, displacements).slots_of(np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 32))
    chosen = [n for n, slot in enumerate(places.tolist()) if n < STORED or slot < FIRST_SLOTS or n in last]
    taken: set[int] = set()
    pieces = {0: header, hash_start: section}
    offset = layout.DATA_START
    stored = []
    for number in chosen:
        key, data, slot = keys[number], contents[number], int(places[number])
        if slot in taken:
            continue
        taken.add(slot)
        pieces[offset] = layout.OBJECT.packer.pack(len(data)) + data
        pieces[index_start + slot * layout.SLOT.size] = layout.SLOT.packer.pack(key, offset)
        stored.append(key.hex())
        offset += data_bytes // (len(chosen) + 1)
    return hash_start + len(section), pieces, stored


def _lead_to_the_end(keys: list[bytes], displacements: NDArray[np.uint32], slots: int) -> set[int]:
    """Changes displacements so that each of the last slots has a key; returns the numbers of these keys."""
    led: dict[int, int] = {}
    for number in range(len(keys) - 1, 0, -1):
        if len(led) == LAST_SLOTS:
            break
        mixed = chd.jenkins_rounds(keys[number], 1)[-1].mixed
        bucket, first, step = chd.place_one(mixed, len(displacements), slots)
        if bucket not in led:
            target = slots - 1 - len(led)
            displacements[bucket] = (target - first) * pow(step, -1, slots) % slots
            led[bucket] = number
    return set(led.values())
