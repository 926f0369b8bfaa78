"""Writing neuroglancer shards and data sets."""

from __future__ import annotations

import io
import json
import random
import struct
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.formats.neuroglancer import space_values
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.operations.pack import pack
from shardcore.testing import WriterContract
from shardcore.testing.kill_runs import bytes_of
from shardcore.writing.output import Output
from shardcore.writing.writer import Writer
from tests.shardcore.formats.neuroglancer.made import manifest

FIXTURES = Path(__file__).parents[3] / "data" / "neuroglancer"


def test_pieces_are_not_larger_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_values, "PIECE", 100)
    spool = space_values.Spool(Output(tmp_path / "out"))
    data = random.Random(1).randbytes(1000)
    spool.write(data)
    ranges = [(900, 1000), (0, 250), (300, 340), (360, 400), (410, 450), (700, 900)]
    pieces = list(spool.pieces(*np.array(ranges).T))
    assert [*map(len, pieces)] == [100, 100, 100, 90, 80, 100, 100]
    assert b"".join(pieces) == b"".join(data[start:stop] for start, stop in ranges)


def spec(preshift: int, kind: str, minishard: int, shard: int, encodings: str = "raw") -> dict[str, Any]:
    return ShardingSpec(preshift, kind, minishard, shard, encodings, encodings).to_json()


class TestOneFile(WriterContract):
    format: ClassVar = "neuroglancer"
    options: ClassVar = {"spec": spec(1, "identity", 2, 0)}
    wrong_keys: ClassVar = ("", "x", "-1", "1.0", str(2**64), "0x", "1 ")

    def objects(self) -> list[tuple[str | None, bytes]]:
        keys = [7, 1, 2**64 - 1, 0, 12, 9, 3, 2**63, 64, 65]
        return [(str(key), bytes([row]) * (13 * row)) for row, key in enumerate(keys)]


class TestFolder(TestOneFile):
    """Several shards with gzip and an info, in cloud-volume's order; values are spilled into a temporary file."""

    suffix: ClassVar = "/"
    spec = spec(0, "murmurhash3_x86_128", 1, 2, "gzip")
    options: ClassVar = {"spec": spec, "order": "indices-last", "kind": "skeleton"}

    def objects(self) -> list[tuple[str | None, bytes]]:
        keys = [key for key, _ in super().objects()]
        return [(key, struct.pack("<2I", row, 0) + bytes([row]) * (12 * row)) for row, key in enumerate(keys)]

    def created(self, target: Path | None) -> Writer:
        writer = super().created(target)
        writer.spool.room = 40
        return writer

    def test_existing_files_are_not_replaced(self, tmp_path: Path) -> None:
        target = self.target(tmp_path)
        self.written(target)
        (target / "0.shard").write_bytes(b"precious")
        before = bytes_of(target)
        with pytest.raises(UsageError, match="exists already"), self.created(target) as writer:
            self.fill(writer)
        assert bytes_of(target) == before
        with shardcore.create(target, format=self.format, force=True, folder=True, **self.options) as writer:
            writer.add("1", b"alone")
        assert sorted(path.name for path in target.iterdir()) == ["1.shard", "info"]


PARTS = {5: (30,), 2: (10, 20), 9: (0, 4), 11: (), 1: (7,), 70: (1, 1, 1)}
"""Sizes of the fragments of some meshes."""


@pytest.mark.parametrize(("order", "kind"), [("by-minishard", "mesh"), ("indices-last", None)])
def test_fragments_lie_in_front_of_their_manifests(tmp_path: Path, order: str, kind: str | None) -> None:
    target = tmp_path / "meshes"
    with shardcore.create(target, format="neuroglancer", folder=True, order=order, kind=kind) as writer:
        for key, sizes in PARTS.items():
            writer.add(str(key), manifest(*sizes), parts={"fragments": io.BytesIO(bytes([key]) * sum(sizes))})
        plan = writer.plan()
    with shardcore.open(target / "0.shard", **writer.opening) as shard:
        shard.load_index()
        planned = plan.files[0]
        assert planned.sections == shard.sections
        for row, (key, sizes) in enumerate(PARTS.items()):
            ref = shard.find(str(key))
            assert shard.read(ref) == manifest(*sizes)
            assert shard.read_part(ref, "fragments") == bytes([key]) * sum(sizes)
            assert planned.objects.ref(row) == ref
        # These fragments are no Draco data.
        assert {one.code for one in shard.verify().findings} == {"neuroglancer.content"}
    assert [file.name for file in plan.files] == ["0.shard", "info"][: 1 if kind is None else 2]
    assert plan.content == sum(len(manifest(*sizes)) + sum(sizes) for sizes in PARTS.values())


def test_a_manifest_has_to_fit_its_fragments() -> None:
    with shardcore.create(None, format="neuroglancer", kind="mesh") as writer:
        for data, parts, why in (
            (manifest(7), {"fragments": b"six..."}, "7 bytes of fragments, but the fragments have 6"),
            (manifest(7), {}, "but the fragments have 0"),
            (b"no manifest", {}, "not a mesh manifest"),
        ):
            with pytest.raises(UsageError, match=f"in/5.index.*{why}"):
                writer.add("5", data, label="in/5.index", parts=parts)
        writer.add("5", manifest(7), parts={"fragments": b"seven.."})
        assert [len(file.objects) for file in writer.plan().files] == [1, 0]


@pytest.mark.parametrize(
    ("name", "order"), [("tiny_worked_example", "by-minishard"), ("tiny_worked_example_cv", "indices-last")]
)
def test_the_worked_example_byte_by_byte(tmp_path: Path, name: str, order: str) -> None:
    given = (FIXTURES / name / "info").read_text()
    with shardcore.create(tmp_path / "out", format="neuroglancer", folder=True, spec=given, order=order) as writer:
        for key, data in ((12, b"twelve"), (1, b"one"), (9, b"nine"), (3, b"three")):
            writer.add(str(key), data)
    for shard in ("0.shard", "1.shard"):
        assert (tmp_path / "out" / shard).read_bytes() == (FIXTURES / name / shard).read_bytes()
    assert json.loads((tmp_path / "out" / "info").read_text()) == json.loads(given)


def test_keys_of_several_shards_need_a_folder(tmp_path: Path) -> None:
    options = {"format": "neuroglancer", "spec": spec(1, "identity", 1, 1)}
    for name, keys, why in (
        ("out.bin", ["1", "3", "9", "12"], "2 shards; pass a folder as output"),
        ("0.shard", ["12"], r"belong in 1\.shard"),
    ):
        with pytest.raises(UsageError, match=why), shardcore.create(tmp_path / name, **options) as writer:
            writer.add_many(keys, [b""] * len(keys))
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "none.jsonl").touch()
    done = pack("neuroglancer", tmp_path / "e.shard", manifest=tmp_path / "none.jsonl")
    assert done.report.ok
    with shardcore.create(tmp_path / "1.shard", **options) as writer:
        writer.add("0xC", b"twelve")
    with shardcore.open(tmp_path / "1.shard", spec=options["spec"]) as shard:
        assert shard.read(shard.find("12")) == b"twelve"
        assert shard.verify().findings == ()


def test_what_is_suggested_is_explained_and_written(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "out", format="neuroglancer", folder=True, kind="skeleton") as writer:
        writer.add_many([str(key) for key in range(3000)], [b"%d" % key for key in range(3000)])
    found = json.loads((tmp_path / "out" / "info").read_text())["sharding"]
    assert found == spec(0, "murmurhash3_x86_128", 2, 0, "gzip")
    assert "750 per minishard" in writer.notes[0]
    with shardcore.open(tmp_path / "out") as opened:
        assert opened.read(opened.find("2999")) == b"2999"


def test_an_info_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "info").write_text("precious")
    for target in (tmp_path, tmp_path / "0.shard"):
        options = {"format": "neuroglancer", "folder": target.is_dir(), "spec": str(FIXTURES / "mesh" / "info")}
        with pytest.raises(UsageError, match="info exists already"):
            shardcore.create(target, **options)
    with shardcore.create(tmp_path / "0.shard", format="neuroglancer", kind="skeleton", info="no") as writer:
        writer.add("1", b"one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.shard", "info"]
    assert (tmp_path / "info").read_text() == "precious"
    with pytest.raises(UsageError, match=r"kind=skeleton, but .* mesh"):
        shardcore.create(None, format="neuroglancer", kind="skeleton", spec=str(FIXTURES / "mesh" / "info"))


def test_a_specification_that_cannot_be_written() -> None:
    for given, why in (
        ({"hash": "identity"}, "missing"),
        ({"@type": "neuroglancer_annotations_v1"}, "no usable key space"),
        (spec(0, "identity", 30, 0), "limit for writing is 24"),
        (spec(0, "identity", 3, 0) | {"hash": "md5"}, "hash must be"),
    ):
        with pytest.raises(UsageError, match=why):
            shardcore.create(None, format="neuroglancer", spec=given)


def test_neither_threads_nor_the_spool_change_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_values, "AT_ONCE", 1 << 20)
    data = random.Random(1).randbytes(300) * 20_000
    files = [tmp_path / name for name in ("kept.bin", "spilled.bin", "more.bin")]
    for path, room, jobs in zip(files, (1 << 30, 0, 0), (1, 3, 2), strict=True):
        with shardcore.create(path, format="neuroglancer", jobs=jobs) as writer:
            writer.spool.room = room
            for key in (50, 9, 30, 3, 45):
                writer.add(str(key), random.Random(key).randbytes(1000 * key))
            writer.add("1", data)
            writer.add("2", io.BytesIO(data))
        with shardcore.open(path, format="neuroglancer", **writer.opening) as shard:
            one, two = shard.find("1"), shard.find("2")
            assert one.stored_size == two.stored_size < len(data) / 20
            assert shard.read(one) == shard.read(two) == data
            assert shard["45"] == random.Random(45).randbytes(45_000)
    assert len({path.read_bytes() for path in files}) == 1


def test_annotations_whose_info_is_given(tmp_path: Path) -> None:
    found = {"key": "by_id", "sharding": spec(0, "murmurhash3_x86_128", 1, 1, "gzip")}
    info = {"@type": "neuroglancer_annotations_v1", "properties": [], "relationships": [], "by_id": found}
    with shardcore.create(tmp_path / "out", format="neuroglancer", folder=True, spec=info) as writer:
        writer.add_many([str(key) for key in range(9)], [b"annotation %d" % key for key in range(9)])
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.shard"))
    assert names == ["by_id/0.shard", "by_id/1.shard"]
    assert json.loads((tmp_path / "out" / "info").read_text()) == info
    with shardcore.open(tmp_path / "out") as opened:
        assert opened.read(opened.find("3")) == b"annotation 3"
        assert [one.code for one in opened.verify().findings] == ["neuroglancer.unchecked"]


def test_the_scale_of_an_info_is_written_alone(tmp_path: Path) -> None:
    scale = {"size": [9, 9, 9], "chunk_sizes": [[8, 8, 8]], "resolution": [1, 1, 1], "encoding": "raw"}
    scales = [scale | {"key": "plain"}, scale | {"key": "./deep//sharded/", "sharding": spec(0, "identity", 1, 0)}]
    info = {"@type": "neuroglancer_multiscale_volume", "data_type": "uint8", "num_channels": 1, "scales": scales}
    with shardcore.create(tmp_path / "out", format="neuroglancer", folder=True, spec=info) as writer:
        writer.add("7", b"x")
    assert json.loads((tmp_path / "out" / "info").read_text())["scales"] == scales[1:]
    with shardcore.open(tmp_path / "out") as opened:
        assert opened.read(opened.find("7")) == b"x"
