"""Hostile DES shards, sidecars and folders."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path

import numpy as np
import zstandard

from tests.hostile.making import GIB, UNFIT, hostile, hostile_texts, lead_out, lz4_frame, put, zstd_bomb, zstd_wide

_NAME = "2024-01-15_00_0000.des"
NONE, ZSTD, LZ4 = 0, 1, 2


def entry(uid: bytes, offset: int, length: int, codec: int, size: int, meta: bytes = b"", flags: int = 0) -> bytes:
    """An index entry of version 2."""
    place = struct.pack("<BQQBQQI", flags, offset, length, codec, length, size, len(meta))
    return struct.pack("<H", len(uid)) + uid + place + meta


def big_entry(uid: bytes, digest: bytes, size: int) -> bytes:
    """An index entry of a BigFile."""
    head = struct.pack("<BH", 1, len(digest)) + digest
    return struct.pack("<H", len(uid)) + uid + head + struct.pack("<QI", size, 0)


def shard(data: bytes, entries: list[bytes], count: int | None = None) -> bytes:
    """A whole shard."""
    index = struct.pack("<I", len(entries) if count is None else count) + b"".join(entries)
    return b"DES2\x02\0\0\0" + data + index + b"DESI" + struct.pack("<Q", len(index))


def _one(folder: Path, meta: bytes = b"", uid: bytes = b"one") -> Path:
    return put(folder, _NAME, shard(b"x", [entry(uid, 8, 1, NONE, 1, meta)]))


def _sidecar(folder: Path, text: bytes) -> Path:
    put(folder, _NAME.replace(".des", ".meta"), text)
    return _one(folder)


hostile_texts("des", "meta", lambda folder, text: _one(folder, b'{"a":' + text + b"}"), "one")
hostile_texts("des", "sidecar", lambda folder, text: _sidecar(folder, b'{"version":1,"index":' + text + b"}"), "one")


@hostile("des", "9999", "0")
def many_metas(folder: Path) -> Path:
    """A hundred thousand entries with metadata as deep as it may be, and nested as deep as it may not."""
    deep = b'{"a":' + b"[" * 30 + b"]" * 30 + b"}"
    return put(folder, _NAME, shard(b"x", [entry(b"%d" % n, 8, 1, NONE, 1, deep) for n in range(85_000)]))


@hostile("des", "0", "89999")
def one_payload_of_zeros(folder: Path) -> Path:
    """A hundred thousand entries that name one payload, which expands to a GiB."""
    bomb = zstd_bomb()
    entries = [entry(b"%d" % n, 8, len(bomb), ZSTD, GIB) for n in range(200_000)]
    return put(folder, _NAME, shard(bomb, entries))


@hostile("des", "one", UNFIT)
def unfit_uids(folder: Path) -> Path:
    """Uids that act on a terminal, and one that is not UTF-8."""
    uids = [UNFIT.encode(), b"\xff\xfe\x1b[2J", "\u202e\u2066txt.exe".encode(), b"a\nb\rc", b"one"]
    meta = json.dumps({UNFIT: UNFIT, "\ud800": "\udc00"}).encode()
    return put(folder, _NAME, shard(b"x", [entry(uid, 8, 1, NONE, 1, meta) for uid in uids]))


@hostile("des", "a", "b", "c", "d")
def sums_that_wrap(folder: Path) -> Path:
    """Places whose ends are small numbers of 64 bits."""
    wrong = [(8, 2**64 - 8), (2**64 - 1, 2), (2**63, 2**63), (2**64 - 4, 12)]
    entries = [entry(uid.encode(), a, b, NONE, b) for uid, (a, b) in zip("abcd", wrong, strict=True)]
    return put(folder, _NAME, shard(b"x" * 100, entries))


@hostile("des", "0")
def counts_that_lie(folder: Path) -> Path:
    """An index that says it has four thousand million entries."""
    return put(folder, _NAME, shard(b"x", [entry(b"0", 8, 1, NONE, 1)], 2**32 - 1))


@hostile("des", "wide", "absurd", "states", "undefined", "members")
def absurd_frames(folder: Path) -> Path:
    """Frames with a window of 2 GiB, blocks of 2 GiB, content of 8 EiB, block sizes that are not defined."""
    frames = {
        b"wide": (ZSTD, zstd_wide()),
        b"absurd": (LZ4, lz4_frame(7, 2**31, b"x", stated=2**31 - 1)),
        b"states": (LZ4, lz4_frame(7, 2**63, b"x")),
        b"undefined": (LZ4, lz4_frame(3, 1, b"x")),
        b"members": (ZSTD, zstd_wide() * 3),
    }
    data, entries = bytearray(), []
    for uid, (codec, frame) in frames.items():
        entries.append(entry(uid, 8 + len(data), len(frame), codec, 1))
        data += frame
    return put(folder, _NAME, shard(bytes(data), entries))


@hostile("des", "one")
def sidecar_tombstones(folder: Path) -> Path:
    """A hundred thousand tombstones of one uid, and their times."""
    tombs = {f"one:{n}": {"uid": "one", "created_at": f"{n}", "reason": ""} for n in range(100_000)}
    return _sidecar(folder, json.dumps({"version": 1, "shard_file": UNFIT, "tombstones": tombs}).encode())


@hostile("des", "0", "7")
def far_dates(folder: Path) -> Path:
    """Times past the year 9999, before the first, and of no calendar."""
    times = ["99999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "-2024-01-01T00:00:00Z"]
    times += ["2024-02-30T25:61:61Z", "2024-01-01T00:00:00+99:99", "9" * 50_000, UNFIT, 1e308, -1, 2**63, None]
    metas = [json.dumps({"created_at": time}).encode() for time in times]
    tombs = {f"{n}": {"uid": f"{n}", "created_at": time, "deleted_at": time} for n, time in enumerate(times)}
    retention = {"deadline": times[0], "status": times[7]}
    text = json.dumps({"version": 1, "tombstones": tombs, "x": retention})
    put(folder, _NAME.replace(".des", ".meta"), text.encode())
    return put(folder, _NAME, shard(b"x", [entry(b"%d" % n, 8, 1, NONE, 1, m) for n, m in enumerate(metas)]))


@hostile("des", "up", "link", "fifo", "folder", "short")
def bigfiles_that_lead_out(folder: Path) -> Path:
    """BigFiles named after other files, links, FIFOs and folders."""
    names = {uid: hashlib.sha256(uid).hexdigest().encode() for uid in (b"link", b"fifo", b"folder", b"short")}
    names[b"up"] = b"../../../../../../etc/passwd".ljust(64, b"/")
    entries = [big_entry(uid, digest, 10) for uid, digest in names.items()]
    put(folder, "secret", b"not yours")
    big = folder / "_bigFiles"
    big.mkdir()
    (big / names[b"link"].decode()).symlink_to("../secret")
    os.mkfifo(big / names[b"fifo"].decode())
    (big / names[b"folder"].decode()).mkdir()
    (big / names[b"short"].decode()).write_bytes(b"123")
    return put(folder, _NAME, shard(b"", entries))


@hostile("des", "one")
def folder_of_fifos(folder: Path) -> Path:
    """A folder of shards some of which are FIFOs, links to themselves, links to devices and folders."""
    inside = folder / "shards"
    inside.mkdir()
    _one(inside)
    os.mkfifo(inside / "2024-01-15_00_0000.meta")
    lead_out(inside, [f"2024-01-15_00_000{number}.des" for number in range(1, 6)])
    return inside


@hostile("des", "one", "7")
def lanes_of_unequal_length(folder: Path) -> Path:
    """Four hundred thousand of the shortest entries between ordinary ones: lanes of a walk of unequal length."""
    shortest = struct.pack("<HBHQI", 0, 1, 0, 0, 0)
    entries = [entry(b"one", 8, 1, NONE, 1)] * 3
    ordinary = [entry(b"%d" % n, 8, 1, NONE, 1) for n in range(60_000)]
    index = b"".join(entries) + shortest * 400_000 + b"".join(ordinary)
    count = len(entries) + 400_000 + len(ordinary)
    index = struct.pack("<I", count) + index
    return put(folder, _NAME, b"DES2\x02\0\0\0x", index, b"DESI", struct.pack("<Q", len(index)))


@hostile("des", "0", "49999")
def one_bigfile(folder: Path) -> Path:
    """Fifty thousand entries that name one BigFile of four megabytes."""
    data = bytes(4_000_000)
    digest = hashlib.sha256(data).hexdigest().encode()
    put(folder, f"_bigFiles/{digest.decode()}", data)
    return put(folder, _NAME, shard(b"", [big_entry(b"%d" % n, digest, len(data)) for n in range(50_000)]))


@hostile("des", "0", "99999")
def payloads_read_in_vain(folder: Path) -> Path:
    """A hundred thousand overlapping payloads of megabytes that turn out to be no frames at their last bytes."""
    stored = zstandard.ZstdCompressor(level=1).compress(np.random.default_rng(4).bytes(4_000_000))
    entries = [entry(b"%d" % n, 8, len(stored) - n % 2, ZSTD, 4_000_000) for n in range(100_000)]
    return put(folder, _NAME, shard(stored[:-1] + b"\xff", entries))


@hostile("des", "0", "60000")
def very_many_shards(folder: Path) -> Path:
    """A folder of sixty-five thousand shards of one object each."""
    for number in range(65_536):
        name = f"2024-01-15_{number:04X}_0000.des"
        put(folder, f"shards/{name}", shard(b"x", [entry(b"%d" % number, 8, 1, NONE, 1)]))
    return folder / "shards"
