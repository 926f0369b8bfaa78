"""Small files of a folder, which are verified without opening them: the same findings as for an open file."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.formats.bloscpack.append import append
from shardcore.formats.bloscpack.verify import intact_report
from shardcore.model.finding import Depth
from shardcore.operations.pack import pack
from shardcore.writing import undo
from shardcore.writing.undo import apply


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
    undo._mark(undo.journal_of(path), undo.BEGUN)
    with shardcore.open(tmp_path / "out", format="bloscpack") as folder:
        assert "bloscpack.interrupted-edit" in {one.code for one in folder.verify("structure").findings}
