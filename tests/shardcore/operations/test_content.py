"""Contents: each kind is recognised, its parts lie where they are said to, and hostile input is bounded."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.model.content_layout import ArrayLayout
from shardcore.operations import content as contents
from shardcore.operations.content.arrays import (
    ArrayContent,
    array_pixels,
    label_colours,
    tensor_content,
    tensor_layout,
)
from tests.shardcore.operations.test_content_members import npy, safetensors, stored

SAMPLES = Path("resources/samples")
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480) + bytes(5)


def content_of(data: bytes, tmp_path: Path, name: str = "a") -> shardcore.Content:
    """The content of an object with these bytes, stored in a shard that keeps names."""
    with shardcore.open(stored(data, tmp_path, name)) as shard:
        return shardcore.content(shard, name)


def gguf() -> bytes:
    def string(text: str) -> bytes:
        return struct.pack("<Q", len(text)) + text.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + string("general.name") + struct.pack("<I", 8) + string("tiny")
    head += string("w") + struct.pack("<IQQIQ", 2, 3, 2, 0, 0)
    return head + bytes(-len(head) % 32) + np.arange(6, dtype="<f4").tobytes()


@pytest.mark.parametrize(
    ("name", "data", "kind", "title"),
    [
        ("a", b"", "bytes", "Empty"),
        ("a", b"one\ntwo\n", "text", "Text"),
        ("a.py", b"import os\nprint(1)\n", "text", "Python"),
        ("a", "gr\u00fc\u00dfe".encode("utf-16"), "text", "Text"),
        ("a", b'{"a": [1, 2]}', "json", "JSON"),
        ("a.csv", b"x,y\n1,2\n", "table", "CSV table"),
        ("a", b"x\ty\n1\t2\n3\t4\n", "table", "TSV table"),
        ("a", PNG, "picture", "PNG picture"),
        ("a", b"\x1f\x8b\x08" + bytes(20), "archive", "gzip file"),
        ("a", b"SWHShard" + bytes(100), "shard", "shard: Software Heritage Read Shard"),
        ("a", bytes(range(256)), "bytes", "Bytes"),
        ("a", bytes(3000), "bytes", "Bytes"),
        ("a", b"\xff" * 500, "bytes", "Bytes"),
        ("a", b"\x7fELF\x02\x01\x01" + bytes(100), "bytes", "ELF executable"),
        ("a", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "bytes", "Adobe Portable Document Format file"),
        ("a.json", b'{"id": 12345678901234567890123}', "json", "JSON"),
    ],
)
def test_kinds(name: str, data: bytes, kind: str, title: str, tmp_path: Path) -> None:
    found = content_of(data, tmp_path, name)
    assert (found.kind, found.title) == (kind, title)
    assert found.size == len(data)


def test_invalid_json_is_text_with_a_note(tmp_path: Path) -> None:
    found = content_of(b'{"a": [1, 2,}', tmp_path, "a.json")
    assert found.kind == "text"
    assert "column 13" in found.note


def test_lines_have_their_bytes(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-16"):
        data = "one\nzw\u00f6lf\n\nend".encode(encoding)
        found = content_of(data, tmp_path)
        parts = [data[slice(*found.line_bytes(line))] for line in range(len(found.line_starts))]
        assert b"".join(parts) == data
        assert len(parts) == 4
        assert all(found.line_at(found.line_bytes(line)[0]) == line for line in range(4))


def test_arrays_have_their_bytes(tmp_path: Path) -> None:
    for order in ("C", "F"):
        array = np.asarray(np.arange(24, dtype="<i4").reshape(2, 3, 4), order=order)
        data = npy(array)
        found = content_of(data, tmp_path)
        np.testing.assert_array_equal(np.asarray(found), array, strict=True)
        np.testing.assert_array_equal(found[1:, ::2, -1], array[1:, ::2, -1])
        assert (found.shape, found.dtype, found.ndim) == (array.shape, array.dtype, 3)
        with pytest.raises(shardcore.LimitExceeded, match="only 150 bytes"):
            _ = contents.content_of(data[:150], size=len(data))[0]
        start, stop = found.layout.bytes_of((1, 2, 3))
        changed = bytearray(data)
        changed[start:stop] = np.int32(-1).tobytes()
        again = content_of(bytes(changed), tmp_path)
        assert np.argwhere(again.array != array).tolist() == [[1, 2, 3]]
        assert found.layout.index_at(start) == (1, 2, 3)
        assert found.layout.index_at(0) is None
        assert found.layout.box_of(start, stop) == ((1, 2, 3), (1, 2, 3))
        low, high = found.layout.box_of(found.layout.start, found.layout.start + 8 * 4) or ((), ())
        inside = found.array[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))]
        assert set(array.ravel(order=order)[:8].tolist()) <= set(inside.ravel().tolist())


def test_tensors_have_their_bytes(tmp_path: Path) -> None:
    one, two = np.arange(6, dtype="<f4").reshape(2, 3), np.ones(4, "<f4")
    for data, names in (
        (safetensors({"one": ("F32", [2, 3], one.tobytes()), "two": ("F32", [4], two.tobytes())}), ["one", "two"]),
        (gguf(), ["w"]),
    ):
        found = content_of(data, tmp_path)
        assert [tensor.name for tensor in found.tensors] == names
        tensor = found.tensors[0]
        layout = tensor_layout(tensor)
        np.testing.assert_array_equal(layout.of(data[tensor.start : tensor.stop]), one)


def test_what_a_format_states_comes_first() -> None:
    with shardcore.open(SAMPLES / "bloscpack" / "array.blp") as shard:
        found = shardcore.content(shard, "all")
        assert found.layout.shape == (58, 64)
        np.testing.assert_array_equal(shard.array("all"), found.array)
        chunk = shardcore.content(shard, "0")
        np.testing.assert_array_equal(chunk.array, found.array[:20])
        last = shardcore.content(shard, "2")
        assert last.layout.begin == (40, 0)
        np.testing.assert_array_equal(last.array, found.array[40:])


@pytest.mark.parametrize("level", [0, 5])
def test_an_element_is_in_its_block(level: int, tmp_path: Path) -> None:
    """The location is the byte itself where the chunk is not compressed."""
    array = np.arange(30_000, dtype="<i4").reshape(300, 100)
    path = tmp_path / "a.blp"
    (tmp_path / "a.npy").write_bytes(npy(array))
    options = ["-O", f"level={level}", "-O", "chunk_size=40000", "-O", "checksum=None"]
    assert run(["pack", "bloscpack", str(path), str(tmp_path / "a.npy"), *options]) == 0
    for key in ("1", "all"):
        with shardcore.open(path) as shard:
            ref = shard.find(key)
            parts = shard.content_parts(ref)
            assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
            assert (parts[0].start, parts[-1].stop) == (0, ref.size)
            layout = shard.arrays.array_layout(ref)
            span = shardcore.content_span(shard, ref, *layout.bytes_of((70, 3)))
            before = shard.array(ref)
        assert (span.size == 4) == (level == 0 and key == "1")
        if span.size == 4:
            data = bytearray(path.read_bytes())
            data[span.start : span.stop] = np.int32(-1).tobytes()
            changed = tmp_path / "b.blp"
            changed.write_bytes(data)
            with shardcore.open(changed) as shard:
                after = shard.array(key)
            assert np.argwhere(after != before).tolist() == [[70, 3]]


def test_large_arrays_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in (("neuroglancer/segmentation/16_16_16", "0"), ("bloscpack/array.blp", "all")):
        with shardcore.open(SAMPLES / name) as shard:
            ref, size = shard.find(key), shard.array(key).nbytes
            assert shard.array(ref, limit=size).nbytes == size
            told = f"array of {size:,} bytes; the limit is {size - 1:,}"
            with monkeypatch.context() as patch, pytest.raises(shardcore.LimitExceeded, match=told):
                patch.setattr(shardcore.Shard, "read", None)
                shard.array(ref, limit=size - 1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_of_a_large_array_the_first_elements_are_there(tmp_path: Path, order: str) -> None:
    whole = np.asarray(np.arange(10 * 6 * 8, dtype="<i4").reshape(10, 6, 8), order=order)  # type: ignore[call-overload]
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des") as writer:
        writer.add("a", npy(whole))
    with shardcore.open(path) as shard:
        found = shardcore.content(shard, "a", limit=128 + 3 * whole.nbytes // (10 if order == "C" else 8) + 5)
    assert not found.complete
    assert found.layout.shape == (10, 6, 8)
    part = whole[:3] if order == "C" else whole[..., :3]
    assert np.array_equal(found.array, part)
    assert found.read_layout.bytes_of((2, 5, 2)) == found.layout.bytes_of((2, 5, 2))


def test_all_members_of_a_gzip_file_are_one_content(tmp_path: Path) -> None:
    """An empty last member, as bgzip writes it, does not state the size."""
    found = content_of(gzip.compress(b"first\n") + gzip.compress(b"second\n"), tmp_path, "a.txt.gz")
    assert (found.inner.data, found.members[0].size) == (b"first\nsecond\n", 13)
    long = gzip.compress(bytes(2 << 20)) + gzip.compress(b"")
    found = content_of(long, tmp_path, "a.gz")
    assert found.members[0].size == -1


@pytest.mark.parametrize(("rank", "offset", "message"), [(9, 0, "has 9 axes"), (1, (1 << 64) - 32, "outside the file")])
def test_gguf_tensors_lie_in_a_file(tmp_path: Path, rank: int, offset: int, message: str) -> None:
    """A tensor with too many axes or beyond the file is none."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<I", rank)
    data = head + struct.pack(f"<{rank}Q", *[1] * rank) + struct.pack("<IQ", 0, offset)
    assert message in content_of(data, tmp_path).note
    assert isinstance(contents.content_of(data, size=-1), shardcore.BytesContent)


def test_metadata_is_json(tmp_path: Path) -> None:
    pair = struct.pack("<Q", 1) + b"n" + struct.pack("<If", 6, float("nan"))
    found = content_of(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + pair, tmp_path)
    assert found.to_json()["metadata"] == {"n": None}


def test_labels_have_the_colours_of_the_window() -> None:
    labels = np.array([[0, 7], [8, (1 << 64) - 1]], "<u8")
    layout = ArrayLayout(labels.dtype, labels.shape, "C", axes=("x", "y"))
    data = labels.tobytes()
    found = ArrayContent("", len(data), data, "", layout, "compressed_segmentation", 1)
    pixels = array_pixels(found).astype(int)
    argb = label_colours(labels.T).astype(int)
    assert (pixels @ (1 << 16, 1 << 8, 1) == argb & 0xFFFFFF).all()


def test_tensors_of_unknown_types_have_no_size(tmp_path: Path) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t"
    found = content_of(head + struct.pack("<IQIQ", 1, 1, 99, 0) + bytes(99), tmp_path)
    assert "unknown" in found.to_text()
    with pytest.raises(shardcore.Unsupported, match="type 99"):
        tensor_content(found.tensors[0], b"")
