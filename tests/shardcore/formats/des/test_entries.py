"""Promises of the columns: uids are searched and compared exactly, whatever their bytes."""

from __future__ import annotations

import random

import numpy as np

from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import FOOTER
from tests.shardcore.formats.des.made import Stored, shard


def _entries(stored_objects: list[Stored], *, version: int = 2) -> Entries:
    data = shard(stored_objects, version=version)
    size = int.from_bytes(data[-8:], "little")
    start = len(data) - FOOTER.size - size
    return Entries(data[start : start + size], version, start)


def _uids() -> list[bytes]:
    dice = random.Random(4)
    pool = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"A",
        b"a\0",
        b"a\0\0",
        b"ab",
        b"b\0",
        b"\xff",
        b"\xfe",
        b"e\xcc\x81",
        b"\xc3\xa9",
    ]
    return [dice.choice(pool) for _ in range(200)]


def test_rows_of_one_and_of_many() -> None:
    uids = _uids()
    entries = _entries([Stored(uid) for uid in uids])
    asked = [*sorted(set(uids)), b"c", b"a\0\0\0", b"x" * 70000]
    wanted = [[row for row, uid in enumerate(uids) if uid == one] for one in asked]
    assert [rows.tolist() for rows in entries.rows_of(asked)] == wanted
    assert [entries.rows_of([one])[0].tolist() for one in asked] == wanted
    assert entries.rows_of([]) == []


def test_texts_that_are_none() -> None:
    entries = _entries([Stored(b"a"), Stored(b"\xff"), Stored("\u0142".encode())])
    rows = np.arange(3)
    assert entries.uids(rows) == ["a", None, "\u0142"]
    assert entries.bad_texts(rows).tolist() == [False, True, False]
    assert entries.uids(np.array([2, 0])) == ["\u0142", "a"]


def test_unreadable_agrees_with_problem() -> None:
    """The vectorised check and the reason for one row agree, also at the edges of 64 bits."""
    edges = [0, 1, 7, 8, 50, 2**31, 2**63 - 1, 2**63, 2**64 - 1]
    changes = [{"offset": a, "length": b, "compressed": b, "uncompressed": b} for a in edges for b in edges]
    changes += [{"codec": code} for code in range(5)]
    stored_objects = [Stored(b"x", b"12345", changes=change) for change in changes]
    hashes = (b"", b"a" * 64, b"../" * 21 + b"x")
    stored_objects += [Stored(b"x", b"", big=True, changes={"hash": text}) for text in hashes]
    entries = _entries(stored_objects)
    rows = np.arange(len(stored_objects))
    assert entries.unreadable(rows).tolist() == [bool(entries.problem(row)) for row in rows.tolist()]
    assert entries.unreadable(rows).any()
    assert not entries.unreadable(rows).all()
