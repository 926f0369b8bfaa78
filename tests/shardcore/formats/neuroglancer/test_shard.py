"""How a shard finds its specification, what its bytes are, and how much is read for that."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, UsageError
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.objects import State
from shardcore.model.section import SectionRole
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource, FailingSource, check_explained, check_tiling
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
SPEC = ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")


def opened(path: Path, **options: Any) -> NeuroglancerShard:
    """A shard of this format."""
    shard = shardcore.open(path, **options)
    assert isinstance(shard, NeuroglancerShard)
    return shard


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("skeletons_murmur_gzip/0.shard", "info beside it, skeletons"),
        ("mesh/1.shard", "info beside it, meshes"),
        ("volume/8_8_80/0.shard", "info above it, scale 8_8_80"),
        ("legacy_pair/1.data", "info beside it, skeletons"),
        ("bare_shard/0.shard", "inferred, 3 of 3 checks"),
    ],
)
def test_detection_says_why(path: str, why: str) -> None:
    """A shard is known by the info beside or above it, else by inference, and says so."""
    assert shardcore.detect(DATA / path) == shardcore.Detection("neuroglancer", why)
    with opened(DATA / path) as shard:
        assert shard.why == why


@pytest.mark.parametrize("form", ["mapping", "text", "file", "info"])
def test_a_given_specification(tmp_path: Path, form: str) -> None:
    """The specification may be given as a mapping, as text, as a file, or as an info that holds it."""
    path = tmp_path / "renamed.bin"
    shutil.copy(DATA / "bare_shard" / "0.shard", path)
    spec: Any = SPEC.to_json()
    if form == "text":
        spec = json.dumps(spec)
    elif form == "file":
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        spec = tmp_path / "spec.json"
    elif form == "info":
        spec = {"@type": "neuroglancer_skeletons", "sharding": spec}
    with opened(path, spec=spec) as shard:
        assert shard.spec == SPEC
        assert shard.origin.inference is None
        assert len(shard.objects) == 50


@pytest.mark.parametrize("spec", ["{", "{}", "[]", 7, {"hash": "identity"}, {"scales": []}, '{"@type": "x"}'])
def test_a_specification_that_is_none(spec: Any) -> None:
    """What is no specification is a mistake of the caller, or a file that is not there."""
    with pytest.raises((UsageError, SourceError)):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=spec)


def test_a_given_info_of_several_key_spaces() -> None:
    """Of several key spaces the one whose folder has the name of the shard's folder is taken."""
    info = (DATA / "volume" / "info").read_text()
    with opened(DATA / "volume" / "8_8_80" / "0.shard", spec=info) as shard:
        assert shard.origin.space.name == "scale 8_8_80"
    with pytest.raises(UsageError, match="choose one"):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=info)


def test_the_guess_names_evidence_and_what_is_open(tmp_path: Path) -> None:
    """An inferred shard lists its evidence and its ambiguity in fields and tree."""
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([5, 7, 9], random.Random(2)))
    (tmp_path / "0.shard").write_bytes(files["0.shard"])
    with opened(tmp_path / "0.shard") as shard:
        assert "100% of the file" in str(shard.fields["spec.evidence"])
        assert "unknown" in str(shard.fields["spec.open"])
        spec = shard.tree.children[0]
        assert {"evidence", "open"} <= {node.name for node in spec.children}
        notes = {finding.code for finding in shard.verify().findings}
        assert notes == {"neuroglancer.inferred", "neuroglancer.open"}


def test_a_guess_that_does_not_fit_is_refused_unless_forced(tmp_path: Path) -> None:
    """Ids in no place of any hash: `NotAShard` with the evidence; naming the format lifts the bar."""
    spec = ShardingSpec(0, MURMUR, 3, 0)
    rows = random_rows(random.Random(4).sample(range(10**9), 200), random.Random(4))
    data = bytearray(build(spec, rows)["0.shard"])
    data[:128] = data[16:128] + data[:16]  # every minishard gets the index of the next one
    (tmp_path / "0.shard").write_bytes(data)
    with pytest.raises(NotAShard) as caught:
        shardcore.open(tmp_path / "0.shard")
    assert any("no hash" in line for line in caught.value.candidates)
    with opened(tmp_path / "0.shard", format="neuroglancer") as shard:
        assert len(shard.objects) == 200


def test_a_bare_mesh_shard_is_recognised(tmp_path: Path) -> None:
    """Without its info a mesh shard still gives fragments: its values parse as manifests with room before them."""
    shutil.copy(DATA / "mesh" / "0.shard", tmp_path / "0.shard")
    with opened(tmp_path / "0.shard") as shard, opened(DATA / "mesh" / "0.shard") as known:
        key = known.objects.keys[0]
        assert key is not None
        assert shard.find(key).parts == ("fragments",)
        assert shard.read_part(shard.find(key), "fragments") == known.read_part(known.find(key), "fragments")


def test_sections_follow_the_writer() -> None:
    """Indices in one stretch are a section; where they alternate with values, they are nodes inside one."""
    with opened(DATA / "tiny_worked_example_cv" / "0.shard") as shard:
        assert [(s.name, s.role, s.start, s.stop) for s in shard.sections] == [
            ("shard index", SectionRole.INDEX, 0, 32),
            ("chunk data", SectionRole.DATA, 32, 44),
            ("minishard indices", SectionRole.INDEX, 44, 116),
        ]
    with opened(DATA / "tiny_worked_example" / "0.shard") as shard:
        assert [(s.name, s.start, s.stop) for s in shard.sections] == [
            ("shard index", 0, 32),
            ("chunks and indices", 32, 116),
        ]


@pytest.mark.parametrize(
    ("offset", "names", "text"),
    [
        (8, ["shard index", "minishard 0", "end_offset"], "0x37"),
        (33, ["chunks and indices", "skeleton 1"], "3 bytes"),
        (47, ["chunks and indices", "minishard index 0", "chunk_ids", "[1]"], "key 9"),
        (63, ["chunks and indices", "minishard index 0", "offsets", "[1]"], "at 0x23"),
        (115, ["chunks and indices", "minishard index 1", "sizes", "[0]"], "5"),
    ],
)
def test_bytes_of_the_worked_example(offset: int, names: list[str], text: str) -> None:
    """Each byte of the worked example is what the sheet says it is; deltas are shown summed up."""
    with opened(DATA / "tiny_worked_example" / "0.shard") as shard:
        shard.load_index()
        path = shard.explain(offset)
        assert [node.name for node in path[1:]] == names
        assert path[-1].text == text


def test_compressed_indices_are_sources_of_their_own() -> None:
    """A gzip minishard index is a decoded source with three sections and a tree; values likewise."""
    with opened(DATA / "skeletons_murmur_gzip" / "0.shard") as shard:
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


def test_the_info_is_a_source() -> None:
    """The info can be looked at, and the specification's node points at its sharding object."""
    with opened(DATA / "volume" / "8_8_80" / "0.shard") as shard:
        place = shard.tree.children[0].span
        text = shard.bytes_of("info").read(place.start, place.stop)
        assert ShardingSpec.parse(json.loads(text)) == shard.spec
        assert shard.sections_of("info")[0].stop == shard.bytes_of("info").size
        check_explained(shard, "info", complete=False)


def test_unlisted_bytes_are_named(tmp_path: Path) -> None:
    """Bytes that no index lists are a node of their own; in mesh shards they are the fragments of a segment."""
    data = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([1, 2, 3, 4], random.Random(3)))["0.shard"] + b"tail"
    (tmp_path / "0.shard").write_bytes(data)
    with opened(tmp_path / "0.shard") as shard:
        shard.load_index()
        assert shard.explain(len(data) - 1)[-1].name == "unlisted bytes"
        check_tiling(shard)
        check_explained(shard)
    with opened(DATA / "mesh" / "0.shard") as shard:
        shard.load_index()
        names = {shard.explain(offset)[2].name.split()[0] for offset in range(64, shard.source.size, 97)}
        assert names == {"fragments", "mesh", "minishard"}


def test_fragments_are_told_apart() -> None:
    """Inside the fragments of a segment every byte belongs to one fragment of one level of detail."""
    with opened(DATA / "mesh" / "0.shard") as shard:
        shard.load_index()
        ref = shard.objects.ref(0)
        leaf = shard.explain(ref.spans[1].start)[-1]
        assert leaf.name == "lod 0 fragment 0"
        assert leaf.text.startswith("cell ")


def test_split_form_is_one_shard() -> None:
    """Either part opens both; offsets are those of the concatenation."""
    for name in ("0.index", "0.data"):
        with opened(DATA / "legacy_pair" / name) as shard:
            assert shard.file.split
            assert shard.source.size == 64 + 1021
            check_tiling(shard)
            shard.load_index()
            check_explained(shard)


@pytest.mark.parametrize("name", ["0.index", "1.data"])
def test_split_form_without_info(tmp_path: Path, name: str) -> None:
    """Both parts without an info: the size of the index settles the minishards, the rest is inferred."""
    for part in ("0.index", "0.data", "1.index", "1.data"):
        shutil.copy(DATA / "legacy_pair" / part, tmp_path / part)
    with opened(tmp_path / name) as shard, opened(DATA / "legacy_pair" / name) as known:
        assert shard.why == "inferred, 3 of 3 checks"
        assert shard.spec == known.spec
        assert list(shard.objects.keys) == list(known.objects.keys)


def test_split_form_without_its_other_part(tmp_path: Path) -> None:
    """A missing part is said to be missing; an index of another length than the info says is damage."""
    shutil.copy(DATA / "legacy_pair" / "info", tmp_path / "info")
    shutil.copy(DATA / "legacy_pair" / "0.index", tmp_path / "0.index")
    with pytest.raises(SourceError, match="missing"):
        shardcore.open(tmp_path / "0.index")
    (tmp_path / "0.index").write_bytes((DATA / "legacy_pair" / "0.index").read_bytes()[:32])
    shutil.copy(DATA / "legacy_pair" / "0.data", tmp_path / "0.data")
    with pytest.raises(FormatError):
        shardcore.open(tmp_path / "0.index")


def test_large_shard_indices_are_not_read_to_open(tmp_path: Path) -> None:
    """Of a shard index beyond a megabyte single entries are read: opening and finding stay a few ranges."""
    spec = ShardingSpec(0, MURMUR, 18, 0)
    rows = random_rows(random.Random(6).sample(range(2**60), 20), random.Random(6))
    data = build(spec, rows)["0.shard"]
    source = CountingSource(data, "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        assert sum(stop - start for start, stop in source.ranges) <= 65536
        for key, value in rows[:5]:
            source.ranges.clear()
            assert shard.read(shard.find(str(key))) == value
            assert len(source.ranges) <= 3
        assert len(shard.objects) == 20
        shard.load_index()
        assert shard.explain(0)[-1].name == "start_offset"
        check_tiling(shard)


def test_one_key_costs_two_ranges_and_then_one() -> None:
    """After opening: minishard index and value; with a known minishard the value alone."""
    spec = ShardingSpec(0, IDENTITY, 2, 0)
    rows = [(key, bytes(30_000)) for key in range(40)]
    source = CountingSource(build(spec, rows)["0.shard"], "0.shard")
    with shardcore.open(source, spec=spec.to_json(), format="neuroglancer") as shard:
        assert len(source.ranges) == 1
        costs = []
        for key in (1, 5, 2):
            source.ranges.clear()
            shard.read(shard.find(str(key)))
            costs.append(len(source.ranges))
        assert costs == [2, 1, 2]


def test_listing_merges_neighbouring_indices() -> None:
    """Minishard indices in one stretch are read in one range, however many they are."""
    data = (DATA / "bare_shard" / "0.shard").read_bytes()
    source = CountingSource(data, "0.shard")
    with shardcore.open(source, spec=SPEC.to_json(), format="neuroglancer") as shard:
        source.ranges.clear()
        shard.load_index()
        assert len(source.ranges) == 1


def test_ranges_of_values() -> None:
    """Of a plain value only the bytes asked for are read; limits hold before anything is read."""
    spec = ShardingSpec(0, IDENTITY, 0, 0)
    source = CountingSource(build(spec, [(7, bytes(range(256)) * 100)])["0.shard"], "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        ref = shard.find("7")
        source.ranges.clear()
        assert shard.read_range(ref, 256, 260) == bytes([0, 1, 2, 3])
        assert sum(stop - start for start, stop in source.ranges) == 4
        assert shard.read_range(ref, 25_598, 10**12) == bytes([254, 255])
        with pytest.raises(LimitExceeded):
            shard.read(ref, limit=100)
        with pytest.raises(LimitExceeded):
            shard.read_range(ref, 0, 200, limit=100)
        with pytest.raises(UsageError):
            shard.read_range(ref, 5, 4)
        with pytest.raises(UsageError):
            shard.read_part(ref, "fragments")


@pytest.mark.thorough
def test_bombs_among_values_are_bounded(tmp_path: Path) -> None:
    """A value that expands beyond the limit is an error before it fills the memory, and its size claim is bounded."""
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    with shardcore.open(BytesSource(build(spec, [(1, bytes(200 << 20))])["0.shard"]), spec=spec.to_json()) as shard:
        with pytest.raises(LimitExceeded):
            shard.read(shard.find("1"), limit=1 << 20)
        assert shard.objects.ref(0).size == 200 << 20


def test_damaged_values_do_not_disturb_others() -> None:
    """A damaged gzip member is an error of its key alone, and a finding with its place."""
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    data = bytearray(build(spec, [(1, b"one" * 50), (2, b"two" * 50), (3, b"three")])["0.shard"])
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        span = shard.find("2").spans[0]
    data[span.stop - 6] ^= 255  # in the checksum of the member
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        assert isinstance(shard, NeuroglancerShard)
        with pytest.raises(FormatError):
            shard.read(shard.find("2"))
        assert shard.read(shard.find("1")) == b"one" * 50
        assert [finding.span for finding in shard.verify().findings] == [span]
        found = dict(shard.contents())
        assert isinstance(found[1], FormatError)
        assert found[1].span == span
        assert found[2] == b"three"


def test_orders_and_columns() -> None:
    """Objects are ordered by slot, offset, size and key; columns say what is known without decoding."""
    with opened(DATA / "identity_raw" / "0.shard") as shard:
        columns = shard.objects[:]
        ids = np.array([int(key or 0) for key in shard.objects.keys])
        by_offset, by_size, by_key = (np.asarray(shard.objects.order(name)) for name in ("offset", "size", "key"))
        assert (np.diff(columns.start[by_offset]) >= 0).all()
        assert (np.diff(columns.stored_size[by_size]) >= 0).all()
        assert (np.diff(ids[by_key]) > 0).all()
        assert shard.objects.order("slot") is None
        with pytest.raises(UsageError):
            shard.objects.order("colour")
        with pytest.raises(IndexError):
            shard.objects.ref(len(shard.objects))


def test_thousands_of_minishards_sharing_one_index_are_bounded() -> None:
    """Shared ranges multiply nothing: the first are listed, the others are damaged, and memory stays small."""
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


@pytest.mark.parametrize("sample", ["skeletons_murmur_gzip/0.shard", "mesh/0.shard", "volume/4_4_40/0.shard"])
def test_a_broken_connection_is_no_damage(sample: str) -> None:
    """Reads that fail raise `SourceError`, wherever it happens, and are not remembered: afterwards all is well."""
    path = DATA / sample
    with opened(path) as known:
        key = known.objects.keys[0]
        assert key is not None
        content = known.read(known.find(key))
        source = FailingSource(path.read_bytes(), after=10**9)
        source.name, source.folder = path.name, shardcore.LocalFolder(path.parent)
        actions: list[Callable[[NeuroglancerShard], object]] = [
            lambda shard: shard.find(key),
            lambda shard: shard.trace(key),
            lambda shard: shard.load_index(),
            lambda shard: len(shard.objects),
            lambda shard: shard.verify(),
            lambda shard: shard.read(known.find(key)),
            lambda shard: list(shard.contents()),
        ]
        for action in actions:
            with shardcore.open(source) as shard:
                assert isinstance(shard, NeuroglancerShard)
                source.left = 0
                with pytest.raises(SourceError):
                    action(shard)
                source.left = 10**9
                action(shard)
                assert shard.read(shard.find(key)) == content
                assert shard.verify("index").ok


def test_closing() -> None:
    """A closed shard gives errors, not wrong bytes."""
    shard = opened(DATA / "identity_raw" / "0.shard")
    shard.close()
    with pytest.raises(SourceError):
        shard.objects.keys[0]


def test_empty_values_under_gzip(tmp_path: Path) -> None:
    """A gzip value of no stored bytes is damage; an empty content is still a member of its own."""
    assert len(gzip.compress(b"", mtime=0)) == 20
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    with shardcore.open(BytesSource(build(spec, [(1, b""), (2, b"x")])["0.shard"]), spec=spec.to_json()) as shard:
        assert shard.read(shard.find("1")) == b""
        assert shard.objects.ref(0).size == 0
