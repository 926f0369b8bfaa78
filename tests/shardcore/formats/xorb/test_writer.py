"""Writing xorbs."""

import hashlib
import random
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.chunker import cut_ends
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.shards.shard import Shard
from shardcore.testing import WriterContract

SHEET_SHA256 = "6e5e1c96d2d650a97a9f7e2845d1f6f0ff45667719c4e2f0a2d3b7126700a74b"
XORBS = Path(__file__).parents[3] / "data" / "mdb" / "cas" / "xorbs"


class TestXorbWriterContract(WriterContract):
    format: ClassVar = "xorb"
    suffix: ClassVar = ".xorb"
    keyless: ClassVar = True

    def objects(self) -> list[tuple[str | None, bytes]]:
        contents = [b"a", b"text " * 900, np.arange(1500, dtype="<f4").tobytes(), bytes(8192)]
        return [(None, data) for data in (*contents, *(random.Random(n).randbytes(20 * n) for n in range(1, 6)))]

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        return shard.read(shard.find(str(row)))


def write(path: Path, contents: list[bytes], **options: Any) -> None:
    with shardcore.create(path, format="xorb", **options) as writer:
        for data in contents:
            assert writer.add(None, data) == ""


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    for compression in ("none", "auto"):
        path = tmp_path / compression
        write(path, [b"abc", b"defg"], cut=False, compression=compression)
        assert path.read_bytes()[:23].hex() == "0003000000030000616263" + "000400000004000064656667"
        assert hashlib.sha256(path.read_bytes()).hexdigest() == SHEET_SHA256


@pytest.mark.parametrize("name", sorted(path.name for path in XORBS.iterdir()))
def test_xorbs_of_the_reference_are_written_again(tmp_path: Path, name: str) -> None:
    with shardcore.open(XORBS / name) as xorb:
        hashed = [xorb.objects.ref(row).extras["hash"] for row in range(len(xorb.objects))]
        contents = [xorb.read(xorb.objects.ref(row)) for row in range(len(xorb.objects))]
    write(tmp_path / "one-by-one", contents)
    write(tmp_path / "as-they-are", contents, cut=False)
    again = (tmp_path / "one-by-one").read_bytes()
    assert again == (tmp_path / "as-they-are").read_bytes()
    assert len(again) <= (XORBS / name).stat().st_size
    with shardcore.open(again) as xorb:
        assert f"default.{xorb.fields['info.cas_hash']}" == name
        assert [xorb.objects.ref(row).extras["hash"] for row in range(len(xorb.objects))] == hashed


def test_files_are_cut_by_their_content(tmp_path: Path) -> None:
    dice = random.Random(1)
    files = [dice.randbytes(400_000), b"", bytes(300_000), b"end"]
    path = tmp_path / "out.xorb"
    write(path, files)
    with shardcore.open(path) as xorb:
        sizes = [xorb.objects.ref(row).size for row in range(len(xorb.objects))]
        assert sizes == [b - a for data in files for a, b in zip([0, *cut_ends(data)], cut_ends(data), strict=False)]
        assert xorb.read(xorb.find("all")) == b"".join(files)
        assert xorb.verify("content").findings == ()


@pytest.mark.parametrize(("compression", "codecs"), [("none", "none"), ("lz4", "lz4"), ("bg4", "bg4-lz4")])
def test_compression_as_asked(tmp_path: Path, compression: str, codecs: str) -> None:
    numbers = np.cumsum(np.random.default_rng(1).normal(size=2000)).astype("<f4").tobytes()
    noise = random.Random(2).randbytes(2000)
    path, best = tmp_path / "out.xorb", tmp_path / "best.xorb"
    write(path, [b"text " * 1000, numbers, noise], compression=compression)
    write(best, [b"text " * 1000, numbers, noise])
    with shardcore.open(path) as xorb:
        found = [xorb.objects.ref(row).codec for row in range(3)]
        assert (found[0], found[2]) == (codecs, "none")
        assert xorb.verify("content").findings == ()
    assert best.stat().st_size <= path.stat().st_size


def test_limits_are_told_with_their_figures() -> None:
    with shardcore.create(None, format="xorb", cut=False, compression="none") as writer:
        for _ in range(8192):
            writer.add(None, b"x")
        with pytest.raises(shardcore.UsageError, match="8,193"):
            writer.add(None, b"x", label="last.bin")
        for data in (b"", bytes(131_073)):
            with pytest.raises(shardcore.UsageError, match=f"b.bin has {len(data):,} bytes"):
                writer.add(None, data, label="b.bin")
        assert len(writer.plan().files[0].objects) == 8192
    with shardcore.create(None, format="xorb", cut=False) as writer:
        for _ in range(511):
            writer.add(None, bytes(131_072))
        with pytest.raises(shardcore.UsageError, match="67,112,960"):
            writer.add(None, bytes(131_072))
    with (
        shardcore.create(None, format="xorb") as empty,
        pytest.raises(shardcore.UsageError, match="at least one chunk"),
    ):
        empty.plan()


@pytest.mark.parametrize("name", sorted(path.name for path in XORBS.iterdir()))
def test_extract_and_pack_give_the_same_chunks(tmp_path: Path, name: str) -> None:
    """The manifest has the chunk ends of the whole content: what is packed from it has the same hash."""
    with shardcore.open(XORBS / name) as xorb:
        assert not any(line.error for line in extract_objects(xorb, [xorb.find("all")], tmp_path / "x"))
    pack("xorb", tmp_path / "again", manifest=tmp_path / "x" / "manifest.json")
    with shardcore.open(tmp_path / "again") as xorb:
        assert f"default.{xorb.fields['info.cas_hash']}" == name


@pytest.mark.parametrize(
    ("sizes", "message"), [([3, 3], "b.bin.*7 bytes"), ([7, 1], "8"), ([0, 7], "list"), (7, "list")]
)
def test_chunks_that_do_not_fit_are_refused(sizes: Any, message: str) -> None:
    with shardcore.create(None, format="xorb") as writer:
        writer.add(None, b"abcdefg", chunks=[3, 4])
        with pytest.raises(shardcore.UsageError, match=message):
            writer.add(None, b"abcdefg", label="b.bin", chunks=sizes)
        assert len(writer.plan().files[0].objects) == 2


def test_after_a_failing_input_the_xorb_is_sound(tmp_path: Path) -> None:

    def failing() -> Any:
        yield random.Random(1).randbytes(6_000_000)
        raise OSError(5, "gone")

    with shardcore.create(tmp_path / "out.xorb", format="xorb") as writer:
        writer.add(None, b"first")
        with pytest.raises(OSError, match="gone"):
            writer.add(None, failing())
        writer.add(None, b"last")
        assert writer.plan().content == 9
    with shardcore.open(tmp_path / "out.xorb") as xorb:
        assert xorb.read(xorb.find("all")) == b"firstlast"
        assert xorb.verify("content").findings == ()
