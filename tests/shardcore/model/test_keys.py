"""Keys of objects as text, bytes and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import KeyAbsent, UsageError
from tests.shardcore.toy import LineShard

DATA = Path(__file__).parent.parent.parent / "data"


def test_a_key_is_text_where_the_format_has_no_other() -> None:
    shard = LineShard(b"a=1\n")
    assert shard["a"] == b"1"
    for wrong in (b"a", 1):
        with pytest.raises(UsageError, match=r"a key of a lines shard must be text, not (bytes|int)"):
            shard[wrong]
    with (
        shardcore.open(DATA / "bloscpack" / "tiny.blp") as file,
        pytest.raises(UsageError, match="text or a number, not bytes"),
    ):
        file[b"0"]


def test_numbers_of_numpy_are_keys() -> None:
    with shardcore.open(DATA / "bloscpack" / "tiny.blp") as shard:
        assert shard[np.uint64(0)] == shard["0"] == shard.read("0")
        assert shard.find_many(np.array([0, 7], np.uint64)).tolist() == [0, -1]


def test_a_malformed_key_is_not_there() -> None:
    """A key that has not the form of the format, such as a sha1, is in no shard; reading it says why."""
    with shardcore.open(next((DATA / "swh").glob("*.shard"))) as shard:
        for wrong in (bytes(20), "ab" * 20):
            assert wrong not in shard
            assert shard.get(wrong, b"none") == b"none"
            with pytest.raises(UsageError, match="64 hex digits"):
                _ = shard[wrong]


def test_an_absent_key_is_a_key_error_with_a_sentence() -> None:
    shard = LineShard(b"a=1\n")
    with pytest.raises(KeyError) as caught:
        shard["b"]
    assert isinstance(caught.value, KeyAbsent)
    assert str(caught.value) == "not in this shard: b"


def test_iterating_leaves_out_what_is_not_returned() -> None:
    folder = Path(__file__).parents[3] / "resources" / "samples" / "des" / "archive"
    with shardcore.open(folder) as archive:
        keys = list(archive)
        assert keys
        assert all(isinstance(archive[key], bytes) for key in keys)
        assert "letter-2026-anna" not in keys
    with shardcore.open(folder, deleted=True) as archive:
        assert "letter-2026-anna" in list(archive)


@pytest.mark.parametrize("value", ["abc", b"abc", Path("abc")])
def test_one_value_is_no_list(tmp_path: Path, value: str) -> None:
    """The letters of a text would be taken for keys."""
    path = tmp_path / "x.blp"
    (tmp_path / "a").write_bytes(b"content")
    shardcore.pack("bloscpack", path, [tmp_path / "a"])
    before = path.read_bytes()
    with shardcore.open(path) as shard:
        for call in (
            lambda: shardcore.delete(path, value),
            lambda: shardcore.tombstone(path, value),
            lambda: shardcore.append(path, value),
            lambda: shardcore.pack("des", tmp_path / "x.des", value),
            lambda: shardcore.extract(shard, tmp_path / "out", value),
            lambda: shard.find_many(value),
        ):
            with pytest.raises(UsageError, match=r"must be a list: give \[b?'abc'\]"):
                call()
    assert path.read_bytes() == before
