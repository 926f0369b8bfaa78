"""Promises of the layout: bytes to values to bytes, in rows with their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardcore.errors import FormatError, Truncated
from shardcore.formats.des.layout import (
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    FOOTER,
    HEADER,
    INDEX_HEAD,
    INLINE,
    LAYOUTS,
    PLACE_V1,
    PLACE_V1_SHORT,
    UID_HEAD,
    PayloadFault,
    index_start,
    is_hash,
    payload_fault_text,
    payload_faults,
    read_meta,
    read_uid,
    write_meta,
    write_uid,
)
from shardcore.model.record import Record

ROWS: list[tuple[Record, str, dict[str, Any]]] = [
    (HEADER, "44455332 02 000000", {"magic": b"DES2", "version": 2, "reserved": bytes(3)}),
    (INDEX_HEAD, "02000000", {"entry_count": 2}),
    (UID_HEAD, "0102", {"uid_length": 513}),
    (
        INLINE,
        "00 0800000000000000 0500000000000000 01 0500000000000000 0700000000000000 09000000",
        {
            "flags": 0,
            "offset": 8,
            "length": 5,
            "codec": 1,
            "compressed_size": 5,
            "uncompressed_size": 7,
            "meta_length": 9,
        },
    ),
    (BIGFILE_HEAD, "01 4000", {"flags": 1, "hash_length": 64}),
    (BIGFILE_TAIL, "8813000000000000 10000000", {"size": 5000, "meta_length": 16}),
    (
        PLACE_V1,
        "0800000000000000 0300000000000000 02 0300000000000000 ffffffffffffffff",
        {"offset": 8, "length": 3, "codec": 2, "compressed_size": 3, "uncompressed_size": 2**64 - 1},
    ),
    (PLACE_V1_SHORT, "0800000000000000 0300000000000000", {"offset": 8, "length": 3}),
    (FOOTER, "44455349 5600000000000000", {"magic": b"DESI", "index_size": 86}),
]


@pytest.mark.parametrize(("record", "text", "values"), ROWS, ids=lambda value: getattr(value, "name", ""))
def test_both_ways(record: Record, text: str, values: dict[str, Any]) -> None:
    """Stated bytes give stated values, and the values give the bytes; the size is that of the specification."""
    data = bytes.fromhex(text)
    assert record.size == len(data)
    assert record.read_one(data) == values
    assert record.pack(**values) == data
    with pytest.raises(Truncated):
        record.read_one(data[:-1])


def test_every_layout_is_stated_here() -> None:
    """No record of the format is without its row above."""
    assert {record.name for record in LAYOUTS} == {record.name for record, _, _ in ROWS}


def test_sizes_of_entries() -> None:
    """The fixed bytes of entries add up to the numbers of the specification."""
    assert UID_HEAD.size + INLINE.size == 40
    assert UID_HEAD.size + BIGFILE_HEAD.size + 64 + BIGFILE_TAIL.size == 81
    assert UID_HEAD.size + PLACE_V1.size == 35
    assert UID_HEAD.size + PLACE_V1_SHORT.size == 18


@pytest.mark.parametrize("uid", ["", "a", "za\u017c\u00f3\u0142\u0107", "\0\n", "x" * 65535])
def test_uids_both_ways(uid: str) -> None:
    """A uid is written with its length and read back."""
    data = write_uid(uid)
    assert UID_HEAD.read_one(data)["uid_length"] == len(data) - UID_HEAD.size
    assert read_uid(data[UID_HEAD.size :]) == uid


def test_uids_that_cannot_be_written() -> None:
    """Too long a uid, and one without a UTF-8 form, are refused; other bytes are read as no text."""
    for uid in ("x" * 65536, "\u0142" * 32768, "\ud800"):
        with pytest.raises(FormatError):
            write_uid(uid)
    assert read_uid(b"\xff") is None


@pytest.mark.parametrize("meta", [{}, {"a": 1}, {"who": "\u017b\u00f3\u0142w", "n": {"x": [1, None, 2.5]}}])
def test_metadata_both_ways(meta: dict[str, Any]) -> None:
    """Metadata is written compact in ASCII and read back; none is no bytes."""
    data = write_meta(meta)
    assert data.isascii()
    assert b" " not in data
    assert bool(data) == bool(meta)
    assert read_meta(data) == meta


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "list"),
        (b"3", "number"),
        (b"null", "null"),
        (b"{", "not JSON"),
        (b"\xff", "UTF-8"),
        (b"[" * 99999, "deep"),
    ],
)
def test_metadata_that_is_none(data: bytes, why: str) -> None:
    """Anything but a JSON object is refused by its name."""
    with pytest.raises(FormatError, match=why):
        read_meta(data)


def test_metadata_without_json() -> None:
    """What has no JSON form is not written."""
    for meta in ({"a": b"bytes"}, {"a": float("nan")}):
        with pytest.raises(FormatError):
            write_meta(meta)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (b"0" * 64, True),
        (b"aF" * 32, True),
        (b"0" * 63, False),
        (b"0" * 65, False),
        (b"g" * 64, False),
        (b"../" + b"0" * 61, False),
        (b"0" * 63 + b"\n", False),
        ("\u0662".encode() * 32, False),
    ],
)
def test_hashes(text: bytes, right: bool) -> None:
    """Only 64 hex digits are a file name."""
    assert is_hash(text) is right


def test_start_of_the_index() -> None:
    """The index starts before the footer by its size; impossible sizes have the place of the field."""
    assert index_start(116, {"index_size": 86}) == 18
    assert index_start(24, {"index_size": 4}) == 8
    for size in (97, 2**64 - 1, 3, 0):
        with pytest.raises(Truncated) as caught:
            index_start(116, {"index_size": size})
        assert caught.value.span is not None
        assert (caught.value.span.start, caught.value.span.stop) == (108, 116)


@pytest.mark.parametrize(
    ("offset", "length", "codec", "size", "fault", "text"),
    [
        (8, 10, 0, 10, PayloadFault.NONE, ""),
        (18, 0, 0, 0, PayloadFault.NONE, ""),
        (8, 10, 1, 99, PayloadFault.NONE, ""),
        (8, 11, 0, 11, PayloadFault.OUTSIDE, "bytes 0x8–0x12, is not all before the index, at 0x12"),
        (19, 0, 0, 0, PayloadFault.OUTSIDE, "bytes 0x13, is not all before the index, at 0x12"),
        (2**64 - 1, 2, 9, 3, PayloadFault.OUTSIDE, f"bytes {2**64 - 1:#x}–{2**64:#x}, is not all before the index"),
        (9, 2**64 - 1, 0, 3, PayloadFault.OUTSIDE, "before the index"),
        (8, 10, 3, 9, PayloadFault.CODEC, "codec 3 is not known"),
        (8, 10, 0, 9, PayloadFault.SIZE, "stored without compression in 10 bytes; uncompressed_size is 9"),
    ],
)
def test_places_of_payloads(offset: int, length: int, codec: int, size: int, fault: PayloadFault, text: str) -> None:
    """A payload lies before the index, by a known codec; without one it is as long as the content. Nothing wraps."""
    fields = (offset, length, codec, size)
    arrays = [np.array([field], dtype) for field, dtype in zip(fields, ("u8", "u8", "u1", "u8"), strict=True)]
    assert payload_faults(arrays[0], arrays[1], arrays[2], arrays[3], 18).tolist() == [fault]
    told = payload_fault_text(fault, offset, length, codec, size, 18)
    assert text in told
    assert bool(told) == (fault != PayloadFault.NONE)
