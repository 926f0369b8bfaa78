"""Writing Read Shards."""

import hashlib
import io
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
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
    """The contract of every writer."""

    format: ClassVar = "swh"
    wrong_keys: ClassVar = ("", "ab", "zz" * 32)

    def objects(self) -> list[tuple[str | None, bytes]]:
        """Empty, small and larger contents; keys made from the content, and one given."""
        return [
            (None, b""),
            (None, b"hello"),
            (hashlib.sha256(b"given").hexdigest().upper(), b"given"),
            (None, b"\0" * 5000),
            *((None, bytes([n]) * n) for n in range(1, 60)),
        ]


def write(path: Path, contents: list[bytes], **options: int) -> None:
    """Writes contents under their sha256."""
    with shardcore.create(path, format="swh", **options) as writer:
        for data in contents:
            writer.add(None, data)


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    """Three objects and seed 1 give exactly the bytes that the reference writes."""
    write(tmp_path / "abc.shard", [b"a", b"b", b"c"], seed=1)
    assert (tmp_path / "abc.shard").read_bytes() == WORKED_EXAMPLE


@pytest.mark.parametrize("count", [0, 1, 2, 10, 11, 300])
def test_any_number_of_objects(tmp_path: Path, count: int) -> None:
    """Shards of no, one and many objects are read back and verify."""
    path = tmp_path / "out.shard"
    contents = [b"object %d" % n for n in range(count)]
    write(path, contents)
    with shardcore.open(path) as shard:
        assert shard.declared_objects == count
        assert shard.verify("content").findings == ()
        for data in contents:
            assert shard.read(shard.find(hashlib.sha256(data).hexdigest())) == data


def test_the_zero_key_is_a_key(tmp_path: Path) -> None:
    """Slots are told by their offset: an object under 32 zero bytes is found, listed and read."""
    with shardcore.create(tmp_path / "out.shard", format="swh") as writer:
        writer.add("00" * 32, b"the zero key")
    with shardcore.open(tmp_path / "out.shard") as shard:
        assert shard.read(shard.find("00" * 32)) == b"the zero key"
        assert [key for key in shard.objects.keys[:] if key] == ["00" * 32]
        assert shard.verify("content").ok


def test_streams_are_written_like_bytes(tmp_path: Path) -> None:
    """A stream of unknown length gives the same file as its bytes."""
    data = np.random.default_rng(1).bytes(3_000_000)
    write(tmp_path / "a.shard", [b"first", data, b"last"])
    with shardcore.create(tmp_path / "b.shard", format="swh") as writer:
        writer.add(None, b"first")
        assert writer.add(None, io.BytesIO(data)) == hashlib.sha256(data).hexdigest()
        writer.add(None, b"last")
    assert (tmp_path / "a.shard").read_bytes() == (tmp_path / "b.shard").read_bytes()


def test_duplicates_are_refused_by_name(tmp_path: Path) -> None:
    """Two objects with one key are named, and nothing appears."""
    key = hashlib.sha256(b"same").hexdigest()
    with (
        pytest.raises(shardcore.UsageError, match=f"one.txt and two.txt have the same key, {key}"),
        shardcore.create(tmp_path / "out.shard", format="swh") as writer,
    ):
        writer.add(None, b"same", label="one.txt")
        writer.add(None, b"other")
        writer.add(None, b"same", label="two.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32, "ab" * 33, "a b" * 16 + "c" * 16])
def test_keys_are_64_hex_digits(key: str) -> None:
    """Any other key is refused when it is added."""
    with pytest.raises(shardcore.UsageError), shardcore.create(None, format="swh") as writer:
        writer.add(key, b"")


def test_order_of_adding_is_order_in_the_file(tmp_path: Path) -> None:
    """Objects stand in the file in the order in which they were added."""
    contents = [bytes([n]) for n in (9, 3, 7, 1)]
    write(tmp_path / "out.shard", contents)
    with shardcore.open(tmp_path / "out.shard") as shard:
        shard.load_index()
        rows = shard.objects.order("offset")
        assert rows is not None
        assert [shard.read(shard.objects.ref(row)) for row in rows.tolist()] == contents
        assert (shard.objects.columns(rows).state == State.LIVE).all()


def test_options_are_checked() -> None:
    """Unknown options and impossible seeds are mistakes of the caller, told in words of the format."""
    with pytest.raises(shardcore.UsageError, match="unknown option 'colour' for swh; available: seed, dedupe"):
        shardcore.create(None, format="swh", colour="red")
    for seed in (2**32, -1, "x", None, 1.5):
        message = r"a seed is a whole number from 0 to 2\^32 - 1|^seed must be "
        with pytest.raises(shardcore.UsageError, match=message):
            shardcore.create(None, format="swh", seed=seed)


def test_only_declared_options_can_be_given(tmp_path: Path) -> None:
    """`progress` is for programs: on the command line it is an unknown option, told in one line."""
    (tmp_path / "a").write_bytes(b"a")
    script = [sys.executable, "-m", "shardcore", "pack", "swh", str(tmp_path / "out"), str(tmp_path / "a")]
    done = subprocess.run([*script, "-O", "progress=1"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "shardcore: unknown option 'progress' for swh; available: seed, dedupe\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [0, 1, 2, 3])
def test_content_that_is_not_what_its_key_says_is_told(tmp_path: Path, wrong: int) -> None:
    """Of a shard with a changed object a conversion says so; keys that are all something else are keys by choice."""
    contents = [bytes([number]) * 4000 for number in range(4)]
    keys = [hashlib.sha256(data).hexdigest() for data in contents]
    with shardcore.create(tmp_path / "source.shard", format="swh") as writer:
        for number, (key, data) in enumerate(zip(keys, contents, strict=True)):
            writer.add(key, data + b"!" if number < wrong else data)
    notes = shardcore.convert(tmp_path / "source.shard", "swh", tmp_path / "copy.shard").notes
    assert writer.notes == notes
    assert [note.split(":")[0] for note in notes] == {
        1: ["1 object with another sha256 than the key"],
        2: ["2 objects with another sha256 than the key"],
    }.get(wrong, [])
