"""The bytes of a shard: published vectors built from the layouts, geometry, flavours, the walk."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.hashes import as_rows, chunk_hash, tree_root, truncated
from shardcore.formats.mdb.hashes import file_hash, range_hash, sha256_field, shard_name
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK_LOOKUP,
    FILE_ENTRY,
    FILE_HEADER,
    FILE_LOOKUP,
    FILE_METADATA,
    FILE_VERIFICATION,
    FOOTER,
    HEADER,
    NO_EXPIRY,
    XORB_LOOKUP,
    file_steps,
    locate,
)
from shardcore.formats.mdb.shard import MdbShard
from shardcore.formats.mdb.walk import RecordKind, walk

EMPTY = BOOKEND.pack() * 2
PAIR = as_rows([chunk_hash(b"abc"), chunk_hash(b"defg")])
SIZES = np.array([3, 4], np.uint64)


def one_file() -> tuple[bytes, bytes]:
    """Both sections of the shard of the file `abcdefg` in one xorb of two chunks, and its three tables."""
    file, xorb = file_hash(PAIR, SIZES), tree_root(PAIR, SIZES)
    sections = [
        FILE_HEADER.pack(file_hash=file, file_flags=0xC0000000, num_entries=1),
        FILE_ENTRY.pack(cas_hash=xorb, unpacked_segment_bytes=7, chunk_index_start=0, chunk_index_end=2),
        FILE_VERIFICATION.pack(range_hash=range_hash(PAIR)),
        FILE_METADATA.pack(sha256=sha256_field(hashlib.sha256(b"abcdefg").hexdigest())),
        BOOKEND.pack(),
        CAS_HEADER.pack(cas_hash=xorb, num_entries=2, num_bytes_in_cas=7),
        CAS_ENTRY.pack(chunk_hash=PAIR[0].tobytes(), chunk_byte_range_start=0, unpacked_segment_bytes=3),
        CAS_ENTRY.pack(chunk_hash=PAIR[1].tobytes(), chunk_byte_range_start=3, unpacked_segment_bytes=4),
        BOOKEND.pack(),
    ]
    chunks = sorted((truncated(raw.tobytes()), number) for number, raw in enumerate(PAIR))
    tables = [FILE_LOOKUP.pack(key=truncated(file)), XORB_LOOKUP.pack(key=truncated(xorb))]
    tables += [CHUNK_LOOKUP.pack(key=key, chunk=number) for key, number in chunks]
    return b"".join(sections), b"".join(tables)


def footer(**fields: Any) -> bytes:
    """A footer; offsets of absent tables are those of the footer."""
    at = fields["footer_offset"]
    offsets = {f"{kind}_lookup_offset": at for kind in ("file", "xorb", "chunk")}
    return FOOTER.pack(**(offsets | fields))


def test_vectors_of_shards_without_content() -> None:
    """The shard with no file and no xorb has the published names, in three flavours."""
    head = HEADER.pack(footer_size=200)
    full = head + EMPTY + footer(cas_info_offset=96, footer_offset=144, shard_key_expiry=NO_EXPIRY)
    minimal = head + EMPTY + footer(cas_info_offset=96, footer_offset=144)
    upload = HEADER.pack() + EMPTY
    assert (len(full), shard_name([full])[:-4]) == (
        344,
        "8bb4228e186b55335a9346532d23aab0cb6228a79205c039eab7f1bca558fd35",
    )
    assert (len(minimal), shard_name([minimal])[:-4]) == (
        344,
        "32e36a66d6aec7c9b2a73189ed41321db244fa864dde762b2c59b8d92ca758ac",
    )
    assert (len(upload), shard_name([upload])[:-4]) == (
        144,
        "e07fdba796d5f2c85e9ff6c70b01cfab36cb4be37234e565d6e8053c51884936",
    )
    for data in (full, minimal, upload):
        with shardcore.open(data) as shard:
            assert len(shard.objects) == 0
            assert shard.verify("index").findings == ()


def test_vectors_of_one_file() -> None:
    """The shard of `abcdefg` as one xorb of two chunks has the published names, full and as it is uploaded."""
    sections, tables = one_file()
    end = footer(
        cas_info_offset=288,
        file_lookup_offset=480,
        file_lookup_num_entry=1,
        xorb_lookup_offset=492,
        xorb_lookup_num_entry=1,
        chunk_lookup_offset=504,
        chunk_lookup_num_entry=2,
        shard_key_expiry=NO_EXPIRY,
        materialized_bytes=7,
        stored_bytes=7,
        footer_offset=536,
    )
    full = HEADER.pack(footer_size=200) + sections + tables + end
    upload = HEADER.pack() + sections
    assert (len(full), shard_name([full])[:-4]) == (
        736,
        "2cd69ccc176c72df7c0bce42b837fdb4c97adf94fe98c239ff938409319163a3",
    )
    assert (len(upload), shard_name([upload])[:-4]) == (
        480,
        "52e2a9eecacd9b7d0cc657806650d79d84fa8075cab2a3d1cce8255548360dec",
    )
    for data, flavour in ((full, "session"), (upload, "upload form")):
        with shardcore.open(data) as shard:
            assert isinstance(shard, MdbShard)
            assert shard.flavour == flavour
            assert shard.verify("index").findings == ()


def test_header_byte_by_byte() -> None:
    """The header is the tag, version 2 and the footer's size."""
    rows = (
        "4846 5265 706f 4d65 7461 4461 7461 00",  # HFRepoMetaData, NUL
        "5569 6745 6a7b 8157 83a5 bdd9 5ccd d14a a9",  # 17 more bytes
        "0200000000000000",  # version 2
        "c800000000000000",  # 200
    )
    assert HEADER.pack(footer_size=200) == bytes.fromhex("".join(rows))


@pytest.mark.parametrize(
    ("times", "flavour"),
    [
        ({"shard_creation_timestamp": 5, "shard_key_expiry": 9}, "full"),
        ({"shard_creation_timestamp": 0, "shard_key_expiry": NO_EXPIRY}, "session"),
        ({"shard_creation_timestamp": 0, "shard_key_expiry": 9}, "session"),
    ],
)
def test_flavours_with_tables(times: dict[str, int], flavour: str) -> None:
    """With tables, the times tell a cached shard from one of a session."""
    fields = {"file_lookup_offset": 96, "file_lookup_num_entry": 1, "xorb_lookup_offset": 108}
    end = footer(cas_info_offset=48, footer_offset=108, **(fields | times))
    data = FOOTER.read_one(end)
    assert locate(308, {"footer_size": 200}, data).flavour == ("full" if flavour == "full" else "session")


def test_steps_do_not_wrap() -> None:
    """The largest counts give steps beyond 32 bits, not small ones."""
    row = FILE_HEADER.read(FILE_HEADER.pack(num_entries=0xFFFFFFFF, file_flags=0xC0000000))
    assert file_steps(row).tolist() == [2 * 0xFFFFFFFF + 2]


def test_walk_knows_every_record() -> None:
    """The kinds of all records, and where blocks begin and end."""
    sections, _ = one_file()
    files = walk(sections[:240], 48, files=True)
    assert files.kinds.tolist() == [
        RecordKind.FILE_HEADER,
        RecordKind.FILE_ENTRY,
        RecordKind.FILE_VERIFICATION,
        RecordKind.FILE_METADATA,
        RecordKind.BOOKEND,
    ]
    assert (files.headers.tolist(), files.ends.tolist(), files.stop, files.problem) == ([0], [4], 5, "")
    xorbs = walk(sections[240:], 288, files=False)
    assert xorbs.kinds.tolist() == [
        RecordKind.CAS_HEADER,
        RecordKind.CAS_ENTRY,
        RecordKind.CAS_ENTRY,
        RecordKind.BOOKEND,
    ]
    assert xorbs.bounds.tolist() == [0, 2]


@pytest.mark.parametrize(("size", "whole"), [(0, 0), (48, 0), (191, 0), (192, 1), (200, 1)])
def test_walk_that_breaks_off(size: int, whole: int) -> None:
    """A section that ends early keeps its whole blocks and says what is wrong."""
    sections, _ = one_file()
    walked = walk(sections[:size], 48, files=True)
    assert len(walked.headers) == whole
    assert walked.problem
    assert len(walked.kinds) == size // 48
