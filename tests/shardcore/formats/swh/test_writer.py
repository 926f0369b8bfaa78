"""Writing Read Shards."""

import hashlib
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.model.objects import State
from shardcore.testing import WriterContract

# The three objects `a`, `b` and `c`, as the reference writes them with seed 1: every byte, row by row.
WORKED_EXAMPLE = bytes.fromhex(
    "5357485368617264" + "00" * 24  # magic
    + "0000000000000001" + "0000000000000003"  # version, objects_count
    + "0000000000000200" + "000000000000001b"  # objects at 512, 27 bytes
    + "000000000000021b" + "00000000000001b8"  # index at 539, 440 bytes
    + "00000000000003d3" + "00" * 424  # hash function at 979, padding
    + "000000000000000161" + "000000000000000162" + "000000000000000163"  # a, b, c
    + ("00" * 32 + "ff" * 8) * 5  # slots 0 to 4
    + "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6" + "0000000000000212"  # slot 5
    + ("00" * 32 + "ff" * 8) * 2  # slots 6 and 7
    + "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d" + "0000000000000209"  # slot 8
    + ("00" * 32 + "ff" * 8)  # slot 9
    + "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" + "0000000000000200"  # slot 10
    + "6368645f706800" + "0b000000" + "0c000000"  # chd_ph, 11 slots, 12 bytes of state
    + "6a656e6b696e7300" + "01000000" + "24000000"  # jenkins, seed 1, L = 36
    + "01000000" + "01000000" + "00000000"  # B = 1, r = 1, T = 0
    + "10000000" + "01000000" + "00000000"  # Ls = 16, select count 1, top 0
    + "01000000" + "00000000" + "00000000"  # unary bits, directory, low bits
    + "0b000000" + "01000000"  # n, B again
)  # fmt: skip


class TestSwhWriterContract(WriterContract):
    format: ClassVar = "swh"
    wrong_keys: ClassVar = ("", "ab", "zz" * 32, "ab" * 33, "a b" * 16 + "c" * 16)

    def objects(self) -> list[tuple[str | None, bytes]]:
        return [
            (None, b""),
            (None, b"hello"),
            (hashlib.sha256(b"given").hexdigest().upper(), b"given"),
            (None, b"\0" * 5000),
            *((None, bytes([n]) * n) for n in range(1, 60)),
        ]


def write(path: Path, contents: list[bytes], **options: int) -> None:
    with shardcore.create(path, format="swh", **options) as writer:
        for data in contents:
            writer.add(None, data)


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    write(tmp_path / "abc.shard", [b"a", b"b", b"c"], seed=1)
    assert (tmp_path / "abc.shard").read_bytes() == WORKED_EXAMPLE


@pytest.mark.parametrize("count", [0, 1, 2, 10, 11, 300])
def test_any_number_of_objects(tmp_path: Path, count: int) -> None:
    path = tmp_path / "out.shard"
    contents = [b"object %d" % n for n in range(count)]
    write(path, contents)
    with shardcore.open(path) as shard:
        assert shard.declared_objects == count
        assert shard.verify("content").findings == ()
        for data in contents:
            assert shard.read(shard.find(hashlib.sha256(data).hexdigest())) == data


def test_the_zero_key_is_a_key(tmp_path: Path) -> None:
    """Slots are told apart by their offset."""
    with shardcore.create(tmp_path / "out.shard", format="swh") as writer:
        writer.add("00" * 32, b"the zero key")
    with shardcore.open(tmp_path / "out.shard") as shard:
        assert shard.read(shard.find("00" * 32)) == b"the zero key"
        assert [key for key in shard.objects.keys[:] if key] == ["00" * 32]
        assert shard.verify("content").ok


def test_order_of_adding_is_order_in_the_file(tmp_path: Path) -> None:
    contents = [bytes([n]) for n in (9, 3, 7, 1)]
    write(tmp_path / "out.shard", contents)
    with shardcore.open(tmp_path / "out.shard") as shard:
        shard.load_index()
        rows = shard.objects.order("offset")
        assert rows is not None
        assert [shard.read(shard.objects.ref(row)) for row in rows.tolist()] == contents
        assert (shard.objects.columns(rows).state == State.LIVE).all()


def test_options_are_checked() -> None:
    with pytest.raises(shardcore.UsageError, match="colour"):
        shardcore.create(None, format="swh", colour="red")
    for seed in (2**32, -1, "x", None, 1.5):
        with pytest.raises(shardcore.UsageError, match="seed"):
            shardcore.create(None, format="swh", seed=seed)


@pytest.mark.parametrize("wrong", [0, 1, 2, 3])
def test_content_that_is_not_what_its_key_says_is_told(tmp_path: Path, wrong: int) -> None:
    contents = [bytes([number]) * 4000 for number in range(4)]
    keys = [hashlib.sha256(data).hexdigest() for data in contents]
    with shardcore.create(tmp_path / "source.shard", format="swh") as writer:
        for number, (key, data) in enumerate(zip(keys, contents, strict=True)):
            writer.add(key, data + b"!" if number < wrong else data)
    notes = shardcore.convert(tmp_path / "source.shard", "swh", tmp_path / "copy.shard").notes
    assert writer.notes == notes
    assert [note.split(":")[0] for note in notes] == {
        1: ["1 object whose sha256 is not the key"],
        2: ["2 objects whose sha256 is not the key"],
    }.get(wrong, [])
