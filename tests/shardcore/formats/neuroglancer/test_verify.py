"""Verification: what each depth finds in damaged and odd shards."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.formats.neuroglancer import file, index_levels
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.finding import ContentBudget, Report, Severity
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def codes(report: Report) -> set[str]:
    return {finding.code.removeprefix("neuroglancer.") for finding in report.findings}


def index(*rows: tuple[int, int, int]) -> bytes:
    return struct.pack(f"<{3 * len(rows)}Q", *(row[column] for column in range(3) for row in rows))


def verified(data: bytes, spec: ShardingSpec, depth: str = "content") -> Report:
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        return shard.verify(depth)


def one_minishard(stored: bytes, *rows: tuple[int, int, int]) -> bytes:
    body = index(*rows)
    return struct.pack("<2Q", len(stored), len(stored) + len(body)) + stored + body


ALONE = ShardingSpec(0, IDENTITY, 0, 0)


def test_sound_shards_have_no_findings() -> None:
    dice = random.Random(1)
    for in_given_order in (False, True):
        rows = random_rows(dice.sample(range(10**9), 200), dice)
        spec = ShardingSpec(2, MURMUR, 4, 0, "gzip", "gzip")
        report = verified(build(spec, rows, in_given_order=in_given_order)["0.shard"], spec)
        assert report.findings == ()
        assert report.objects == 200


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
    report = verified(one_minishard(b"abcdef", *rows), ALONE)
    assert codes(report) == found
    assert report.ok == ("id-overflow" not in found)


def test_empty_shards() -> None:
    report = verified(bytes(64), ShardingSpec(0, IDENTITY, 2, 0))
    assert codes(report) == {"empty"}
    assert report.objects == 0


def test_chunks_of_the_wrong_length(tmp_path: Path) -> None:
    for folder in ("4_4_40", "8_8_80"):
        shutil.copytree(DATA / "volume" / folder, tmp_path / folder)
    info = json.loads((DATA / "volume" / "info").read_text()) | {"data_type": "uint16"}
    (tmp_path / "info").write_text(json.dumps(info))
    for folder in ("4_4_40", "8_8_80"):
        with shardcore.open(tmp_path / folder / "0.shard") as shard:
            assert shard.verify("index").ok
            report = shard.verify()
            assert codes(report) == {"chunk-size"}
            assert len(report.findings) == len(shard.objects)


def test_manifests_that_are_none(tmp_path: Path) -> None:
    spec = json.loads((DATA / "mesh" / "info").read_text())["sharding"]
    info = json.loads((DATA / "mesh" / "info").read_text()) | {"sharding": spec}
    rows = random_rows([1, 2, 3], random.Random(3))
    for name, data in build(ShardingSpec.parse(spec), rows).items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path) as found:
        assert found.verify("index").ok
        report = found.verify()
        assert codes(report) == {"manifest"}
        assert sorted(finding.key or "" for finding in report.findings) == ["1", "2", "3"]


def test_infos_that_strict_readers_refuse(tmp_path: Path) -> None:
    shutil.copytree(DATA / "identity_raw", tmp_path / "set")
    info = json.loads((DATA / "identity_raw" / "info").read_text())
    info["sharding"] |= {"note": "mine"}
    (tmp_path / "set" / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path / "set" / "0.shard") as shard:
        report = shard.verify("structure")
        assert report.ok
        assert codes(report) == {"info"}
        assert report.findings[0].span is not None
        assert report.findings[0].span.source == "info"


@pytest.mark.parametrize("count", [100, 1500, 2500])
def test_many_warnings_stay_warnings(tmp_path: Path, count: int) -> None:
    scale = {"key": "s", "size": [2, 1, 1], "chunk_sizes": [[1, 1, 1]], "encoding": "jpeg", "sharding": ALONE.to_json()}
    info = {"@type": "neuroglancer_multiscale_volume", "data_type": "uint8", "num_channels": 1, "scales": [scale]}
    (tmp_path / "info").write_text(json.dumps(info))
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
    sharding = ALONE.to_json()
    scale = {"key": "s", "size": [4, 4, 1], "chunk_sizes": [[1, 1, 1]], "encoding": "raw", "sharding": sharding}
    info = {"@type": "neuroglancer_multiscale_volume", "data_type": "uint8", "num_channels": 1, "scales": [scale]}
    (tmp_path / "info").write_text(json.dumps(info))
    (tmp_path / "s").mkdir()
    old = [encode((x, y, 0), (5, 5, 2)) for x in range(4) for y in range(4)]
    assert max(old) >= 16
    data = build(ALONE, [(key, b"v") for key in old])["0.shard"]
    (tmp_path / "s" / "0.shard").write_bytes(data)
    with shardcore.open(tmp_path / "s" / "0.shard") as shard:
        assert codes(shard.verify()) == {"no-cell", "older-codes"}


def test_shared_bombs_are_expanded_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded: list[int] = []
    real = index_levels.decompress

    def counting(codec: str, data: bytes, **options: Any) -> bytes:
        expanded.append(options["limit"])
        return real(codec, data, **options)

    monkeypatch.setattr(index_levels, "decompress", counting)
    monkeypatch.setattr(index_levels, "TOTAL_FLOOR", 1 << 20)
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
    ("info", "reason"),
    [
        ({"@type": "neuroglancer_skeletons", "sharding": {"@type": "neuroglancer_uint64_sharded_v1"}}, "hash"),
        ({"@type": "neuroglancer_skeletons", "sharding": 5}, "sharding"),
        ("{", "JSON"),
    ],
)
def test_an_info_that_does_not_serve_is_told(info: object, reason: str, tmp_path: Path) -> None:
    shutil.copy(DATA / "bare_shard" / "0.shard", tmp_path)
    (tmp_path / "info").write_text(info if isinstance(info, str) else json.dumps(info))
    with shardcore.open(tmp_path / "0.shard") as shard:
        found = [f for f in shard.verify("structure").findings if f.code == "neuroglancer.info"]
        assert len(found) == 1
        assert found[0].severity is Severity.WARNING
        assert reason in found[0].message


def test_large_values_are_verified_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "SIZES_BLOCK", 1000)
    values = [gzip.compress(random.Random(1).randbytes(5000)), gzip.compress(b"short" * 30)]
    rows = [(1, 0, len(values[0])), (1, 0, len(values[1]))]
    source = BytesSource(one_minishard(b"".join(values), *rows))
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        assert isinstance(shard, NeuroglancerShard)
        held: list[int] = []
        read = shard.file.source.read

        def counted(start: int, stop: int) -> bytes:
            held.append(stop - start)
            return read(start, stop)

        monkeypatch.setattr(shard.file.source, "read", counted)
        assert [size for _, size in shard.file.content_sizes(ContentBudget(1 << 20))] == [5000, 150]
        assert max(held) <= 1000
