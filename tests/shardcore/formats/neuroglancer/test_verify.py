"""Verification: findings of each depth, and contents that are checked."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import DracoPy
import numpy as np
import pytest

import shardcore
from shardcore import FormatError, PackageMissing, Severity
from shardcore.cli import program
from shardcore.codecs.decoder_process import IsolatedDecoder, run_task
from shardcore.formats.neuroglancer import file, index
from shardcore.formats.neuroglancer.layout import MeshManifest
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from shardcore.model.finding import ContentBudget, Report
from shardcore.sources.memory import BytesSource
from tests.samples.shapes import write_manifest
from tests.shardcore.formats.neuroglancer.made import build
from tests.volumes import scale_of, write_info

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def codes(report: Report) -> set[str]:
    return {finding.code.removeprefix("neuroglancer.") for finding in report.findings}


def verified(data: bytes, spec: ShardingSpec) -> Report:
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        return shard.verify()


def one_minishard(stored: bytes, *rows: tuple[int, int, int]) -> bytes:
    body = np.array([[number % 2**64 for number in row] for row in rows], "<u8").T.tobytes()
    return struct.pack("<2Q", len(stored), len(stored) + len(body)) + stored + body


ALONE = ShardingSpec(0, IDENTITY, 0, 0)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([(1, 0, 3)], {"unlisted"}),
        ([(1, 0, 10)], {"overlap"}),
        ([(1, 0, 4), (1, 2**64 - 2, 4)], {"overlap"}),
        ([(9, 0, 3), (2**64 - 4, 0, 3)], {"id-overflow"}),
        ([(1, 0, 2), (4, 0, 2), (2**64 - 4, 0, 2)], {"id-overflow", "duplicate-id"}),
    ],
)
def test_oddities_of_an_index(rows: list[tuple[int, int, int]], found: set[str]) -> None:
    report = verified(bytes(64), ShardingSpec(0, IDENTITY, 2, 0))
    assert (codes(report), report.objects) == ({"empty"}, 0)
    report = verified(one_minishard(b"abcdef", *rows), ALONE)
    assert (codes(report), report.ok) == (found, "id-overflow" not in found)


@pytest.mark.parametrize("count", [100, 1500, 2500])
def test_many_warnings_stay_warnings(tmp_path: Path, count: int) -> None:
    write_info(tmp_path, "uint8", scale_of(np.zeros((2, 1, 1)), (1, 1, 1), "s", ALONE.to_json()) | {"encoding": "jpeg"})
    (tmp_path / "s").mkdir()
    rows = [(key, b"v") for key in range(4, 4 + count)]
    (tmp_path / "s" / "0.shard").write_bytes(build(ALONE, rows)["0.shard"])
    with shardcore.open(tmp_path / "s" / "0.shard") as shard:
        report = shard.verify()
    assert report.ok
    assert {finding.severity for finding in report.findings} == {Severity.WARNING}
    assert any(f"{count:,} keys in all" in finding.message for finding in report.findings) == (count > 1000)


def test_codes_by_the_older_rule(tmp_path: Path) -> None:
    """The older rule takes grids of powers of two."""
    write_info(tmp_path, "uint8", scale_of(np.zeros((4, 4, 1)), (1, 1, 1), "s", ALONE.to_json()))
    (tmp_path / "s").mkdir()
    old = [encode((x, y, 0), (5, 5, 2)) for x in range(4) for y in range(4)]
    (tmp_path / "s" / "0.shard").write_bytes(build(ALONE, [(key, b"v") for key in old])["0.shard"])
    with shardcore.open(tmp_path / "s" / "0.shard") as shard:
        assert codes(shard.verify()) == {"no-cell", "older-codes"}


def test_shared_bombs_are_expanded_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded: list[int] = []
    real = index.decompress

    def counting(codec: str, data: bytes, **options: Any) -> bytes:
        expanded.append(options["limit"])
        return real(codec, data, **options)

    monkeypatch.setattr(index, "decompress", counting)
    monkeypatch.setattr(index, "TOTAL_FLOOR", 1 << 20)
    stored = gzip.compress(bytes(24 * 12_000))
    spec = ShardingSpec(0, IDENTITY, 12, 0, "gzip")
    data = struct.pack("<2Q", 0, len(stored)) * 4096 + stored
    tracemalloc.start()
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        shard.load_index()
        assert shard.verify("structure").findings
        assert len(expanded) < 20
        _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20


@pytest.mark.parametrize(
    ("sample", "info", "reason"),
    [
        ("identity_raw", {"sharding": {"note": "mine"}}, "note"),
        ("bare_shard", {"sharding": {"@type": "neuroglancer_uint64_sharded_v1"}}, "hash"),
        ("bare_shard", {"sharding": 5}, "sharding"),
        ("bare_shard", "{", "JSON"),
    ],
)
def test_an_info_that_does_not_serve_is_told(sample: str, info: Any, reason: str, tmp_path: Path) -> None:
    shutil.copy(DATA / sample / "0.shard", tmp_path)
    if sample == "identity_raw":
        info["sharding"] |= json.loads((DATA / sample / "info").read_text())["sharding"]
    if isinstance(info, dict):
        info = json.dumps({"@type": "neuroglancer_skeletons", **info})
    (tmp_path / "info").write_text(info)
    with shardcore.open(tmp_path / "0.shard") as shard:
        (found,) = [f for f in shard.verify("structure").findings if f.code == "neuroglancer.info"]
        assert (found.severity, bool(found.span)) == (Severity.WARNING, sample == "identity_raw")
        assert reason in found.message


def test_large_values_are_verified_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "SIZES_BLOCK", 1000)
    monkeypatch.setattr(file, "SMALL", 100)
    values = [gzip.compress(random.Random(1).randbytes(5000)), gzip.compress(b"short" * 30)]
    rows = [(1, 0, len(values[0])), (1, 0, len(values[1]))]
    source = BytesSource(one_minishard(b"".join(values), *rows))
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        held: list[int] = []
        read = shard.file.source.read

        def counted(start: int, stop: int) -> bytes:
            held.append(stop - start)
            return read(start, stop)

        monkeypatch.setattr(shard.file.source, "read", counted)
        found = [value for _, value in shard.file.checked_contents(ContentBudget(1 << 20))]
        assert found == [5000, b"short" * 30]
        assert max(held) <= 1000


def test_overlapping_values_are_read_once_and_only_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    source = BytesSource(one_minishard(bytes(150_000), *((1, 1 - 99_000 if n else 0, 99_000) for n in range(50))))
    with shardcore.open(source, spec=replace(ALONE, data_encoding="gzip").to_json()) as shard:
        shard.load_index()
        read: list[int] = []
        read_many = shard.file.source.read_many

        def counted(ranges: list[tuple[int, int]]) -> list[bytes]:
            read.extend(stop - start for start, stop in ranges)
            return read_many(ranges)

        monkeypatch.setattr(shard.file.source, "read_many", counted)
        work = ContentBudget(source.size)
        assert all(isinstance(value, FormatError) for _, value in shard.file.checked_contents(work))
        assert read.pop() == 99_049
        work.spend(work.left)
        assert [value for _, value in shard.file.checked_contents(work)] == [None] * 50
        assert (work.unchecked, read) == (50, [])


def test_shared_values_are_decoded_within_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.model.budget.WORK_FLOOR", 1 << 20)
    stored = gzip.compress(struct.pack("<2I", 10_000, 0) + bytes(120_000))
    rows = [(1, -len(stored) if n else 0, len(stored)) for n in range(100)]
    spec = replace(ALONE, data_encoding="gzip").to_json()
    (tmp_path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))
    (tmp_path / "0.shard").write_bytes(one_minishard(stored, *rows))
    with shardcore.open(tmp_path / "0.shard") as shard:
        assert 50 < shard.verify().left_out < 100


CASES = Path(__file__).parents[3] / "data" / "cases"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "neuroglancer"
MESHES = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10, "lod_scale_multiplier": 1}
CORNERS = np.array([[0, 0, 0], [1023, 0, 0], [0, 1023, 0], [0, 0, 1023]], np.int32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.uint32)


def findings_of(path: Path) -> list[tuple[Severity, str, str | None, int]]:
    with shardcore.open(path) as shard:
        return [
            (one.severity, one.code.removeprefix("neuroglancer."), one.key, one.span.start if one.span else -1)
            for one in shard.verify().findings
        ]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("01-*/badfrag", [("error", "content", "7", 32)]),
        ("01-*/declared_missing", [("error", "content", "1", 16)]),
        ("01-*/badlen", [("error", "content", "1", 16)]),
        ("01-*/unpadded/by_id", [("error", "content", "10", 16)]),
        ("01-*/x_png/s0", [("error", "content", "0", 16)]),
        ("01-*/x_cseg/s0", [("error", "content", "0", 20)]),
        ("09-*/short_upper", [("warning", "info", None, -1), ("error", "chunk-size", "0", 16)]),
        ("09-*/upper_enc", [("warning", "info", None, -1)]),
        ("09-*/upper_dt", [("warning", "info", None, -1)]),
        ("13-*/zorder", [("warning", "mesh", "5", 266)]),
        ("13-*/bits12", [("error", "mesh-info", None, 0)]),
        ("13-*/ng291_start", [("error", "manifest", "200", 32), ("error", "manifest", "201", 382)]),
    ],
)
def test_cases_from_the_field(case: str, expected: list[tuple[str, str, str | None, int]]) -> None:
    (folder,) = CASES.glob(case)
    assert findings_of(folder) == [(Severity(severity), *rest) for severity, *rest in expected]


@pytest.mark.parametrize("name", ["upper_enc", "upper_dt"])
def test_names_in_capitals_are_read(name: str) -> None:
    (folder,) = CASES.glob(f"09-*/{name}")
    with shardcore.open(folder) as shard:
        found = shardcore.content(shard, 0)
        assert (found.array.shape, found.array.dtype) == ((8, 8, 8, 1), np.uint8)


def test_encodings_of_a_sharding_object_in_capitals() -> None:
    members = ALONE.to_json() | {"data_encoding": "GZIP"}
    assert ShardingSpec.parse(members).data_encoding == "gzip"
    with pytest.raises(FormatError, match="GZIP"):
        ShardingSpec.parse(members, strict=True)


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
def test_a_draco_value_without_a_manifest_is_a_mesh(tmp_path: Path, encoding: str) -> None:
    (path,) = CASES.glob("14-*/*.shard")
    with shardcore.open(path) as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        value = shard.read(shard.find(keys[0]))
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", encoding)
    (tmp_path / "0.shard").write_bytes(build(spec, [(int(keys[0]), value)])["0.shard"])
    for where, options in ((path, {}), (tmp_path / "0.shard", {"spec": spec.to_json()})):
        with shardcore.open(where, **options) as shard:
            found = shardcore.content(shard, keys[0])
            assert (len(found.vertices), len(found.triangles)) == (8, 12)
            assert found.bounds() == ((1000, 1000, 1000), (1500, 1500, 1500))


def fragment(points: Any, **options: Any) -> bytes:
    return bytes(DracoPy.encode(points, FACES, **options))


def meshes(folder: Path, fragments: list[bytes], cells: list[tuple[int, int, int]]) -> Path:
    manifest = MeshManifest(
        (64.0,) * 3, (0.0,) * 3, np.ones(1, np.float32), np.zeros((1, 3), np.float32),
        (np.array(cells, np.uint32).T,), (np.array(list(map(len, fragments)), np.uint32),),
    )  # fmt: skip
    spec = MESHES | {"sharding": ALONE.to_json()}
    with shardcore.create(folder, format="neuroglancer", folder=True, spec=spec) as writer:
        writer.add("5", write_manifest(manifest), parts={"fragments": b"".join(fragments)})
    return folder


IN_RANGE = {"quantization_bits": 10, "quantization_range": 1023, "quantization_origin": [0.0] * 3}


@pytest.mark.parametrize(
    ("points", "options", "cells", "words"),
    [
        (CORNERS, {}, [(0, 0, 0), (1, 0, 0)], []),
        (CORNERS.astype(np.float32), IN_RANGE, [(0, 0, 0), (1, 0, 0)], []),
        (CORNERS, {}, [(1, 0, 0), (0, 0, 0)], ["Z-curve"]),
        (CORNERS, {}, [(0, 0, 1), (7, 7, 0)], []),
        (CORNERS, {}, [(3, 1, 0), (3, 1, 0)], ["is repeated"]),
        (CORNERS * 2, {}, [(0, 0, 0)], ["2046"]),
        (CORNERS.astype(np.float32), {"quantization_bits": 14}, [(0, 0, 0)], ["14 bits"]),
    ],
)
def test_rules_of_meshes(
    tmp_path: Path, points: Any, options: Any, cells: list[tuple[int, int, int]], words: list[str]
) -> None:
    """Cells in Z order, each once; vertices in the range of the info, quantised by Draco to the same bits."""
    folder = meshes(tmp_path / "set", [fragment(points, **options)] * len(cells), cells)
    with shardcore.open(folder) as shard:
        found = shard.verify().findings
    assert [one.severity for one in found] == [Severity.WARNING] * len(words)
    assert all(word in one.message for word, one in zip(words, found, strict=True))


def test_bytes_behind_a_skeleton_are_noted(tmp_path: Path) -> None:
    value = struct.pack("<2I6f2I", 2, 1, *range(6), 0, 1) + b"more"
    (tmp_path / "0.shard").write_bytes(build(ALONE, [(1, value)])["0.shard"])
    (tmp_path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": ALONE.to_json()}))
    assert findings_of(tmp_path) == [(Severity.NOTE, "trailing", "1", 16)]
    with shardcore.open(tmp_path) as shard:
        found = shardcore.content(shard, 1)
        assert len(found.points()) == 2


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(struct.pack("<2I", 1000, 1) + bytes(12_000) + b"\xff" * 8, "error"), (bytes(20_000), "note")],
)
def test_a_value_above_the_limit_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: bytes, meaning: str
) -> None:
    monkeypatch.setattr("shardcore.formats.neuroglancer.verify.ENCODED", 64)
    for encoding, left_out in (("gzip", 1), ("raw", 0)):
        folder = tmp_path / encoding
        folder.mkdir()
        spec = replace(ALONE, data_encoding=encoding)
        (folder / "0.shard").write_bytes(build(spec, [(1, value)])["0.shard"])
        (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec.to_json()}))
        with shardcore.open(folder) as shard:
            report = shard.verify()
            assert (report.ok, report.left_out) == (not left_out and meaning == "note", left_out)
            with shardcore.allowing(0):
                found = shard.verify()
        assert ([one.severity.value for one in found.findings], found.left_out) == ([meaning], 0)
        assert program.run(["verify", str(folder)]) == (0 if report.ok else 1)


def test_a_level_above_the_limit_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.codecs.draco.MOST_TRIANGLES", 5)
    with shardcore.open(meshes(tmp_path / "set", [fragment(CORNERS)] * 2, [(0, 0, 0), (1, 0, 0)])) as shard:
        report = shard.verify()
        assert ([one.key for one in report.findings], report.left_out, report.ok) == (["5"], 1, False)
        with shardcore.allowing(0):
            assert shard.verify().ok


@pytest.mark.parametrize("encoding", ["png", "jpeg", "jxl"])
def test_missing_decoders_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 1)
    scale = scale_of(np.zeros((4, 2, 2)), (2, 2, 2), "s", spec.to_json()) | {"encoding": encoding}
    write_info(tmp_path, "uint8", scale)
    head = {
        "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\4\x08\0",
        "jpeg": b"\xff\xd8\xff\xc0\0\x11\x08\0\4\0\2\1",
    }
    (tmp_path / "s").mkdir()
    for name, data in build(spec, [(key, head.get(encoding, b"") + bytes(20)) for key in (0, 1)]).items():
        (tmp_path / "s" / name).write_bytes(data)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert findings_of(tmp_path) == [(Severity.NOTE, "unchecked", None, -1)]
    expected = FormatError if encoding == "jxl" else PackageMissing
    with shardcore.open(tmp_path) as shard, pytest.raises(expected) as caught:
        shard.array(0)
    assert ("[decoders]" in str(caught.value)) == (encoding != "jxl")


def test_a_picture_of_a_mesh_needs_its_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    with shardcore.open(SAMPLES / "segmentation" / "mesh") as shard:
        assert "[decoders]" in shardcore.content(shard, 42).note
        with pytest.raises(PackageMissing):
            shardcore.content(shard, 42, strict=True)
        assert [one.code for one in shard.verify().findings] == ["neuroglancer.unchecked"]
        assert shard.verify().ok


def test_contents_are_decoded_while_they_are_compressed(tmp_path: Path) -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    fine, short = struct.pack("<2I3f", 1, 0, 1, 2, 3), b"short"
    data = bytearray(build(spec, [(1, fine), (2, short), (3, fine)])["0.shard"])
    at = data.rindex(gzip.compress(fine, mtime=0))
    data[at + 12] ^= 0xFF
    (tmp_path / "0.shard").write_bytes(data)
    (tmp_path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec.to_json()}))
    assert [one[:3] for one in sorted(findings_of(tmp_path), key=lambda one: one[2] or "")] == [
        (Severity.ERROR, "content", "2"), (Severity.ERROR, "value", "3"),
    ]  # fmt: skip


def test_verify_decodes_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[str] = []

    def run(decoder: IsolatedDecoder, task: str, *arguments: Any, **named: Any) -> Any:
        tasks.append(task)
        return run_task(task, *arguments, **named)

    monkeypatch.setattr(IsolatedDecoder, "run", run)
    folder = SAMPLES / "segmentation" / "mesh"
    assert program.run(["verify", str(folder)]) == 0
    once = len(tasks)
    with shardcore.open(folder, isolated=True) as shard:
        assert shard.verify().ok
    assert (set(tasks), len(tasks)) == ({"draco"}, 2 * once)
