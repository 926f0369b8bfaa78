"""Verification: what each depth finds in damaged and odd shards."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.codecs.decompress import decompress_many
from shardcore.errors import ShardError
from shardcore.formats.neuroglancer import file, index_levels
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.finding import ContentBudget, Report, Severity
from shardcore.model.span import Span
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def codes(report: Report) -> set[str]:
    """The codes of the findings without the format's name."""
    return {finding.code.removeprefix("neuroglancer.") for finding in report.findings}


def index(*rows: tuple[int, int, int]) -> bytes:
    """A minishard index of these deltas, gaps and sizes."""
    return struct.pack(f"<{3 * len(rows)}Q", *(row[column] for column in range(3) for row in rows))


def verified(data: bytes, spec: ShardingSpec, depth: str = "content") -> Report:
    """The report on a shard in memory."""
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        return shard.verify(depth)


def one_minishard(stored: bytes, *rows: tuple[int, int, int]) -> bytes:
    """A shard of one minishard: values, then its index."""
    body = index(*rows)
    return struct.pack("<2Q", len(stored), len(stored) + len(body)) + stored + body


ALONE = ShardingSpec(0, IDENTITY, 0, 0)


def test_sound_shards_have_no_findings() -> None:
    """A random shard of any writer's order is without findings."""
    dice = random.Random(1)
    for in_given_order in (False, True):
        rows = random_rows(dice.sample(range(10**9), 200), dice)
        spec = ShardingSpec(2, MURMUR, 4, 0, "gzip", "gzip")
        report = verified(build(spec, rows, in_given_order=in_given_order)["0.shard"], spec)
        assert report.findings == ()
        assert report.objects == 200


def test_values_that_share_bytes() -> None:
    """Two keys with the same bytes are a warning: every reader copes."""
    report = verified(one_minishard(b"abcdef", (1, 0, 4), (1, 2**64 - 2, 4)), ALONE)
    assert codes(report) == {"overlap"}
    assert report.ok


def test_values_inside_an_index() -> None:
    """A value that reaches into the index after it is a warning."""
    assert codes(verified(one_minishard(b"abcdef", (1, 0, 10)), ALONE)) == {"overlap"}


def test_ids_that_fall() -> None:
    """Ids in falling order are legal: a note."""
    report = verified(one_minishard(b"abcdef", (9, 0, 3), (2**64 - 4, 0, 3)), ALONE)
    assert "id-overflow" in codes(report)


def test_equal_ids_apart() -> None:
    """Equal ids are found although others stand between them."""
    report = verified(one_minishard(b"abcdef", (1, 0, 2), (4, 0, 2), (2**64 - 4, 0, 2)), ALONE)
    assert "duplicate-id" in codes(report)


def test_unlisted_bytes() -> None:
    """Bytes that nothing lists are a note."""
    report = verified(one_minishard(b"abcdef", (1, 0, 3)), ALONE)
    assert codes(report) == {"unlisted"}
    assert report.findings[0].severity is Severity.NOTE


def test_empty_shards() -> None:
    """A shard without keys is legal and noted."""
    report = verified(bytes(64), ShardingSpec(0, IDENTITY, 2, 0))
    assert codes(report) == {"empty"}
    assert report.objects == 0


def test_chunks_of_the_wrong_length(tmp_path: Path) -> None:
    """A raw chunk whose length is not that of its voxels is an error, compressed or not."""
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
    """Values that are no manifests, or whose fragments do not fit, are errors of a mesh shard."""
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
    """Unknown and missing members are warnings with their place in the info."""
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


@pytest.mark.parametrize("count", [1500])
def test_many_findings_are_counted(count: int) -> None:
    """Thousands of equal findings are listed up to a limit and counted."""
    body = index(*((1, 0, 2**40) for _ in range(count)))
    data = struct.pack("<2Q", 0, len(body)) + body
    report = verified(data, ALONE, "index")
    assert len(report.findings) <= 1002
    assert f"{count:,} keys in all" in report.findings[0].message


@pytest.mark.parametrize("count", [100, 1500, 2500])
def test_many_warnings_stay_warnings(tmp_path: Path, count: int) -> None:
    """A summary is as severe as what it sums up: however many keys have no cell, the shard is sound."""
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
    """Keys that only the older rule of power-of-two grids explains are said to be such."""
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


def test_depths_include_each_other() -> None:
    """What a depth finds, the deeper ones find too."""
    with shardcore.open(DATA / "hostile" / "self_overlap" / "0.shard") as shard:
        found = [codes(shard.verify(depth)) for depth in ("structure", "index", "content")]
        assert found[0] < found[1] <= found[2]


def test_shared_bombs_are_expanded_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of minishards that share one index which expands cost no more than the room that all of them have."""
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
    """A shard whose info is broken is guessed, and why the info was passed over is a warning."""
    shutil.copy(DATA / "bare_shard" / "0.shard", tmp_path)
    (tmp_path / "info").write_text(info if isinstance(info, str) else json.dumps(info))
    with shardcore.open(tmp_path / "0.shard") as shard:
        found = [f for f in shard.verify("structure").findings if f.code == "neuroglancer.info"]
        assert len(found) == 1
        assert found[0].severity is Severity.WARNING
        assert reason in found[0].message


def test_large_values_are_verified_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value longer than a block is decompressed while it is read; nothing larger than a block is held."""
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


def test_small_values_are_verified_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand small values are expanded in some batches, those of several keys once, a damaged one is found."""
    values = [gzip.compress(b"value %d" % number, mtime=0) for number in range(1000)]
    values[500] = values[500][:-8] + bytes(8)
    rows = [(1, 0, len(value)) for value in values] + [(1, 2**64 - len(values[-1]), len(values[-1]))]
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    calls: list[int] = []

    def counted(codec: str, payloads: Sequence[bytes], place: Callable[[int], Span]) -> list[bytes | ShardError]:
        calls.append(len(payloads))
        return decompress_many(codec, payloads, place)

    monkeypatch.setattr(file, "decompress_many", counted)
    with shardcore.open(BytesSource(one_minishard(b"".join(values), *rows)), spec=spec.to_json()) as shard:
        report = shard.verify()
    assert sum(calls) == 1000
    assert len(calls) <= 3
    assert codes(report) == {"value", "overlap"}
