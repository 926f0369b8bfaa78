"""DES shards of 100,000 objects: opening and listing beside a plain loop over the entries, and finding uids."""

from __future__ import annotations

import random
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import shardcore
from shardcore.sources.memory import BytesSource
from tests.bench.figures import Figure, best_of
from tests.shardcore.formats.des import made

ENTRIES = 100_000
EQUAL = 300_000
SHARE = 1 / 3
"""Opening and listing all entries takes at most this part of the plain loop's time."""

WRITER_OVER_LOOP = 1.25 / 0.2
"""The time of the reference's writer over that of a plain loop with `struct`, as measured once."""

REPEATS = 7


class Plain(NamedTuple):
    """One entry as the plain loop keeps it."""

    uid: str
    flags: int
    offset: int
    length: int
    codec: int
    compressed_size: int
    uncompressed_size: int
    meta: bytes


def make(seed: int = 1, entries: int = ENTRIES) -> bytes:
    """A shard as an archive of documents has it: uids of different lengths, half of them with metadata."""
    dice = random.Random(seed)
    data, index = bytearray(b"DES2\2\0\0\0"), bytearray(struct.pack("<I", entries))
    for number in range(entries):
        uid = f"invoices/{dice.randrange(10 ** dice.randint(3, 12))}-{number}.xml".encode()
        meta = dice.choice([b"", b'{"created_at":"2026-11-03T08:00:00Z"}'])
        size = dice.randrange(200)
        place = struct.pack("<BQQBQQI", 0, len(data), size, 0, size, size, len(meta))
        index += struct.pack("<H", len(uid)) + uid + place + meta
        data += bytes(size)
    return bytes(data + index) + b"DESI" + struct.pack("<Q", len(index))


def plain_loop(data: bytes) -> list[Plain]:
    """All entries one by one with `struct`, the uids decoded, the metadata left as it is."""
    size = struct.unpack_from("<Q", data, len(data) - 8)[0]
    index = data[len(data) - 12 - size : len(data) - 12]
    found, at = [], 4
    for _ in range(struct.unpack_from("<I", index)[0]):
        (length,) = struct.unpack_from("<H", index, at)
        at += 2
        uid = index[at : at + length].decode()
        at += length
        *place, meta_length = struct.unpack_from("<BQQBQQI", index, at)
        at += 38
        found.append(Plain(uid, *place, index[at : at + meta_length]))
        at += meta_length
    return found


def open_and_list(data: bytes, *, keys: bool) -> int:
    """Opens, and takes the columns of all entries; with their uids as texts when asked for."""
    with shardcore.open(BytesSource(data, "x.des"), format="des") as shard:
        columns = shard.objects[:].columns
        texts = shard.objects.keys[:] if keys else shard.objects.keys[:50]
        return len(columns) + len(texts)


def documents() -> tuple[list[str], list[bytes]]:
    """Uids and small contents."""
    dice = random.Random(3)
    uids = [f"invoices/{dice.randrange(10**12)}-{number}.xml" for number in range(ENTRIES)]
    return uids, [b"document %d " % number * (1 + number % 9) for number in range(ENTRIES)]


def plain_writer(path: Path, uids: list[str], contents: list[bytes]) -> None:
    """A shard written by a plain loop with `struct`."""
    index, at = bytearray(struct.pack("<I", len(uids))), 8
    with path.open("wb") as file:
        file.write(b"DES2\2\0\0\0")
        for uid, content in zip(uids, contents, strict=True):
            file.write(content)
            raw, size = uid.encode(), len(content)
            index += struct.pack("<H", len(raw)) + raw + struct.pack("<BQQBQQI", 0, at, size, 0, size, size, 0)
            at += size
        file.write(index + b"DESI" + struct.pack("<Q", len(index)))


def write(path: Path, uids: list[str], contents: list[bytes]) -> None:
    """The same by our writer."""
    with shardcore.create(path, format="des", force=True) as writer:
        writer.add_many(uids, contents)


def writing() -> Iterator[Figure]:
    """Writing 100,000 small objects."""
    uids, contents = documents()
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "plain.des", Path(folder) / "ours.des"
        plain = best_of(REPEATS, lambda: plain_writer(theirs, uids, contents)) * 1000
        took = best_of(REPEATS, lambda: write(ours, uids, contents)) * 1000
        if ours.read_bytes() != theirs.read_bytes():
            raise RuntimeError("the two shards differ")
    note = "reference: a loop with struct; the reference's writer takes 6.25 times its time"
    yield Figure("write 100,000 objects", took, plain * WRITER_OVER_LOOP / 4, "ms", plain, note)


def run() -> Iterator[Figure]:
    """The figures."""
    yield from writing()
    data = make()
    plain = best_of(REPEATS, lambda: plain_loop(data)) * 1000
    listed = best_of(REPEATS, lambda: open_and_list(data, keys=False)) * 1000
    note = "reference: a loop with struct over all entries"
    yield Figure("open and list 100,000 entries, 50 uids shown", listed, plain * SHARE, "ms", plain, note)
    texts = best_of(REPEATS, lambda: open_and_list(data, keys=True)) * 1000
    yield Figure("the same with all uids as texts", texts, plain, "ms", plain)
    with shardcore.open(BytesSource(data, "x.des"), format="des") as shard:
        dice = random.Random(2)
        keys = [key for key in shard.objects.keys[:] if key is not None]
        some = dice.sample(keys, 1000)
        one = best_of(REPEATS, lambda: shard.find(some[0])) * 1000
        yield Figure("find one uid of 100,000", one, 20, "ms")
        many = best_of(REPEATS, lambda: shard.find_many(some)) * 1000
        yield Figure("find 1,000 uids of 100,000", many, 500, "ms")
        shard.load_index()
        middle = len(data) // 2
        paint = best_of(REPEATS, lambda: shard.runs(middle, middle + 4096)) * 1000
        yield Figure("colours of 4 KiB after loading", paint, 20, "ms")
        rows = np.arange(1000, dtype=np.int64) * 97
        row = best_of(REPEATS, lambda: shard.objects.columns(rows)) * 1000
        yield Figure("columns of 1,000 rows", row, 20, "ms")
    equal = made.shard([made.Stored(b"the same uid", b"x")] * EQUAL)
    with shardcore.open(BytesSource(equal, "equal.des"), format="des") as shard:
        found = best_of(REPEATS, lambda: shard.find_all("the same uid")) * 1000
        yield Figure(f"find all of {EQUAL:,} entries of one uid", found, 1000, "ms")
