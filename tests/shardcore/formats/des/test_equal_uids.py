"""A uid that very many entries have."""

from __future__ import annotations

import struct

import pytest

import shardcore
from shardcore.errors import Cancelled
from shardcore.progress import stopped_by
from shardcore.sources.memory import BytesSource


def test_all_of_very_many_equal_uids_are_found_without_creating_them(monkeypatch: pytest.MonkeyPatch) -> None:
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
    uid, data, index = b"the same uid", bytearray(b"DES2\2\0\0\0"), bytearray(struct.pack("<I", count))
    for number in range(count):
        content = b"%06d" % number
        index += struct.pack("<H", len(uid)) + uid
        index += struct.pack("<BQQBQQI", 0, len(data), len(content), 0, len(content), len(content), 0)
        data += content
    return bytes(data + index) + b"DESI" + struct.pack("<Q", len(index))
