"""Writing Bloscpack files, and appending to them."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import Remedy, ShardError, SourceError, UsageError
from shardcore.formats.bloscpack import content, file_writer
from shardcore.formats.bloscpack.blosc1 import blosc, decompress, read_chunk_header
from shardcore.formats.bloscpack.file_writer import CODECS, Recipe, compressed
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.formats.bloscpack.writer import BloscpackWriter, append
from shardcore.model.finding import Depth
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.shards.shard import Shard
from shardcore.testing import WriterContract
from shardcore.testing import kill_runs as killed
from shardcore.writing.journal import forget, journal_of
from shardcore.writing.undo import apply, interrupted, undo
from shardcore.writing.writer import UnreadableInput
from tests.shardcore.formats.bloscpack.chunks import make_chunk
from tests.volumes import Slabs

SAMPLES = Path(__file__).parents[3] / "data" / "bloscpack"
WALK = np.cumsum(np.random.default_rng(1).integers(0, 3, 2000)).astype("<i8").tobytes()


class TestFolderContract(WriterContract):
    format: ClassVar = "bloscpack"
    suffix: ClassVar = "/"
    keyless: ClassVar = True
    options: ClassVar = {"chunk_size": 4096, "spare": 2}

    def objects(self) -> list[tuple[str | None, bytes]]:
        return [(None, data) for data in (b"", b"x", WALK, WALK[:4096], bytes(9001), WALK + b"abc")]

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        assert key == str(row)
        return super().read(shard, row, key)


class TestFileContract(WriterContract):
    format: ClassVar = "bloscpack"
    suffix: ClassVar = ".blp"
    keyless: ClassVar = True
    options: ClassVar = {"chunk_size": 4096, "codec": "lz4", "checksum": "crc32", "metadata": '{"made by": "hand"}'}

    def objects(self) -> list[tuple[str | None, bytes]]:
        return [(None, WALK + b"abc")]

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        assert not key
        return super().read(shard, row, "all")

    def test_no_objects_are_a_shard(self, tmp_path: Path) -> None:
        with self.created(self.target(tmp_path)) as writer:
            plan = writer.plan()
        with self.opened(self.target(tmp_path)) as shard:
            assert shard.read(shard.find("all")) == b""
            assert shard.verify().findings == ()
            assert plan.files[0].sections == shard.sections


# The worked example of the format page, as bloscpack 0.16 packs `hello shard`: every byte, row by row.
WORKED_EXAMPLE = bytes.fromhex(
    "626c706b" + "03" + "01" + "02" + "01"  # magic, version 3, offsets, crc32, typesize 1
    + "04000000" + "03000000"  # chunk_size 4, last_chunk 3
    + "0300000000000000" + "0100000000000000"  # 3 chunks, 1 spare slot
    + "4000000000000000" + "5800000000000000" + "7000000000000000" + "ffffffffffffffff"  # offsets 64, 88, 112, -1
    + "02013301" + "04000000" + "04000000" + "14000000" + "68656c6c" + "8608381e"  # "hell"
    + "02013301" + "04000000" + "04000000" + "14000000" + "6f207368" + "93b5893f"  # "o sh"
    + "02013301" + "03000000" + "03000000" + "13000000" + "617264" + "e48d8445"  # "ard"
)  # fmt: skip


def written(path: Path, data: Any, *, name: str = "", **options: Any) -> BloscpackWriter:
    with shardcore.create(path, format="bloscpack", **options) as writer:
        writer.add(None, data, name=name, label=name)
    return writer


def opened(path: Path) -> BloscpackShard:
    shard = shardcore.open(path)
    assert shard.verify().findings == ()
    return shard


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    options: dict[str, Any] = {"codec": "lz4", "chunk_size": 4, "typesize": 1, "checksum": "crc32", "spare": 1}
    written(tmp_path / "tiny.blp", b"hello shard", **options)
    assert (tmp_path / "tiny.blp").read_bytes() == WORKED_EXAMPLE == (SAMPLES / "tiny.blp").read_bytes()
    written(tmp_path / "empty.blp", b"")
    assert (tmp_path / "empty.blp").read_bytes() == (SAMPLES / "empty.blp").read_bytes()


def test_defaults_are_those_of_the_reference(tmp_path: Path) -> None:
    written(tmp_path / "a.blp", bytes(range(256)) * 8192)
    with opened(tmp_path / "a.blp") as shard:
        header = shard.file.header
        assert (header.version, header.checksum.name, header.typesize) == (3, "adler32", 8)
        assert (header.chunk_size, header.last_chunk, header.nchunks, header.max_app_chunks) == (2**20, 2**20, 2, 20)
        ref = shard.find("1")
        assert (ref.codec, ref.extras["filter"], ref.extras["typesize"]) == ("blosclz", "shuffle", 8)


@pytest.mark.parametrize("codec", CODECS)
def test_every_option_is_kept(codec: str, tmp_path: Path) -> None:
    for level in (0, 1, 5, 9):
        path = tmp_path / f"{level}.blp"
        options: dict[str, Any] = {"codec": codec, "level": level, "shuffle": "none", "typesize": 4}
        options |= {"checksum": "sha256", "offsets": False, "metadata": '["é", 1]', "metadata_codec": "none"}
        written(path, WALK, chunk_size=4097, **options)
        with opened(path) as shard:
            assert (shard.read(shard.find("all")), shard.metadata) == (WALK, ["é", 1])
            header, ref = shard.file.header, shard.find("0")
            assert (header.checksum.name, header.has_offsets, header.max_app_chunks) == ("sha256", False, 0)
            assert (header.chunk_size, header.typesize, ref.extras["typesize"]) == (4096, 4, 4)
            assert (ref.codec, ref.extras["filter"]) == ("none" if not level else codec.replace("hc", ""), "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 10}, "level must be 0 to 9, not 10"),
        ({"typesize": 0}, "typesize must be 1 to 255"),
        ({"chunk_size": 0}, "chunk_size=0; valid: 1 to 2,147,483,615"),
        ({"chunk_size": "2G"}, "chunk_size=2147483648; valid: 1 to"),
        ({"shuffle": "bit"}, "one of byte, none"),
        ({"codec": "snappy"}, "one of blosclz, lz4, lz4hc, zlib, zstd"),
        ({"offsets": "no", "spare": 3}, "spare requires offsets=yes"),
        ({"metadata": "{"}, "neither a file nor JSON"),
    ],
)
def test_impossible_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shardcore.create(None, format="bloscpack", **options)


STRUCTURED = [("n", "S3"), ("v", "<f4", (2,))]
CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("array", [
    CUBE, np.asfortranarray(CUBE), CUBE.T, CUBE[:, ::2], CUBE[::-1], CUBE[:0], np.float32(3), CUBE.astype(">i4"),
    Slabs(CUBE), np.zeros(3, STRUCTURED), np.array(["2020-01-01"], "M8[D]"), np.array(["a", "bc"]),
])  # fmt: skip
def test_an_array_is_added_as_it_is(array: Any, tmp_path: Path) -> None:
    expected = np.asarray(getattr(array, "array", array))
    with shardcore.create(tmp_path / "a.blp", format="bloscpack", chunk_size=40) as writer:
        writer.add(None, array)
    with opened(tmp_path / "a.blp") as shard:
        np.testing.assert_array_equal(np.asarray(shard), expected, strict=True)
        assert (shard.shape, shard.dtype, shard.ndim) == (expected.shape, expected.dtype, expected.ndim)
        assert shard.metadata["order"] == ("F" if np.isfortran(expected) else "C")
        assert shard.verify().ok


def test_other_arrays_are_refused() -> None:
    with shardcore.create(None, format="bloscpack") as writer:
        for array in (np.array([None]), np.ma.masked_array([1, 2]), np.zeros(2, np.dtypes.StringDType())):
            with pytest.raises(UsageError, match="cannot be stored as a NumPy array"):
                writer.add(None, array)
        with pytest.raises(UsageError, match="cannot be set for an array"):
            writer.add(None, CUBE, dtype="<f4", shape=[24])
    with shardcore.create(None, format="swh") as writer, pytest.raises(UsageError, match="not ndarray"):
        writer.add(None, CUBE)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (1, 4), (2, 3, 4)])
def test_arrays_keep_type_shape_and_order(order: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype=">i4").reshape(shape, order=order)
    np.save(tmp_path / "a.npy", array)
    done = pack("bloscpack", tmp_path / "a.blp", [tmp_path / "a.npy"], options={"metadata": {"by": "hand"}})
    assert done.report.ok
    with opened(tmp_path / "a.blp") as shard:
        got = shard.array("all")
        assert (got.dtype, got.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(got, array)
        assert (shard.file.header.typesize, shard.metadata["by"]) == (4, "hand")
        told = {"dtype": ">i4", "shape": list(shape), "metadata": {"by": "hand"}}
        assert shard.facts(shard.find("all")).items() >= told.items()
        assert not any(line.error for line in extract_objects(shard, [shard.find("all")], tmp_path / "x"))
    # The facts of the manifest make it an array again.
    pack("bloscpack", tmp_path / "b.blp", manifest=tmp_path / "x" / "manifest.json")
    assert (tmp_path / "b.blp").read_bytes() == (tmp_path / "a.blp").read_bytes()


def test_arrays_that_are_none_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(10))
    whole = (tmp_path / "a.npy").read_bytes()
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    cases = {
        whole[:-1]: r"an array of int64 with shape \(10,\) has 80 bytes; the content has 79",
        whole + b"x": "the content has 81",
        whole.replace(b"descr", b"deskr"): "is not a readable .npy file: its header is invalid",
        whole.replace(b"'descr'", b"'descr "): "header is invalid: it must be a Python dictionary",
        whole[:7] + b"\x09" + whole[8:]: "its header is invalid: .*version",
        (tmp_path / "o.npy").read_bytes(): "Python objects are not supported",
    }
    for data, message in cases.items():
        with pytest.raises(UnreadableInput, match=rf"bad\.npy.*({message})"):
            written(tmp_path / "bad.blp", data, name="bad.npy")
    with pytest.raises(UsageError, match="a JSON object without dtype"):
        written(tmp_path / "bad.blp", whole, name="a.npy", metadata={"dtype": 1})
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".npy"] == []
    # A file that is only called so is bytes like any other.
    written(tmp_path / "text.blp", b"no array", name="text.npy")


def test_an_array_among_many_files_is_planned_and_packed(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(10))
    (tmp_path / "B.NPY").write_bytes((tmp_path / "a.npy").read_bytes())
    (tmp_path / "bad.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-1])
    inputs = sorted(tmp_path.iterdir())
    options = {"level": 0}
    rough = pack("bloscpack", f"{tmp_path}/out/", inputs, options=options, plan=True, unread=True).plan
    assert ([file.name for file in rough.files], rough.exact) == (["B.NPY.blp", "a.npy.blp", "bad.npy.blp"], False)
    with pytest.raises(UnreadableInput) as failed:
        pack("bloscpack", f"{tmp_path}/out/", inputs, options=options)
    assert failed.value.remedy is Remedy.SKIP
    done = pack("bloscpack", f"{tmp_path}/out/", inputs, options=options, skip_unreadable=True)
    assert [one.path.name for one in done.written] == ["B.NPY.blp", "a.npy.blp"]
    assert [Path(one.name).name for one in done.skipped] == ["bad.npy"]


def test_several_inputs_become_a_folder_of_files(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_bytes(name.encode())
    inputs = [tmp_path / "one.txt", tmp_path / "two.txt"]
    with pytest.raises(UsageError, match=r"two\.txt: a Bloscpack file has one content.*one\.txt.*ends with /"):
        pack("bloscpack", tmp_path / "out.blp", inputs)
    done = pack("bloscpack", f"{tmp_path}/out/", inputs)
    assert [one.path.name for one in done.written] == ["one.txt.blp", "two.txt.blp"]
    with shardcore.open(tmp_path / "out") as shard:
        assert shard.read(shard.find("two.txt")) == b"two.txt"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.txt").write_bytes(b"")
    with pytest.raises(UsageError, match=r"have the same file name, one\.txt\.blp"):
        pack("bloscpack", f"{tmp_path}/twice/", [tmp_path / "one.txt", tmp_path / "sub" / "one.txt"])
    # With force, files of inputs that are no more go.
    again = pack("bloscpack", f"{tmp_path}/out/", inputs[:1], force=True)
    assert [path.name for path in again.removed] == ["two.txt.blp"]


def test_streams_of_unknown_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.bloscpack.writer.IN_MEMORY", 5000)
    written(tmp_path / "a.blp", WALK, chunk_size=1000)
    pieces = (WALK[at : at + 333] for at in range(0, len(WALK), 333))
    pipe = SimpleNamespace(read=lambda size=-1: next(pieces, b""))
    written(tmp_path / "b.blp", pipe, chunk_size=1000)
    assert (tmp_path / "a.blp").read_bytes() == (tmp_path / "b.blp").read_bytes()


class Growing(io.BytesIO):
    def __init__(self, data: bytes, more: int) -> None:
        super().__init__(data)
        self._more = more

    def seek(self, at: int, whence: int = 0) -> int:
        there = super().seek(at, whence)
        return there - self._more if whence == io.SEEK_END else there

    def tell(self) -> int:
        return 0


@pytest.mark.parametrize("more", [-10, 10])
def test_inputs_that_change_are_named(more: int, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot read in\.bin: it changed while being read"):
        written(tmp_path / "a.blp", Growing(WALK, more), name="in.bin", chunk_size=1000)
    assert list(tmp_path.iterdir()) == []


def test_a_chunk_that_does_not_come_back_is_stored_uncompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = SimpleNamespace(compress=lambda plain, *_: make_chunk(b"x" + plain[1:]), decompress=blosc().decompress)
    monkeypatch.setattr(file_writer, "blosc", lambda: library)
    chunk = Recipe("lz4", 5, True, 8).chunk(WALK)
    assert (read_chunk_header(chunk).memcpyed, decompress(chunk)) == (True, WALK)
    assert not read_chunk_header(Recipe("lz4", 5, True, 8, checked=False).chunk(WALK)).memcpyed


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("CLEVEL", "1"), ("SHUFFLE", "NOSHUFFLE"), ("SHUFFLE", "BITSHUFFLE"), ("TYPESIZE", "3"), ("DELTA", "1")),
        *(("COMPRESSOR", "zstd"), ("BLOCKSIZE", "4096"), ("SPLITMODE", "NEVER"), ("NTHREADS", "3")),
    ],
)
def test_options_win_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    data = np.arange(200_000, dtype="<i4").tobytes()
    for target in ("without", "with"):
        if target == "with":
            monkeypatch.setenv(f"BLOSC_{name}", value)
        with shardcore.create(tmp_path / target, format="bloscpack", level=7, typesize=4, codec="lz4") as writer:
            writer.add(None, data)
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()
    assert os.environ[f"BLOSC_{name}"] == value


def test_packing_decodes_each_chunk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk that was compared before it was written is not decoded again when the file is read back."""
    (tmp_path / "walk").write_bytes(WALK)
    monkeypatch.setattr(content, "decompress", None)
    done = pack("bloscpack", tmp_path / "one.blp", [tmp_path / "walk"], options={"chunk_size": 1000})
    assert (done.report.ok, done.report.depth) == (True, Depth.CONTENT)


def test_threads_that_read_give_chunks_in_order() -> None:

    def plains() -> Iterator[bytes]:
        yield from (b"%d" % number * (5000 if number % 3 else 1) for number in range(100))
        raise SourceError("the input fails")

    recipe, found = Recipe("zstd", 9, False, 1), []
    with ThreadPoolExecutor(4) as workers, pytest.raises(SourceError, match="the input fails"):
        for chunk in compressed(plains(), recipe, 20_000, workers):
            found.append(decompress(chunk))
    assert found == [b"%d" % number * (5000 if number % 3 else 1) for number in range(len(found))]


STEPS = np.cumsum(np.random.default_rng(1).integers(0, 3, 3000)).astype("<i8").tobytes()


def packed(path: Path, plain: bytes, **options: Any) -> Path:
    with shardcore.create(path, format="bloscpack", **options) as writer:
        writer.add(None, plain)
    return path


def appended(path: Path, more: bytes, name: str = "more.bin") -> str:
    (path.parent / name).write_bytes(more)
    before = path.read_bytes()
    with shardcore.open(path) as shard:
        edit = append(shard, path.parent / name)
        told = edit.to_json()
        apply(edit)
    after = path.read_bytes()
    assert len(after) == told["new_size"]
    undo(path)
    assert path.read_bytes() == before
    path.write_bytes(after)
    return edit.what


def whole(path: Path) -> tuple[bytes, BloscpackShard]:
    with shardcore.open(path) as shard:
        assert shard.verify().findings == ()
        return shard.read(shard.find("all")), shard


@pytest.mark.parametrize("sizes", [(9000, 10), (8000, 8000), (9000, 7000), (9000, 7001), (16000, 1)])
@pytest.mark.parametrize("options", [{"checksum": "None"}, {"checksum": "sha256"}, {"offsets": False}])
def test_spare_slots_take_what_is_appended(sizes: tuple[int, int], options: dict[str, Any], tmp_path: Path) -> None:
    first, more = sizes
    path = packed(tmp_path / "a.blp", STEPS[:first], chunk_size=4000, codec="zstd", **options)
    with shardcore.open(path) as before:
        slots = before.fields
    assert "in place" in appended(path, STEPS[first : first + more])
    plain, shard = whole(path)
    assert plain == STEPS[: first + more]
    header = shard.file.header
    assert (header.chunk_size, header.nchunks) == (4000, -(-(first + more) // 4000))
    if header.has_offsets:
        assert header.nchunks + header.max_app_chunks == slots["header.nchunks"] + slots["header.max_app_chunks"]


def test_without_spare_slots_the_file_is_rewritten(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.blp", STEPS[:9000], chunk_size=4000, spare=1, metadata={"a": 1})
    assert "by rewriting all chunks, because there are too few spare offset slots" in appended(path, STEPS[9000:20000])
    plain, shard = whole(path)
    assert plain == STEPS[:20000]
    assert (shard.file.header.nchunks, shard.file.header.max_app_chunks, shard.metadata) == (5, 50, {"a": 1})


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_single_chunk_may_grow(size: int, tmp_path: Path) -> None:
    """A short content lowered chunk_size: appending raises it again."""
    path = packed(tmp_path / "a.blp", STEPS[:size])
    appended(path, STEPS[size:])
    plain, shard = whole(path)
    assert plain == STEPS
    assert (shard.file.header.nchunks, shard.file.header.chunk_size) == (1, len(STEPS))


def test_trailing_bytes_go(tmp_path: Path) -> None:
    """The reference's append may leave bytes after the last chunk."""
    path = Path(shutil.copy(SAMPLES / "append_shrink.blp", tmp_path / "a.blp"))
    with shardcore.open(path) as before:
        plain = before.read(before.find("all"))
    appended(path, b"more")
    assert whole(path)[0] == plain + b"more"


def test_arrays_grow_along_their_first_axis(tmp_path: Path) -> None:
    array = np.arange(600, dtype="<i4").reshape(30, 20)
    np.save(tmp_path / "in.npy", array[:10])
    np.save(tmp_path / "more.npy", array[10:])
    with shardcore.create(tmp_path / "a.blp", format="bloscpack") as writer:
        writer.add(None, (tmp_path / "in.npy").read_bytes(), name="in.npy")
    appended(tmp_path / "a.blp", (tmp_path / "more.npy").read_bytes(), "more.npy")

    with shardcore.open(tmp_path / "a.blp") as shard:
        np.testing.assert_array_equal(shard.array("all"), array)
        (tmp_path / "x.bin").write_bytes(b"abc")
        with pytest.raises(UsageError, match="grows only in C order by multiples of 80 bytes"):
            append(shard, tmp_path / "x.bin")
        np.save(tmp_path / "x.npy", array.astype("<i8"))
        with pytest.raises(UsageError, match=r"int64 with shape \(30, 20\) .* to the array of int32 with shape"):
            append(shard, tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("v1.blp", b"more", "version 1"),
        ("v2_offsets.blp", b"more", "version 2"),
        ("stream.blp", b"more", "number and size of the chunks"),
        ("tiny.blp", b"", "nothing to append"),
        ("files", b"more", "not a folder"),
    ],
)
def test_files_that_cannot_grow_are_refused(name: str, more: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "more").write_bytes(more)
    with shardcore.open(SAMPLES / name) as shard, pytest.raises(UsageError, match=message):
        append(shard, tmp_path / "more")


def test_several_inputs_are_one_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path / "a.blp", STEPS[:9000], chunk_size=4000)
    before = path.read_bytes()
    names = [str(tmp_path / f"more{number}") for number in range(3)]
    for number, size in enumerate((1, 5000, 300)):
        Path(names[number]).write_bytes(bytes([number]) * size)
    assert run(["append", str(path), *names, "--yes"]) == 0
    assert whole(path)[0] == STEPS[:9000] + b"\0" + b"\1" * 5000 + b"\2" * 300
    assert run(["undo", str(path), "--yes"]) == 0
    assert path.read_bytes() == before
    assert run(["append", str(path), names[0], str(tmp_path / "none"), "--yes"]) == 4
    assert run(["append", str(path), *names, "--dry-run"]) == 0
    assert "kept in a.blp.undo" in capsys.readouterr().out
    assert path.read_bytes() == before


class Killed:
    options: ClassVar[dict[str, Any]] = {"chunk_size": 4000}

    def prepared(self, target: Path) -> None:
        forget(target)
        target.unlink(missing_ok=True)
        packed(target, STEPS[:9000], **self.options)
        target.with_name("more").write_bytes(STEPS[9000:])
        shutil.copy(target, target.with_name("before"))

    def run(self, target: Path) -> None:
        with shardcore.open(target) as shard:
            apply(append(shard, target.with_name("more")))

    def judged(self, target: Path) -> str:
        before, answer = target.with_name("before").read_bytes(), "old"
        if interrupted(target):
            with contextlib.suppress(ShardError), shardcore.open(target) as shard:
                if "bloscpack.interrupted-edit" not in {one.code for one in shard.verify("structure").findings}:
                    return "not-found-by-verify"
        if journal_of(target).exists():
            undo(target)
            answer = "undone"
        return answer if target.read_bytes() == before else "wrong"


class KilledRewriting(Killed):
    options: ClassVar[dict[str, Any]] = {"chunk_size": 4000, "spare": 0}


@pytest.mark.thorough
@pytest.mark.parametrize("case", [Killed, KilledRewriting])
def test_an_append_that_is_killed(tmp_path: Path, case: type[Killed]) -> None:
    outcomes = killed.at_moments(case, "run", tmp_path / "x.blp", 20)
    assert set(outcomes) == {"old", "undone"}


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more").write_bytes(b"more")
    shardcore.pack("bloscpack", tmp_path / "x.blp", [tmp_path / "more"])

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(SourceError, match=re.escape(f"cannot write a temporary file in {tmp_path}: No space left")):
        shardcore.append(tmp_path / "x.blp", [tmp_path / "more"])
