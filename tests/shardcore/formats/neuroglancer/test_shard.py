"""Shards: specification, bytes, ranges read, lookups."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, UsageError
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.objects import State
from shardcore.model.span import Span
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource, check_explained, check_tiling
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
SPEC = ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("skeletons_murmur_gzip/0.shard", "info in the same folder, skeletons"),
        ("mesh/1.shard", "info in the same folder, meshes"),
        ("volume/8_8_80/0.shard", "info in a parent folder, scale 8_8_80"),
        ("legacy_pair/1.data", "info in the same folder, skeletons"),
        ("bare_shard/0.shard", "inferred, 3 of 3 checks"),
    ],
)
def test_detection_says_why(path: str, why: str) -> None:
    assert shardcore.detect(DATA / path) == shardcore.Detection("neuroglancer", why)
    with shardcore.open(DATA / path) as shard:
        assert shard.why == why


@pytest.mark.parametrize("form", ["mapping", "text", "file", "info"])
def test_a_given_specification(tmp_path: Path, form: str) -> None:
    path = tmp_path / "renamed.bin"
    shutil.copy(DATA / "bare_shard" / "0.shard", path)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC.to_json()))
    forms = {
        "mapping": SPEC.to_json(), "text": json.dumps(SPEC.to_json()), "file": tmp_path / "spec.json",
        "info": {"@type": "neuroglancer_skeletons", "sharding": SPEC.to_json()},
    }  # fmt: skip
    with shardcore.open(path, spec=forms[form]) as shard:
        assert (shard.spec, shard.origin.inference, len(shard.objects)) == (SPEC, None, 50)


@pytest.mark.parametrize("spec", ["{", "{}", "[]", 7, {"hash": "identity"}, {"scales": []}, '{"@type": "x"}'])
def test_a_specification_that_is_none(spec: Any) -> None:
    with pytest.raises((UsageError, SourceError)):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=spec)


def test_a_given_info_of_several_key_spaces() -> None:
    info = (DATA / "volume" / "info").read_text()
    with shardcore.open(DATA / "volume" / "8_8_80" / "0.shard", spec=info) as shard:
        assert shard.origin.space.name == "scale 8_8_80"
    with pytest.raises(UsageError, match="choose one"):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=info)


def test_the_guess_names_evidence_and_what_is_open(tmp_path: Path) -> None:
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([5, 7, 9], random.Random(2)))
    (tmp_path / "0.shard").write_bytes(files["0.shard"])
    with shardcore.open(tmp_path / "0.shard") as shard:
        assert shard.fields["spec.evidence"]
        assert shard.fields["spec.open"]
        notes = {finding.code for finding in shard.verify().findings}
        assert notes == {"neuroglancer.inferred", "neuroglancer.open"}


def test_a_guess_that_does_not_fit_is_refused_unless_forced(tmp_path: Path) -> None:
    spec = ShardingSpec(0, MURMUR, 3, 0)
    rows = random_rows(random.Random(4).sample(range(10**9), 200), random.Random(4))
    data = bytearray(build(spec, rows)["0.shard"])
    data[:128] = data[16:128] + data[:16]  # every minishard gets the index of the next one
    (tmp_path / "0.shard").write_bytes(data)
    with pytest.raises(NotAShard) as caught:
        shardcore.open(tmp_path / "0.shard")
    assert any("hash" in line for line in caught.value.candidates)
    with shardcore.open(tmp_path / "0.shard", format="neuroglancer") as shard:
        assert len(shard.objects) == 200


def test_a_bare_mesh_shard_is_recognised(tmp_path: Path) -> None:
    shutil.copy(DATA / "mesh" / "0.shard", tmp_path / "0.shard")
    with shardcore.open(tmp_path / "0.shard") as shard, shardcore.open(DATA / "mesh" / "0.shard") as known:
        key = known.objects.keys[0]
        assert key is not None
        assert shard.find(key).parts == ("fragments",)
        assert shard.read_part(shard.find(key), "fragments") == known.read_part(known.find(key), "fragments")


@pytest.mark.parametrize(
    ("offset", "name", "text"),
    [(8, "end_offset", "0x37"), (33, "skeleton 1", "3 bytes"), (47, "[1]", "key 9"), (63, "[1]", "at 0x23")],
)
def test_bytes_of_the_worked_example(offset: int, name: str, text: str) -> None:
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        shard.load_index()
        leaf = shard.explain(offset)[-1]
        assert (leaf.name, leaf.text) == (name, text)


def test_compressed_indices_are_sources_of_their_own() -> None:
    with shardcore.open(DATA / "skeletons_murmur_gzip" / "0.shard") as shard:
        shard.load_index()
        nodes = [node for section in shard.tree.children[2:] for node in section.children]
        index = next(node for node in nodes if node.name.startswith("minishard index"))
        source = shard.bytes_of(index.decoded)
        assert source.size % 24 == 0
        assert [s.name for s in shard.sections_of(index.decoded)] == ["chunk_ids", "offsets", "sizes"]
        assert shard.explain(0, index.decoded)[-1].text.startswith("key ")
        check_explained(shard, index.decoded)
        value = next(node for node in nodes if node.name.startswith("skeleton"))
        key = value.name.removeprefix("skeleton ")
        data = shard.bytes_of(value.decoded)
        assert data.read(0, data.size) == shard.read(shard.find(key))
        with pytest.raises(UsageError):
            shard.bytes_of("@0-16")
        with pytest.raises(FormatError):
            shard.bytes_of(f"@{index.span.start + 1}-{index.span.stop}")


def test_unlisted_bytes_are_named(tmp_path: Path) -> None:
    data = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([1, 2, 3, 4], random.Random(3)))["0.shard"] + b"tail"
    (tmp_path / "0.shard").write_bytes(data)
    with shardcore.open(tmp_path / "0.shard") as shard:
        shard.load_index()
        assert shard.explain(len(data) - 1)[-1].name == "unlisted bytes"
        check_tiling(shard)
        check_explained(shard)
    with shardcore.open(DATA / "mesh" / "0.shard") as shard:
        shard.load_index()
        names = {shard.explain(offset)[2].name.split()[0] for offset in range(64, shard.source.size, 97)}
        assert names == {"fragments", "mesh", "minishard"}


def test_large_shard_indices_are_not_read_to_open() -> None:
    spec = ShardingSpec(0, MURMUR, 18, 0)
    rows = random_rows(random.Random(6).sample(range(2**60), 20), random.Random(6))
    source = CountingSource(build(spec, rows)["0.shard"], "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        assert sum(stop - start for start, stop in source.ranges) <= 65536
        for key, value in rows[:5]:
            source.ranges.clear()
            assert shard.read(shard.find(str(key))) == value
            assert len(source.ranges) <= 3
        shard.load_index()
        assert (len(shard.objects), shard.explain(0)[-1].name) == (20, "start_offset")
        check_tiling(shard)
    source = CountingSource((DATA / "bare_shard" / "0.shard").read_bytes(), "0.shard")
    with shardcore.open(source, spec=SPEC.to_json(), format="neuroglancer") as shard:
        source.ranges.clear()
        shard.load_index()
        assert len(source.ranges) == 1  # neighbouring indices are read at once


def test_ranges_of_values() -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0)
    source = CountingSource(build(spec, [(7, bytes(range(256)) * 100)])["0.shard"], "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        ref = shard.find("7")
        source.ranges.clear()
        assert shard.read_range(ref, 256, 260) == bytes([0, 1, 2, 3])
        assert sum(stop - start for start, stop in source.ranges) == 4
        assert shard.read_range(ref, 25_598, 10**12) == bytes([254, 255])
        for error, read in (
            (LimitExceeded, lambda: shard.read(ref, limit=100)),
            (LimitExceeded, lambda: shard.read_range(ref, 0, 200, limit=100)),
            (UsageError, lambda: shard.read_range(ref, 5, 4)),
            (UsageError, lambda: shard.read_part(ref, "fragments")),
        ):
            with pytest.raises(error):
                read()
        with pytest.raises(LimitExceeded, match="the range of 7 exceeds the limit of 1 byte") as caught:
            shard.read_range(ref, 0, 2, limit=1)
        assert caught.value.span == ref.spans[0]


def test_damaged_values_do_not_disturb_others() -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    data = bytearray(build(spec, [(1, b"one" * 50), (2, b"two" * 50), (3, b"three"), (4, b"")])["0.shard"])
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        span = shard.find("2").spans[0]
    data[span.stop - 6] ^= 255  # in the checksum of the member
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        with pytest.raises(FormatError):
            shard.read(shard.find("2"))
        assert shard.read(shard.find("1")) == b"one" * 50
        assert [finding.span for finding in shard.verify().findings] == [span]
        assert (shard.read(shard.find("4")), shard.objects.ref(3).size) == (b"", 0)
        four, two, three = shard.contents(np.array([3, 1, 2]))
        assert isinstance(two, FormatError)
        assert (two.span, three, four) == (span, b"three", b"")
        told = shard.trace("2")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values


def test_orders() -> None:
    with shardcore.open(DATA / "identity_raw" / "0.shard") as shard:
        columns, ids = shard.objects[:], np.array([int(key or 0) for key in shard.objects.keys])
        by_offset, by_size, by_key = (np.asarray(shard.objects.order(name)) for name in ("offset", "size", "key"))
        assert (np.diff(columns.start[by_offset]) >= 0).all()
        assert (np.diff(columns.stored_size[by_size]) >= 0).all()
        assert (np.diff(ids[by_key]) > 0).all()
        with pytest.raises(UsageError):
            shard.objects.order("colour")


def test_thousands_of_minishards_sharing_one_index_are_bounded() -> None:
    """The first are listed, the others are damaged, and memory stays small."""
    base = 16 << 12
    index = struct.pack("<3000Q", *([1] * 1000), *([0] * 1000), *([0] * 1000))
    data = struct.pack("<2Q", 0, len(index)) * (1 << 12) + index
    spec = ShardingSpec(0, IDENTITY, 12, 0)
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        assert shard.index_bytes <= len(data)
        states = shard.objects[:].state
        assert (states == State.DAMAGED).sum() > 4000
        assert len(states) < 30_000
        assert base + len(index) == len(data)
        assert not shard.verify("structure").ok


def test_split_form(tmp_path: Path) -> None:
    """Either part opens both, also without an info; offsets are those of the concatenation."""
    pair = DATA / "legacy_pair"
    for part in ("0.index", "0.data", "1.index", "1.data"):
        shutil.copy(pair / part, tmp_path / part)
    for name in ("0.index", "0.data", "1.data"):
        with shardcore.open(pair / name) as shard, shardcore.open(tmp_path / name) as bare:
            assert (shard.source.size, bare.spec, bare.why) == (
                sum(path.stat().st_size for path in pair.glob(f"{name[0]}.*")), shard.spec, "inferred, 3 of 3 checks",
            )  # fmt: skip
            assert list(bare.objects.keys) == list(shard.objects.keys)
            shard.load_index()
            check_explained(shard)
    shutil.copy(pair / "info", tmp_path / "info")
    (tmp_path / "0.index").write_bytes((pair / "0.index").read_bytes()[:32])
    (tmp_path / "1.data").unlink()
    for name, error in (("0.index", FormatError), ("1.index", SourceError)):
        with pytest.raises(error):
            shardcore.open(tmp_path / name)


def test_the_worked_example_step_by_step() -> None:
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        told = shard.trace("9")
    assert told.outcome == "found"
    values = [step.values for step in told.steps]
    spans = [step.spans for step in told.steps]
    assert (values[0]["hash"], values[0]["preshift_bits"]) == ("identity", 1)
    assert values[1] == {"key": "9", "shifted": "4"}
    assert (values[2]["hash"], values[2]["bits"][-3:]) == ("0x0000000000000004", "100")
    assert (values[2]["minishard_field"], values[2]["shard_field"]) == ([0, 1], [1, 2])
    assert values[3] == {"minishard": 0, "shard": 0, "file": "0.shard"}
    assert (spans[4], values[4]["start"], values[4]["stop"]) == ((Span("", 0, 16),), 39, 87)
    assert (spans[5], values[5]["keys"]) == ((Span("", 39, 87),), 2)
    assert (spans[6], values[6]["position"]) == ((Span("", 39, 55),), 1)
    assert (spans[7], values[7]) == ((Span("", 55, 71), Span("", 71, 87)), {"start": "35", "size": "4"})
    assert (spans[8], values[8]["size"]) == ((Span("", 35, 39),), 4)
    assert (values[8]["sha256"], len(told.steps)) == (hashlib.sha256(b"nine").hexdigest(), 10)


def test_codes_of_no_cell_are_told(tmp_path: Path) -> None:
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"][1]["size"] = [8, 8, 5]
    shutil.copytree(DATA / "volume" / "8_8_80", tmp_path / "8_8_80")
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path / "8_8_80" / "0.shard") as shard:
        told = shard.trace("1")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values
        assert "neuroglancer.no-cell" in {finding.code for finding in shard.verify("index").findings}


def test_parameters_open_the_shard_again() -> None:
    path = DATA / "bare_shard" / "0.shard"
    with shardcore.open(path) as guessed, shardcore.open(path, spec=guessed.parameters) as given:
        assert json.loads(guessed.parameters)["minishard_bits"] == 4
        assert (len(guessed.evidence), given.evidence, given.sharding.ambiguity) == (4, (), ())
        assert (given.parameters, given.objects.keys[:5]) == (guessed.parameters, guessed.objects.keys[:5])
