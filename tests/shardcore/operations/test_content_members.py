"""Members of contents: tensors, files of archives, and what compressed files hold; hostile ones are bounded."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import shardcore
from shardcore.cli.program import run
from shardcore.codecs.images import decode_picture, encode_png
from shardcore.errors import (
    ExternalMissing,
    FormatError,
    LimitExceeded,
    ShardError,
    SourceError,
    Unsupported,
    UsageError,
)
from shardcore.operations.content import content_of
from shardcore.operations.content.archives import PEEK, expand
from tests.hostile.neuroglancer import SHARDING

COMPRESS: dict[str, Callable[[bytes], bytes]]
COMPRESS = {"gzip": gzip.compress, "zstd": zstandard.compress, "bzip2": bz2.compress, "xz": lzma.compress}
ENDINGS = {"gzip": ".gz", "zstd": ".zst", "bzip2": ".bz2", "xz": ".xz"}
BYTES = ("U8", [4], bytes(4))
CSV = b"x,y\n1,2\n3,4\n"


def stored(data: bytes, tmp_path: Path, name: str = "a") -> Path:
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des", force=True) as writer:
        writer.add(name, data)
    return path


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: dict[str, Any] = {}
    body = b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def npy(array: np.ndarray[Any, Any]) -> bytes:
    target = io.BytesIO()
    np.save(target, array)
    return target.getvalue()


SPEC = json.dumps(SHARDING)


class CountedFile(shardcore.FileSource):
    """A file that counts the bytes that are read."""

    count = 0

    def _read(self, start: int, stop: int) -> bytes:
        self.count += stop - start
        return super()._read(start, stop)


def sparse_shard(folder: Path, begin: bytes, size: int) -> Path:
    """A shard with one object, key 0, of a size; after its beginning there is a hole."""
    path = folder / "0.shard"
    with path.open("wb") as file:
        file.write(struct.pack("<QQ", size, size + 24) + begin)
        file.seek(16 + size)
        file.write(struct.pack("<QQQ", 0, 0, size))
    return path


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


@pytest.mark.parametrize("format", COMPRESS)
def test_compressed_files_state_what_they_hold(format: str, tmp_path: Path) -> None:
    data = COMPRESS[format](CSV)
    path = stored(data, tmp_path, "rows.csv" + ENDINGS[format])
    with shardcore.open(path) as shard:
        ref = next(iter(shard.objects))
        found = shardcore.content(shard, ref)
        assert found.title == f"{format} of CSV table"
        assert [(one.name, one.size, one.codec) for one in found.members] == [("rows.csv", len(CSV), format)]
        assert isinstance(found.inner, shardcore.TableContent)
        inside = shardcore.member_content(shard, ref)
        assert (inside.data, inside.title) == (CSV, "CSV table")
    twice = content_of(COMPRESS[format](gzip.compress(CSV)))
    assert twice.inner.inner is None


@pytest.mark.parametrize("format", COMPRESS)
def test_compressed_bombs_are_looked_into_and_no_more(format: str, tmp_path: Path) -> None:
    data = COMPRESS[format](bytes(20 << 20))
    found = content_of(data)
    assert len(found.inner.data) == PEEK
    with shardcore.open(stored(data, tmp_path)) as shard, pytest.raises(LimitExceeded):
        shardcore.member_content(shard, next(iter(shard)), limit=1 << 20)


@pytest.mark.parametrize("format", COMPRESS)
def test_cut_and_damaged_streams(format: str, tmp_path: Path) -> None:
    text = "".join(f"{n * n} lines of text\n" for n in range(40_000)).encode()
    data = COMPRESS[format](text)
    beginning, ended = expand(format, data[: len(data) // 2 * 2 - 60_000 if format == "bzip2" else -8], PEEK)
    assert text.startswith(beginning)
    assert not ended
    with shardcore.open(stored(data[:-8], tmp_path)) as shard, pytest.raises(FormatError, match="ends early"):
        shardcore.member_content(shard, next(iter(shard)))
    damaged = content_of(data[:6] + b"\xff" * 40)
    assert damaged.inner is None
    assert damaged.note


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_files_of_archives(method: int, tmp_path: Path) -> None:
    array = np.arange(12, dtype="<f4").reshape(3, 4)
    members = {"a.csv": CSV, "b/c.npy": npy(array)}
    for data in (zipped(members, method), tarred(members)):
        with shardcore.open(stored(data, tmp_path)) as shard:
            key = next(iter(shard))
            table = shardcore.member_content(shard, key, "a.csv")
            assert table.rows[2] == ("3", "4")
            found = shardcore.member_content(shard, key, "b/c.npy")
            np.testing.assert_array_equal(found.array, array)
            np.testing.assert_array_equal(shardcore.tensor_array(shard, key, "b/c.npy"), array)
            with pytest.raises(UsageError, match=r"no member '?x'? \(available: '?a\.csv"):
                shardcore.member_content(shard, key, "x")
            with pytest.raises(LimitExceeded):
                shardcore.member_content(shard, key, "a.csv", limit=3)


def test_members_that_are_not_decoded(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": CSV}, zipfile.ZIP_LZMA))
    with shardcore.open(stored(bytes(data), tmp_path)) as shard:
        found = shardcore.content(shard, "a")
        assert found.members[0].codec == "method 14"
        with pytest.raises(Unsupported, match="method 14"):
            shardcore.member_content(shard, "a", "a")
    data = bytearray(zipped({"a": CSV * 100}))
    data[31:41] = b"\xff" * 10
    with shardcore.open(stored(bytes(data), tmp_path)) as shard, pytest.raises(FormatError, match=r"damaged|early"):
        shardcore.member_content(shard, "a", "a")


def test_zip_bombs_are_refused_by_their_size(tmp_path: Path) -> None:
    """Also when the directory states a smaller size."""
    data = zipped({"a": bytes(70 << 20)})
    with shardcore.open(stored(data, tmp_path)) as shard, pytest.raises(LimitExceeded, match="73,400,320 bytes"):
        shardcore.member_content(shard, "a", "a")
    lying = data.replace(struct.pack("<I", 70 << 20), struct.pack("<I", 10))
    with shardcore.open(stored(lying, tmp_path)) as shard, pytest.raises(LimitExceeded):
        shardcore.member_content(shard, "a", "a")


def test_tensors_are_arrays(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0], [0.25, 3.0]], "<f4")
    bf16 = (values.view("<u4") >> 16).astype("<u2").tobytes()
    half = values.astype("<f2")
    data = safetensors(
        {
            "pad": ("U8", [1 << 20], bytes(1 << 20)),
            "half": ("F16", [2, 2], half.tobytes()),
            "brain": ("BF16", [2, 2], bf16),
            "eight": ("F8_E4M3", [2, 2], bytes(4)),
            "none": ("F32", [0, 3], b""),
        }
    )
    path = stored(data, tmp_path)
    source = CountedFile(path)
    with shardcore.open(source) as shard:
        ref = shard.find("a")
        source.count = 0
        np.testing.assert_array_equal(shardcore.tensor_array(shard, ref, "half"), half)
        assert source.count <= (1 << 20) + 8
        found = shardcore.member_content(shard, "a", "brain")
        assert (found.encoding, found.stored_size, found.array.dtype) == ("BF16", 8, np.dtype("<f4"))
        np.testing.assert_array_equal(found.array, values)
        assert shardcore.tensor_array(shard, "a", "none").shape == (0, 3)
        with pytest.raises(Unsupported, match="F8_E4M3"):
            shardcore.member_content(shard, "a", "eight")
        with pytest.raises(UsageError, match="no tensor 'x'"):
            shardcore.member_content(shard, "a", "x")
        with pytest.raises(LimitExceeded):
            shardcore.tensor_array(shard, "a", "pad", limit=100)


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (safetensors({"a": ("F32", [1], bytes(4))}).replace(b"[0, 4]", b"[0, 9]"), "outside"),
        (safetensors({"a": ("F32", [1], bytes(4))}).replace(b"[0, 4]", b"[4, 0]"), "shape or data_offsets of"),
        (safetensors({"a": ("F32", [1], bytes(4))}).replace(b"[0, 4]", b"[0,-4]"), "shape or data_offsets of"),
        (safetensors({"a": BYTES, "b": BYTES}).replace(b"[4, 8]", b"[2, 6]"), "overlap"),
        (safetensors({"a": ("U8", [4], bytes(4))}).replace(b'"U8"', b"[[[]"), "JSON|safetensors"),
        (struct.pack("<Q", 90_000_000) + b"{" * 100_000, "the safetensors header has"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 9, 2**60), "GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0) + bytes(100_000), "GGUF"),
        (npy(np.zeros(3)).replace(b"(3,)", b"(9,)"), "needs"),
        (npy(np.zeros(3))[:-1], "."),
        (b"\x93NUMPY\x01\x00\xff\xff{'descr': 'O'", "."),
        (safetensors({"a": ("F32", [3], bytes(12))})[:-4], "."),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "."),
        (b"PK\x03\x04" + bytes(40), "."),
        (npy(np.zeros(3)).replace(b"(3,), }            ", b"(999999999999999999,"), ".npy"),
    ],
)
def test_hostile_headers_have_a_note(data: bytes, note: str) -> None:
    found = content_of(data)
    assert found.kind == "bytes"
    assert re.search(note, found.note), found.note


def test_hostile_texts_are_texts() -> None:
    line = content_of(b"a,b\n" + b"x" * 10_000_000, "a.csv")
    assert line.kind == "text"
    deep = content_of(b"[" * 100_000 + b"]" * 100_000)
    assert (deep.kind, deep.title) == ("text", "Text")
    wide = content_of(b"," * 1_000_000, "a.csv")
    assert len(wide.rows[0]) == 4096


def test_a_large_tensor_needs_a_larger_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.operations.content.WHOLE", 1 << 10)
    path = stored(safetensors({"a": ("U8", [1 << 11], bytes(1 << 11))}), tmp_path, "a.safetensors")
    with shardcore.open(path) as shard:
        with pytest.raises(LimitExceeded):
            shardcore.tensor_array(shard, "a.safetensors", "a")
        assert shardcore.tensor_array(shard, "a.safetensors", "a", limit=1 << 12).size == 1 << 11


@pytest.mark.parametrize("error", [FormatError, SourceError, ExternalMissing, LimitExceeded])
def test_an_array_whose_rest_cannot_be_read_is_an_error(
    error: type[ShardError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardcore.operations.content.HEAD", 16)
    with shardcore.open("resources/samples/bloscpack/array.blp") as shard:
        whole = shard.read_range

        def read(ref: shardcore.ObjectRef, start: int, stop: int, **more: Any) -> bytes:
            if stop > 16:
                raise error("the rest cannot be read")
            return whole(ref, start, stop, **more)

        monkeypatch.setattr(shard, "read_range", read)
        with pytest.raises(error, match="the rest"):
            shardcore.content(shard, "0")


def test_damaged_members_raise_only_errors_of_shards() -> None:
    chance = np.random.default_rng(5)
    array = npy(np.zeros((3, 4)))
    samples = [
        zipped({"a.csv": CSV, "b.npy": array}),
        tarred({"a.csv": CSV, "b.npy": array}),
        safetensors({"a": ("F32", [1], bytes(4)), "b": ("BF16", [2], bytes(4))}),
        array,
        *(compress(CSV * 20) for compress in COMPRESS.values()),
    ]
    for data in samples:
        for _ in range(120):
            changed = bytearray(data)
            for _ in range(chance.integers(1, 5)):
                changed[chance.integers(0, min(len(changed), 700))] = chance.integers(0, 256)
            try:
                content_of(bytes(changed[: chance.integers(1, len(changed) + 1)]))
            except ShardError:
                pytest.fail("content_of raised")


def test_a_sparse_object_of_10_gb(tmp_path: Path) -> None:
    header = json.dumps({"big": {"dtype": "F32", "shape": [2_500_000_000], "data_offsets": [0, 10_000_000_000]}})
    begin = struct.pack("<Q", len(header)) + header.encode()
    size = 10_000_000_000 + len(begin)
    beginnings = {
        "tensors": begin, "bytes": b"hello\n" * 20, "archive": b"PK\x03\x04", "picture": b"\x89PNG\r\n\x1a\n",
    }  # fmt: skip
    for kind, start in beginnings.items():
        source = CountedFile(sparse_shard(tmp_path, start, size))
        with shardcore.open(source, spec=SPEC) as shard:
            ref = shard.find(0)
            source.count = 0
            found = shardcore.content(shard, ref)
            assert (found.kind, found.size) == (kind, size)
            assert source.count <= 1 << 20
            if kind == "tensors":
                with pytest.raises(LimitExceeded):
                    shardcore.tensor_array(shard, 0, "big")


def test_show_of_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = encode_png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    plane = np.arange(6, dtype="<f4").reshape(2, 3)
    tensors = safetensors({"w": ("F32", [2, 3], plane.tobytes())})
    data = zipped({"p.png": picture, "w.npy": npy(plane)})
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        for name, one in (("t", tensors), ("z", data), ("g.csv.gz", gzip.compress(CSV)), ("p", picture)):
            writer.add(name, one)
    where = str(tmp_path / "x.des")
    assert run(["show", where, "t", "--member", "w", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["shape"], told["statistics"]["max"]) == ("array", [2, 3], 5.0)
    assert run(["show", where, "g.csv.gz", "--member", ""]) == 0
    assert "CSV table" in capsys.readouterr().out
    for key, member, shape in (("t", "w", (2, 3)), ("z", "w.npy", (2, 3)), ("z", "p.png", (4, 4)), ("p", None, (4, 4))):
        target = tmp_path / f"{key}{member}.png"
        assert run(["show", where, key, *(["--member", member] if member else []), "--png", str(target)]) == 0
        assert decode_picture(target.read_bytes()).shape == (*shape, 4)
    np.testing.assert_array_equal(decode_picture(target.read_bytes()), decode_picture(picture))
    assert run(["show", where, "t", "--png", str(target)]) == 2
    assert run(["show", where, "t", "--member", "x"]) == 2
    assert run(["show", where, "p", "--png", str(target), "--index", "1", "--force"]) == 2
    capsys.readouterr()
