"""Containers read the same as NumPy, `zipfile`, `gzip` and `zstandard` read them; hostile ones are bounded."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import shardcore
from shardcore.errors import BadChecksum, FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.model.finding import Depth
from shardcore.testing import ShardContract

DATA = Path(__file__).parents[2] / "data" / "containers"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.npy")), ids=lambda path: path.name)
def test_npy_as_numpy_reads_it(path: Path) -> None:
    expected = np.load(path)
    with shardcore.open(path) as shard:
        array = shard.array("all")
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.zip")), ids=lambda path: path.name)
def test_zip_as_zipfile_reads_it(path: Path) -> None:
    with zipfile.ZipFile(path) as expected, shardcore.open(path, format="zip") as shard:
        infos = expected.infolist()
        assert list(shard) == [info.filename for info in infos]
        for info in infos:
            ref = shard.find(info.filename)
            assert (ref.size, ref.stored_size) == (info.file_size, info.compress_size)
            assert (ref.extras["crc32"], shard[info.filename]) == (f"{info.CRC:08x}", expected.read(info))
        assert shard.verify().ok


@pytest.mark.parametrize("path", sorted(DATA.glob("*.gz")), ids=lambda path: path.name)
def test_gzip_as_gzip_reads_it(path: Path) -> None:
    with shardcore.open(path) as shard:
        assert b"".join(shard.read(ref) for ref in shard.objects) == gzip.decompress(path.read_bytes())


@pytest.mark.parametrize("path", sorted(DATA.glob("*.zst")), ids=lambda path: path.name)
def test_zstd_as_zstandard_reads_it(path: Path) -> None:
    with zstandard.open(path, "rb") as expected, shardcore.open(path) as shard:
        whole = b"".join(shard.read(ref) for ref in shard.objects)
        assert whole.startswith(expected.read())
        assert len(shard.objects) == (2 if path.name == "frames.zst" else 1)


def test_safetensors_nodes_are_the_entries_of_the_header() -> None:
    data = (DATA / "model.safetensors").read_bytes()
    with shardcore.open(data) as shard:
        node = next(one for one in shard.tree.children if one.name == "header")
        for entry in node.children:
            text = data[entry.span.start : entry.span.stop].decode()
            assert json.loads(f"{{{text}}}").keys() == {entry.name}
            if entry.row is not None:
                assert entry.target == shard.find(entry.name).spans[0]
        assert np.array_equal(shard.array("bias"), np.arange(4))


def test_broken_contents_are_found() -> None:
    for name, key in (("members.zip", "folder/text.txt"), ("named.gz", "0"), ("text.zst", "0")):
        data = bytearray((DATA / name).read_bytes())
        with shardcore.open(bytes(data)) as shard:
            span = shard.find(key).spans[0]
        data[span.stop - 1 - (8 if name.endswith("gz") else 4 if name.endswith("zst") else 6)] ^= 1
        with shardcore.open(bytes(data)) as shard:
            assert not shard.verify(Depth.CONTENT).ok
            with pytest.raises(ShardError):
                shard[key]
    stored = bytearray((DATA / "members.zip").read_bytes())
    stored[stored.index(b"weight")] ^= 1
    with shardcore.open(bytes(stored)) as shard, pytest.raises(BadChecksum):
        shard["model.safetensors"]


def test_an_archive_without_its_end_still_shows_its_members() -> None:
    """Truncated within the directory."""
    data = (DATA / "members.zip").read_bytes()
    with pytest.raises(FormatError):
        shardcore.open(data[:-40])
    with shardcore.open(data[:-40], partial=True) as shard:
        assert shard.format == "zip"
        members = shard.tree.children[0]
        assert [node.name for node in members.children] == [
            "model.safetensors", "folder/text.txt", "folder/empty", "naïve.npy",
        ]  # fmt: skip


def safetensors(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def central(name: bytes, **fields: int) -> bytes:
    values = {"flags": 0, "method": 0, "stored": 0, "size": 0, "offset": 0} | fields
    entry = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, values["flags"], values["method"], 0, 0, 0, values["stored"],
        values["size"], len(name), 0, 0, 0, 0, 0, values["offset"],
    ) + name  # fmt: skip
    count = fields.get("count", 1)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(entry), 30, 0)
    return b"PK\x03\x04" + bytes(26) + entry + end


HOSTILE: dict[str, bytes] = {
    "npy of a petabyte": b"\x93NUMPY\x01\x00\x3a\x00" + b"{'descr':'<f8','fortran_order':False,'shape':(1<<47,),}   ",
    "npy of a large shape": b"\x93NUMPY\x01\x00\x4a\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (140737488355328, 99), }".ljust(74),
    "npy of objects": b"\x93NUMPY\x01\x00\x3c\x00"
    + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(60),
    "npy of brackets": b"\x93NUMPY\x01\x00\xff\xff" + b"[" * 65535,
    "safetensors of a large header": struct.pack("<Q", 1 << 60) + b'{"',
    "safetensors of brackets": safetensors(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "safetensors outside": safetensors(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'),
    "safetensors backwards": safetensors(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}}', bytes(16)),
    "safetensors of another size": safetensors(b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,16]}}', bytes(16)),
    "safetensors of a huge shape": safetensors(
        b'{"a":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807],"data_offsets":[0,16]}}', bytes(16)
    ),
    "zip that counts more": central(b"a", count=60_000),
    "zip of a member outside": central(b"a", offset=1 << 31),
    "zip of a large member": central(b"a", stored=1 << 31, size=1 << 31),
    "zip of a false header": central(b"a", offset=2),
    "zip of a strange method": central(b"a", method=77),
    "gzip cut": gzip.compress(bytes(1000))[:-9],
    "gzip of a header without end": b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 300_000,
    "zstd of empty blocks": b"\x28\xb5\x2f\xfd\x00\x00" + bytes(3 * 100_000),
    "zstd of a reserved block": b"\x28\xb5\x2f\xfd\x20\x01\x07\x00\x00",
    "zstd skipped to the end": b"\x50\x2a\x4d\x18\xff\xff\xff\xff",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_containers_are_bounded(name: str) -> None:
    """Declared sizes are not allocated: the file is refused, or shown with findings."""
    data = HOSTILE[name]
    tracemalloc.start()
    try:
        for partial in (False, True):
            try:
                with shardcore.open(data, partial=partial) as shard:
                    for work in (shard.load_index, lambda: shard.runs(0, len(data)), shard.verify):
                        with contextlib.suppress(ShardError):
                            work()
                    for key in list(shard)[:3]:
                        with contextlib.suppress(ShardError):
                            assert len(shard[key]) <= len(data)
                    if not partial:
                        report = shard.verify()
                        assert report.findings, name
            except ShardError:
                assert not partial
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


def test_bombs_stop_at_their_limit() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(50 << 20))
    for data, key in ((out.getvalue(), "bomb"), (gzip.compress(bytes(50 << 20)), "0")):
        with shardcore.open(data) as shard, pytest.raises(LimitExceeded):
            shard.read(key, limit=1 << 20)


def test_encrypted_and_unknown_members_are_not_supported() -> None:
    for fields, words in (({"flags": 1}, "encrypted"), ({"method": 77}, "method 77")):
        data = bytearray((DATA / "members.zip").read_bytes())
        for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            place = data.index(magic)
            struct.pack_into("<2H", data, place + at, fields.get("flags", 0), fields.get("method", 0))
        with shardcore.open(bytes(data)) as shard, pytest.raises(Unsupported, match=words):
            shard["model.safetensors"]


def test_equal_names_are_the_last() -> None:
    """Of two members with one name the last is found, as by other readers."""
    out: Any = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"second")
    with shardcore.open(out.getvalue()) as shard:
        assert shard["a"] == b"second"
        assert [shard.read(ref) for ref in shard.find_all("a")] == [b"first", b"second"]


class TestNpyContract(ShardContract):
    samples, absent = sorted(DATA.glob("*.npy")), ["nobody", "0"]
    open_ranges, find_ranges = 1, 0


class TestSafetensorsContract(ShardContract):
    samples, absent = sorted(DATA.glob("*.safetensors")), ["nobody", "__metadata__"]
    open_ranges, find_ranges = 1, 0


class TestZipContract(ShardContract):
    samples = sorted(path for path in DATA.glob("*.zip") if path.name != "prefixed.zip")
    absent = ("nobody", "folder/")
    open_ranges, find_ranges = 3, 1


class TestGzipContract(ShardContract):
    samples, absent = sorted(DATA.glob("*.gz")), ["nobody", "9"]
    open_ranges, find_ranges = 1, 20


class TestZstdContract(ShardContract):
    samples, absent = sorted(DATA.glob("*.zst")), ["nobody", "9"]
    open_ranges, find_ranges = 2, 20
