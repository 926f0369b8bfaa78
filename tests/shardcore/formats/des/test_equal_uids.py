"""A uid that very many entries have."""

from __future__ import annotations

import struct

import pytest

import shardcore
from shardcore.errors import Cancelled
from shardcore.formats.des.entries import SCANS
from shardcore.progress import stopped_by
from shardcore.sources.memory import BytesSource


def test_all_of_very_many_equal_uids_are_found_without_creating_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """`find_all` returns rows; objects are created when they are used, a few at a time, and can be cancelled."""
    source = BytesSource(many_equal(20_000))
    with shardcore.open(source, format="des") as shard:
        made: list[int] = []
        refs = type(shard.objects).refs
        monkeypatch.setattr(type(shard.objects), "refs", lambda self, rows: made.append(len(rows)) or refs(self, rows))
        found = shard.find_all("the same uid")
        assert len(found) == 20_000
        assert made == []
        assert found[-1] == shard.find("the same uid")
        assert sum(made) <= 3
        assert next(iter(found)).row == 0
        assert max(made) <= 1024

        def cancel() -> None:
            raise Cancelled

        with stopped_by(cancel), pytest.raises(Cancelled):
            list(found)


def many_equal(count: int) -> bytes:
    """Return a shard with one uid many times."""
    uid, data, index = b"the same uid", bytearray(b"DES2\2\0\0\0"), bytearray(struct.pack("<I", count))
    for number in range(count):
        content = b"%06d" % number
        index += struct.pack("<H", len(uid)) + uid
        index += struct.pack("<BQQBQQI", 0, len(data), len(content), 0, len(content), len(content), 0)
        data += content
    return bytes(data + index) + b"DESI" + struct.pack("<Q", len(index))


def test_uids_that_are_sought_one_by_one_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeking very many uids one after the other does not compare each with all entries, and finds the same."""
    source = BytesSource(many_equal(500))
    with shardcore.open(source, format="des") as shard:
        entries = shard.file.entries  # type: ignore[attr-defined]
        compared: list[int] = []
        texts = type(entries)._texts
        monkeypatch.setattr(
            type(entries), "_texts", lambda self, rows, length: compared.append(len(rows)) or texts(self, rows, length)
        )
        found = {shard.find("the same uid").row for _ in range(200)}
        assert found == {499}
        assert sum(compared) <= 500 * (SCANS + 1)
        assert len(shard.find_all("the same uid")) == 500
        assert shard.find_all("other lengths") == shard.find_all("another uid") == ()
