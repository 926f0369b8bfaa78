"""Hostile MDB shards, and folders of xorbs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from shardcore.codecs.xet.hashes import chunk_hash
from shardcore.codecs.xet.xorb_layout import XorbInfo, chunk_headers, write_info
from shardcore.formats.mdb import layout
from shardcore.formats.mdb.layout import BOOKEND, CAS_ENTRY, CAS_HEADER, FILE_ENTRY, FILE_HEADER, FOOTER, HEADER
from tests.hostile.making import MEGABYTES, hostile, lead_out, put

MOST = 2**32 - 1
FILE_KEY = "file:" + "01" * 32
XORB_KEY = "xorb:" + "02" * 32
CHUNK_KEY = "chunk:" + "03" * 32
_NAME = "0" * 64 + ".mdb"


def rows(record: Any, count: int, **values: Any) -> bytes:
    """Rows of a record."""
    found = np.zeros(count, record.dtype)
    for name, value in values.items():
        found[name] = value
    written: bytes = record.write(found)
    return written


def digest(byte: int) -> np.ndarray:
    """A hash of one byte, repeated."""
    return np.full(32, byte, np.uint8)


def shard(files: bytes, xorbs: bytes, tables: tuple[bytes, bytes, bytes] = (b"", b"", b""), **changed: Any) -> bytes:
    """A shard; fields of the footer can be changed."""
    parts = [HEADER.pack(footer_size=FOOTER.size), files + BOOKEND.pack(), xorbs + BOOKEND.pack(), *tables]
    places = np.cumsum([0, *map(len, parts)]).tolist()
    footer: dict[str, Any] = {"cas_info_offset": places[2], "footer_offset": places[6]}
    for number, (name, record) in enumerate(
        (("file", layout.FILE_LOOKUP), ("xorb", layout.XORB_LOOKUP), ("chunk", layout.CHUNK_LOOKUP))
    ):
        footer[f"{name}_lookup_offset"] = places[3 + number]
        footer[f"{name}_lookup_num_entry"] = len(tables[number]) // record.size
    return b"".join(parts) + FOOTER.pack(**(footer | changed))


def _put(folder: Path, data: bytes) -> Path:
    return put(folder, _NAME, data)


@hostile("mdb", FILE_KEY)
def file_of_all_segments(folder: Path) -> Path:
    """A file of two hundred thousand segments, each of which is 4 GiB of one xorb."""
    count = 200_000
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=count)
    segments = rows(FILE_ENTRY, count, cas_hash=digest(2), unpacked_segment_bytes=MOST, chunk_index_end=MOST)
    return _put(folder, shard(head + segments, b""))


@hostile("mdb", FILE_KEY)
def file_that_says_more(folder: Path) -> Path:
    """A file that says that it has four thousand million segments, with verification and metadata."""
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=MOST, file_flags=0xC0000000)
    return _put(folder, shard(head + bytes(48 * 1000), b""))


@hostile("mdb", CHUNK_KEY, XORB_KEY)
def xorb_of_all_chunks(folder: Path) -> Path:
    """A xorb of two hundred thousand chunks of 4 GiB, of one hash, at places that wrap."""
    count = 200_000
    head = rows(CAS_HEADER, 1, cas_hash=digest(2), num_entries=count, num_bytes_in_cas=MOST, num_bytes_on_disk=MOST)
    entry = {"chunk_hash": digest(3), "chunk_byte_range_start": MOST, "unpacked_segment_bytes": MOST}
    return _put(folder, shard(b"", head + rows(CAS_ENTRY, count, **entry)))


@hostile("mdb", FILE_KEY, XORB_KEY, CHUNK_KEY)
def lookups_of_one_key(folder: Path) -> Path:
    """Lookup tables of hundreds of thousands of entries of one key that lead to each other's records."""
    key = int.from_bytes(b"\x01" * 8, "little")
    files = rows(layout.FILE_LOOKUP, 150_000, key=key, index=np.arange(150_000) % 3)
    xorbs = rows(layout.XORB_LOOKUP, 150_000, key=int.from_bytes(b"\x02" * 8, "little"), index=np.arange(150_000) % 5)
    chunks = rows(layout.CHUNK_LOOKUP, 150_000, key=int.from_bytes(b"\x03" * 8, "little"), index=MOST, chunk=MOST)
    records = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=1) + rows(FILE_ENTRY, 1, cas_hash=digest(2))
    cas = rows(CAS_HEADER, 1, cas_hash=digest(2), num_entries=1) + rows(CAS_ENTRY, 1, chunk_hash=digest(3))
    return _put(folder, shard(records, cas, (files, xorbs, chunks)))


@hostile("mdb", FILE_KEY)
def very_many_shards(folder: Path) -> Path:
    """A cache of twenty-five thousand shards without files."""
    content = shard(b"", b"")
    for number in range(25_000):
        put(folder, f"shards/{number:064x}.mdb", content)
    return folder / "shards"


@hostile("mdb", FILE_KEY)
def sums_that_wrap(folder: Path) -> Path:
    """Offsets and counts whose products and sums are small numbers of 64 bits."""
    changed: dict[str, Any] = {}
    for name, size in (("file", 12), ("xorb", 12), ("chunk", 16)):
        changed |= {f"{name}_lookup_offset": 2**64 - size, f"{name}_lookup_num_entry": 2**64 // size + 1}
    return _put(folder, shard(b"", b"", **changed, cas_info_offset=2**64 - 48, footer_offset=2**64 - 1))


@hostile("mdb", FILE_KEY)
def far_dates(folder: Path) -> Path:
    """Times past the year 9999."""
    changed: dict[str, Any] = {"shard_creation_timestamp": 2**63, "shard_key_expiry": 2**64 - 2}
    return _put(folder, shard(rows(FILE_HEADER, 1, file_hash=digest(1)), b"", **changed))


@hostile("mdb", FILE_KEY)
def xorbs_that_lead_out(folder: Path) -> Path:
    """A folder of xorbs that are FIFOs, links and folders."""
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=3)
    segments = b"".join(
        rows(FILE_ENTRY, 1, cas_hash=digest(byte), unpacked_segment_bytes=10, chunk_index_end=1) for byte in (2, 4, 5)
    )
    os.mkfifo(folder / ("02" * 32))
    (folder / ("04" * 32)).symlink_to("/dev/zero")
    (folder / ("05" * 32)).mkdir()
    return _put(folder, shard(head + segments, b""))


@hostile("mdb", FILE_KEY)
def folder_of_shards(folder: Path) -> Path:
    """A folder of hundreds of shards that say that they have everything, FIFOs and links among them."""
    data = shard(rows(FILE_HEADER, 1000, file_hash=digest(1)), b"")
    for number in range(150):
        put(folder, f"shards/{number:064x}.mdb", data)
    lead_out(folder / "shards", [f"{letter * 64}.mdb" for letter in "abcde"])
    return folder / "shards"


@hostile("mdb", FILE_KEY)
def garbage(folder: Path) -> Path:
    """Ten megabytes of random records between a header and a footer."""
    noise = np.random.default_rng(8).integers(0, 256, MEGABYTES // 48 * 48 - 9600, dtype=np.uint8).tobytes()
    half = len(noise) // 96 * 48

    return _put(folder, shard(noise[:half], noise[half:]))


def _chunks_of_one_byte(count: int, byte: int = 2) -> bytes:
    """A xorb of chunks of one byte each."""
    head = rows(CAS_HEADER, 1, cas_hash=digest(byte), num_entries=count, num_bytes_in_cas=count)
    hashes = np.random.default_rng(byte).integers(0, 256, (count, 32), dtype=np.uint8)
    entry = {"chunk_hash": hashes, "chunk_byte_range_start": np.arange(count), "unpacked_segment_bytes": 1}
    return head + rows(CAS_ENTRY, count, **entry)


def _segments_of_all(segments: int, chunks: int, byte: int = 2) -> bytes:
    """Segments each of which is all chunks of one xorb."""
    return rows(FILE_ENTRY, segments, cas_hash=digest(byte), unpacked_segment_bytes=chunks, chunk_index_end=chunks)


def _one_file_of_all(count: int) -> bytes:
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=count)
    return shard(head + _segments_of_all(count, count), _chunks_of_one_byte(count))


@hostile("mdb", FILE_KEY, XORB_KEY)
def file_of_all_chunks_again(folder: Path) -> Path:
    """A file of a hundred thousand segments, each of which is the same hundred thousand chunks."""
    return _put(folder, _one_file_of_all(100_000))


@hostile("mdb", FILE_KEY)
def files_of_all_chunks(folder: Path) -> Path:
    """Files by the thousand, each of which is the same hundred thousand chunks."""
    count, chunks = 50_000, 100_000
    both = np.zeros((count, 96), np.uint8)
    both[:, :48] = np.frombuffer(rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=1), np.uint8)
    both[:, 48:] = np.frombuffer(_segments_of_all(1, chunks), np.uint8)
    both[:, :2] = np.arange(count, dtype="<u2").view(np.uint8).reshape(-1, 2)
    return _put(folder, shard(both.tobytes(), _chunks_of_one_byte(chunks)))


def _xorb_of_zeros(folder: Path, name: str, count: int, size: int = 131_072) -> None:
    """A xorb whose chunks are the same zeros, which pack well; it has no info block."""
    import lz4.frame

    stored = lz4.frame.compress(bytes(size))
    record = b"\0" + len(stored).to_bytes(3, "little") + b"\x01" + size.to_bytes(3, "little") + stored
    put(folder, name, record * count)


@hostile("mdb", FILE_KEY, XORB_KEY)
def one_xorb_again(folder: Path) -> Path:
    """A file of fifty thousand segments, each of which is the same 512 MiB of zeros of one xorb beside the shard."""
    chunks, count = 4096, 50_000
    _xorb_of_zeros(folder, "02" * 32, chunks)
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=count)
    segment = {"cas_hash": digest(2), "unpacked_segment_bytes": chunks * 131_072, "chunk_index_end": chunks}
    return _put(folder, shard(head + rows(FILE_ENTRY, count, **segment), b""))


def file_of_many_xorbs(folder: Path, *, count: int, xorbs: int, chunks: int) -> Path:
    """A file of many segments, each of which is the first chunk of the next xorb, in turn."""
    record = chunk_headers([0], [1], [1]).tobytes() + b"x"
    ends = np.arange(1, chunks + 1)
    hashes = np.zeros((chunks, 32), np.uint8)
    hashes[0] = np.frombuffer(chunk_hash(b"x"), np.uint8)
    for number in range(xorbs):
        block = write_info(XorbInfo(1, bytes([number]) * 32, hashes, ends * len(record), ends))
        put(folder, f"{number:02x}" * 32, record * chunks, block)
    named = np.repeat((np.arange(count) % xorbs).astype(np.uint8), 32).reshape(-1, 32)
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=count)
    segments = rows(FILE_ENTRY, count, cas_hash=named, unpacked_segment_bytes=1, chunk_index_end=1)
    return _put(folder, shard(head + segments, b""))


@hostile("mdb", FILE_KEY)
def segments_of_missing_xorbs(folder: Path) -> Path:
    """A file of two hundred thousand segments, each of a xorb of its own, and only the first is there."""
    count = 200_000
    _xorb_of_zeros(folder, "00" * 32, 1)
    hashes = np.zeros((count, 32), np.uint8)
    hashes[:, :4] = np.arange(count, dtype="<u4").view(np.uint8).reshape(-1, 4)
    head = rows(FILE_HEADER, 1, file_hash=digest(1), num_entries=count)
    segments = {"cas_hash": hashes, "unpacked_segment_bytes": 131_072, "chunk_index_end": 1}
    return _put(folder, shard(head + rows(FILE_ENTRY, count, **segments), b""))


def _hole(folder: Path, size: int) -> Path:
    """A shard of a few bytes whose sections are one hole: empty files by the million."""
    head = HEADER.pack(footer_size=FOOTER.size)
    put(folder, _NAME, head)
    tail = BOOKEND.pack() + BOOKEND.pack()
    at = size - len(tail) - FOOTER.size
    at -= (at - len(head)) % 48
    footer = {"cas_info_offset": at + 48, "footer_offset": at + 96}
    footer |= {f"{name}_lookup_offset": at + 96 for name in ("file", "xorb", "chunk")}
    with (folder / _NAME).open("r+b") as file:
        file.seek(at)
        file.write(tail + FOOTER.pack(**footer))
    return folder / _NAME


@hostile("mdb", FILE_KEY, XORB_KEY)
def sparse_records(folder: Path) -> Path:
    """A shard whose files are a hole of 250 MB."""
    return _hole(folder, 250_000_000)
