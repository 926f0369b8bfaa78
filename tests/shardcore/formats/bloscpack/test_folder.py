"""Folders of Bloscpack files and bcolz folders: detection, extraction, verification."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import NotAShard, ShardError
from shardcore.formats.bloscpack.verify import intact_report
from shardcore.formats.bloscpack.writer import append
from shardcore.model.finding import Depth
from shardcore.model.objects import State
from shardcore.operations.content import content as content_of
from shardcore.operations.extraction import write_object
from shardcore.operations.pack import pack
from shardcore.sources.local import LocalFolder
from shardcore.writing.journal import BEGUN, journal_of, mark_journal
from shardcore.writing.undo import apply
from tests.data.bloscpack.make_bcolz import made, prices
from tests.shardcore.formats.bloscpack.bcolz_folders import DATA

FILES = DATA.parent / "files"


def test_samples_are_what_the_script_makes() -> None:
    files = {path.relative_to(DATA).as_posix(): path.read_bytes() for path in DATA.rglob("*") if path.is_file()}
    assert files == made()


def test_other_folders_are_neither(tmp_path: Path) -> None:
    with pytest.raises(NotAShard, match="neither a bcolz column"):
        shardcore.open(tmp_path, format="bloscpack")
    (tmp_path / "data").mkdir()
    (tmp_path / "meta").mkdir()
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    (tmp_path / "a.blp").write_bytes((DATA.parent / "tiny.blp").read_bytes())
    (tmp_path / "notes.txt").write_bytes(b"")
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)


def test_files_side_by_side_are_contents_by_name() -> None:
    assert shardcore.detect(FILES).why == "Bloscpack files"
    with shardcore.open(FILES) as shard:
        assert shard.objects.keys[:] == ["hello.txt", "inner/steps.npy"]
        assert shard.objects.known(0, 2).size.tolist() == [-1, -1]
        ref = shard.find("hello.txt")
        assert (ref.size, ref.kind, shard.read(ref)) == (11, "content", b"hello shard")
        assert shard.read_range(ref, 6, 99) == b"shard"
        assert shard.facts(ref) == {"metadata": {"language": "en"}}
        steps = shard.find("inner/steps.npy")
        assert shard.facts(steps) == {"dtype": "<i2", "shape": [10, 3], "order": "C", "chunk_size": 24}
        assert shard.objects[:].size.tolist() == [11, 60]
        assert shard.verify().findings == ()
        assert shard.trace("hello").outcome == "absent"


ARRAYS = {
    "plain": np.arange(600, dtype="<f4").reshape(20, 30),
    "columns": np.asfortranarray(np.arange(12, dtype=">i2").reshape(3, 4)),
    "scalar": np.array(7.5),
    "none": np.zeros((0, 3), "<u2"),
    "fields": np.zeros(3, [("a", "<i4"), ("b", "u1", (2,))]),
    "letters": np.zeros(2, [("größe", "<i4"), ("Ω", "<i4")]),
}


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_arrays_are_extracted_and_previewed_as_arrays(tmp_path: Path) -> None:
    for name, array in ARRAYS.items():
        np.save(tmp_path / f"{name}.npy", array)
    files, taken, again = tmp_path / "files", tmp_path / "taken", tmp_path / "again"
    pack("bloscpack", f"{files}/", sorted(tmp_path.glob("*.npy")))
    assert run(["extract", str(files), str(taken)]) == 0
    assert run(["extract", str(files), str(taken), "--conflict", "skip", "--guess-extension", "--no-manifest"]) == 0
    entries = json.loads((taken / "manifest.json").read_text())["objects"]
    listed = {one["key"]: one for one in entries}
    with shardcore.open(files) as shard:
        for name, array in ARRAYS.items():
            key, data = f"{name}.npy", (taken / f"{name}.npy").read_bytes()
            loaded = np.load(io.BytesIO(data))
            assert (loaded.dtype, loaded.shape, loaded.tobytes()) == (array.dtype, array.shape, array.tobytes())
            assert name == "letters" or data == (tmp_path / key).read_bytes()
            assert (listed[key]["size"], listed[key]["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
            ref = shard.find(key)
            assert shard.read(ref) == array.tobytes("A")
            assert write_object(shard, ref, tmp_path / f"{name}.bin") == array.nbytes
            content = content_of(shard, ref)
            with shardcore.open(files / f"{key}.blp") as alone:
                assert content == content_of(alone, alone.find("all"))
    pack("bloscpack", f"{again}/", manifest=taken / "manifest.json")
    for path in files.glob("*.blp"):
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_a_damaged_file_is_one_damaged_row(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(FILES, tmp_path / "files"))
    (copy / "hello.txt.blp").write_bytes(b"blpk\x09")
    with shardcore.open(copy) as shard:
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.DAMAGED, State.LIVE]
        assert "version 9" in shard.objects.ref(0).error
        assert len(shard.read(shard.find("inner/steps.npy"))) == 60
        assert [finding.code for finding in shard.verify().findings] == ["bloscpack.unreadable"]
        with pytest.raises(ShardError, match="version 9"):
            shard.find("hello.txt")


def test_columns_are_extracted_as_files(tmp_path: Path) -> None:
    assert run(["extract", str(DATA / "prices"), str(tmp_path / "out")]) == 0
    for name, array in prices().items():
        assert (tmp_path / "out" / name).read_bytes() == array.tobytes()
    assert LocalFolder(tmp_path / "out").list()


def packed(folder: Path, content: bytes = b"a small file " * 40, **options: object) -> Path:
    (folder / "a.txt").write_bytes(content)
    pack("bloscpack", f"{folder / 'out'}/", [folder / "a.txt"], options=options)
    return folder / "out" / "a.txt.blp"


@pytest.mark.parametrize("content", [b"", b"x", b"a small file " * 40, bytes(range(256)) * 200])
@pytest.mark.parametrize("options", [{}, {"offsets": "no"}, {"spare": 0}, {"checksum": "None"}, {"codec": "lz4"}])
def test_intact_files_are_recognised(tmp_path: Path, content: bytes, options: dict[str, object]) -> None:
    data = packed(tmp_path, content, **options).read_bytes()
    assert all(intact_report(data, depth) for depth in Depth)


@pytest.mark.parametrize("options", [{}, {"offsets": "no"}])
def test_damage_is_reported_as_for_an_open_file(tmp_path: Path, options: dict[str, object]) -> None:
    """Whatever byte is changed, added or cut off, the folder has a finding where the file alone has one."""
    path = packed(tmp_path, **options)
    data = path.read_bytes()
    found = 0
    damaged = [data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :] for at in range(len(data))]
    for changed in (*damaged, data[:-1], data + b"\0"):
        path.write_bytes(changed)
        try:
            with shardcore.open(path, format="bloscpack") as alone:
                codes = {finding.code for finding in alone.verify().findings}
        except shardcore.ShardError:
            codes = {"bloscpack.unreadable"}
        with shardcore.open(tmp_path / "out", format="bloscpack") as folder:
            assert {finding.code for finding in folder.verify().findings} == codes
        found += bool(codes)
    # The typesize of the header and unused bits of flags are checked by nothing.
    assert found > len(damaged) - 8


def test_a_declared_count_allocates_nothing() -> None:
    header = b"blpk\x03\x01\x00\x08" + (1).to_bytes(4, "little") * 2 + (1).to_bytes(8, "little")
    assert not intact_report(header + (2**62).to_bytes(8, "little") + bytes(64), Depth.CONTENT)


def test_an_interrupted_edit_is_reported(tmp_path: Path) -> None:
    path = packed(tmp_path)
    with shardcore.open(path) as shard:
        apply(append(shard, tmp_path / "a.txt"))
    mark_journal(journal_of(path), BEGUN)
    with shardcore.open(tmp_path / "out", format="bloscpack") as folder:
        assert "bloscpack.interrupted-edit" in {one.code for one in folder.verify("structure").findings}
