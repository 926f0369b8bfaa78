"""Xorbs opened: chunks by number and hash, ranges, damage, bare records."""

from __future__ import annotations

import json
import runpy
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.codecs.xet import xorb_layout as layout
from shardcore.codecs.xet.hashes import chunk_hash, to_text
from shardcore.codecs.xet.xorb_layout import Scheme
from shardcore.errors import FormatError, UsageError
from shardcore.model.drawing import Tone
from shardcore.model.finding import Depth, Severity
from shardcore.model.objects import State
from shardcore.model.record import Record
from shardcore.testing import CountingSource, PageContract, ShardContract, check_explained
from shardcore.testing.drawing_contract import DrawingContract
from tests.data.xorb.make import xorb

DATA = Path(__file__).parents[3] / "data"
EXPECTED = json.loads((DATA / "mdb" / "expected.json").read_text())
PAIR = DATA / "xorb" / "two_chunks.xorb"


def made(chunks: list[bytes]) -> bytes:
    return b"".join(xorb(chunks, 1, Scheme.NONE))


@pytest.mark.parametrize("listed", EXPECTED["xorbs"], ids=lambda x: x["hash"][:8])
def test_real_xorbs(listed: dict[str, object]) -> None:
    with shardcore.open(DATA / "mdb" / str(listed["path"])) as shard:
        assert (shard.format, shard.version) == ("xorb", "1")
        assert shard.fields["info.cas_hash"] == shard.file.expected_hash == listed["hash"]
        assert len(shard.objects) == shard.declared_objects == listed["chunks"]
        assert shard.sections[0].stop == listed["content_length"]
        shard.load_index()
        columns = shard.objects[:]
        assert int(columns.size.sum()) == listed["unpacked_bytes"]
        names = [shard.objects.codecs[code] for code in columns.codec.tolist()]
        assert {name: names.count(name) for name in ("none", "lz4", "bg4-lz4")} == listed["schemes"]
        assert len(shard.read(shard.find("all"))) == listed["unpacked_bytes"]


def test_chunks_are_parts_of_the_uploaded_files() -> None:
    floats = runpy.run_path(str(DATA / "mdb" / "sources.py"))["build"]()["weights.f32"]
    path = next((DATA / "mdb" / "cas" / "xorbs").glob("default.6d9a*"))
    with shardcore.open(path) as shard:
        first, second = (shard.find(to_text(chunk_hash(part))) for part in (floats[:36888], floats[36888:]))
        assert first.codec == second.codec == "bg4-lz4"
        assert (second.row, shard.read(first) + shard.read(second)) == (first.row + 1, floats)


def test_keys_are_numbers_and_hashes() -> None:
    with shardcore.open(made([b"abc", b"x", b"abc", b"y"])) as shard:
        text = to_text(chunk_hash(b"abc"))
        assert (shard.find("2").row, shard.find(text).row) == (2, 0)
        assert [ref.row for ref in shard.find_all(text)] == [0, 2]
        assert shard.find_many(["3", text, "4", to_text(chunk_hash(b"z"))]).tolist() == [3, 0, -1, -1]
        assert shard.views == ("all",)
        assert shard.read(shard.find("all")) == b"abcxabcy"
        for key in ("4", to_text(chunk_hash(b"z"))):
            assert shard.trace(key).outcome == "absent"
        for key in ("", "abc", "-1", "1.5", "९"):
            with pytest.raises(shardcore.UsageError):
                shard.find(key)
        for name in ("@0-5", "@9-10@1-2", "sibling", "sibling@8-20"):
            with pytest.raises(shardcore.UsageError):
                shard.part(name)


def test_ranges_of_all_read_only_what_they_touch() -> None:
    chunks = [bytes([number]) * 10_000 for number in range(60)]
    data = made(chunks)
    source = CountingSource(data)
    with shardcore.open(source, format="xorb") as shard:
        ref = shard.find("all")
        source.ranges.clear()
        assert shard.read_range(ref, 25_000, 45_000) == b"".join(chunks)[25_000:45_000]
        assert source.ranges == [(2 * 10_008, 5 * 10_008)]
        assert shard.read_range(ref, 599_999, 700_000) == bytes([59])
        assert shard.read_range(ref, 600_000, 700_000) == b""


def test_many_chunks_cost_one_more_range() -> None:
    """The info block of a xorb with very many chunks does not fit the first guess at the end."""
    source = CountingSource(made([b"%d" % number for number in range(8192)]))
    with shardcore.open(source, format="xorb") as shard:
        assert len(source.ranges) <= 2
        source.ranges.clear()
        assert (shard.read(shard.find("8191")), len(source.ranges)) == (b"8191", 2)


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [
        (0, 1, "xorb.record"),  # record version
        (1, 4, "xorb.record"),  # stored length
        (4, 9, "xorb.record"),  # scheme
        (5, 4, "xorb.record"),  # unpacked length
        (9, 0, "xorb.chunk-hash"),  # content
        (31, 0, "xorb.hash"),  # hash of the xorb
        (75, 0, "xorb.chunk-hash"),  # hash of a chunk
    ],
)
def test_damage_is_found_and_kept_apart(at: int, value: int, code: str) -> None:
    data = bytearray(PAIR.read_bytes())
    data[at] = value
    with shardcore.open(bytes(data), format="xorb") as shard:
        assert code in {finding.code for finding in shard.verify(Depth.CONTENT).findings}
        assert shard.read(shard.find("1")) == b"defg"
        if code == "xorb.record":
            assert shard.objects.ref(0).state is State.DAMAGED
        if at < 23 or at == 75:
            with pytest.raises(shardcore.FormatError):
                shard.read(shard.find("0"))


def test_a_bad_info_block_loses_no_chunk() -> None:
    data = bytearray(PAIR.read_bytes())
    data[23 + 48] = 9  # number of chunks
    with pytest.raises(shardcore.FormatError, match="num_chunks is 9, but the length of the info block gives 2"):
        shardcore.open(bytes(data))
    with shardcore.open(bytes(data), partial=True) as shard:
        assert shard.damage is not None
        assert shard.read(shard.find("1")) == b"defg"
        assert {finding.code for finding in shard.verify().findings} == {"xorb.info-block"}


def test_bare_records_are_inferred() -> None:
    data = (DATA / "xorb" / "bare_chunks.xorb").read_bytes()
    assert shardcore.detect(data).why == "inferred: 5 chunk records fill the file"
    for cut, count in ((data[:-1], 4), (data + b"\0", 5)):
        assert shardcore.detect(cut).why.startswith(f"{count} chunk records at the start, then chunk {count}: ")
    # The sizes of a raw picture look like the header of a chunk.
    for bad in (bytes(800), (1024).to_bytes(4, "little") * 2 + bytes(range(1, 200))):
        with pytest.raises(shardcore.NotAShard):
            shardcore.detect(bad)
    for bad in (b"", b"XETB", b"hello, world, this is not a xorb", bytes(800)):
        with pytest.raises(shardcore.NotAShard, match="not a xorb"):
            shardcore.open(bad, format="xorb")


def test_a_wrong_name_is_told(tmp_path: Path) -> None:
    data = PAIR.read_bytes()
    name = "af43e72ea2c82ea243d57300833ee4472307f0d52d9ea55fc7b7f0eb4e06e855"
    for stem, codes in ((f"default.{name}", set()), (name, set()), ("0" * 64, {"xorb.name"}), ("any", set())):
        path = tmp_path / stem
        path.write_bytes(data)
        with shardcore.open(path) as shard:
            assert {finding.code for finding in shard.verify("index").findings} == codes


THREE = [b"one" * 50, b"two" * 60, b"three" * 70]


@pytest.mark.parametrize("letters", [4, 7, 40])
def test_an_unfinished_info_block_hides_no_chunk(letters: int) -> None:
    """After the last record an info block may break off, as in the published reference xorb, which ends in `XETB`."""
    records, info = xorb(THREE, 1, Scheme.NONE)
    data = records + info[:letters]
    assert shardcore.detect(data).format == "xorb"
    with shardcore.open(data) as shard:
        assert (shard.damage, shard.fields) == (None, {})
        assert [shard.read(shard.find(str(number))) for number in range(3)] == THREE
        assert shard.read(shard.find("all")) == b"".join(THREE)
        check_explained(shard)
        (finding,) = [f for f in shard.verify().findings if f.severity is shardcore.Severity.ERROR]
        assert (finding.code, finding.span) == ("xorb.tail", shardcore.Span("", len(records), len(data)))


@pytest.mark.parametrize("left", [3, 20])
def test_records_before_a_cut_are_readable(left: int) -> None:
    records, _ = xorb(THREE, 1, Scheme.NONE)
    with shardcore.open(made(THREE)) as shard:
        start = shard.record_span(2).start
    data = records[: start + left]
    with shardcore.open(data) as shard:
        assert isinstance(shard.damage, shardcore.Truncated)
        assert len(shard.objects) == 2
        assert shard.read(shard.find(to_text(chunk_hash(THREE[1])))) == THREE[1]
        # What was cut off may have been it: absence is not proven.
        for key in ("2", to_text(chunk_hash(THREE[2]))):
            assert shard.trace(key).outcome == "damaged"
        assert [f.code for f in shard.verify().findings if f.severity is shardcore.Severity.ERROR] == ["xorb.walk"]
        check_explained(shard)


def test_hashes_that_nobody_lists_are_computed() -> None:
    records, _ = xorb([*THREE, THREE[0]], 1, Scheme.NONE)
    source = CountingSource(records)
    with shardcore.open(source, format="xorb") as shard:
        text = to_text(chunk_hash(THREE[0]))
        assert shard.trace(text).outcome == "found"
        source.ranges.clear()
        assert [ref.row for ref in shard.find_all(text)] == [0, 3]
        assert sum(stop - start for start, stop in source.ranges) < 100
        assert shard.find_many([text, "2", to_text(chunk_hash(b"z"))]).tolist() == [0, 2, -1]
        assert shard.trace(to_text(chunk_hash(b"z"))).outcome == "absent"


def test_a_chunk_that_cannot_be_hashed_leaves_absence_open() -> None:
    data = bytearray((DATA / "xorb" / "bare_chunks.xorb").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        packed = next(row for row in range(5) if shard.objects.ref(row).codec != "none" and row)
        data[shard.record_span(packed).stop - 1] ^= 1
        whole = [to_text(chunk_hash(shard.read(shard.find(str(row))))) for row in range(5)]
    with shardcore.open(bytes(data), format="xorb") as shard:
        assert (shard.find(whole[0]).row, shard.trace(whole[packed]).outcome) == (0, "damaged")


@pytest.mark.parametrize(("prefix", "expected"), [("", Severity.WARNING), ("default.", Severity.ERROR)])
def test_a_xorb_without_an_info_block(tmp_path: Path, prefix: str, expected: Severity) -> None:
    """hf-xet sends such a xorb, but fails to read one from its store."""
    (path,) = (DATA / "mdb" / "cas" / "xorbs").glob(f"*{EXPECTED['xorbs'][0]['hash']}")
    bare = tmp_path / (prefix + EXPECTED["xorbs"][0]["hash"])
    bare.write_bytes(path.read_bytes()[: EXPECTED["xorbs"][0]["content_length"]])
    with shardcore.open(bare) as shard, shardcore.open(path) as whole:
        report = shard.verify()
        assert [(one.severity, one.code) for one in report.findings] == [(expected, "xorb.no-info-block")]
        assert (report.unverified, shard.read(shard.find("all"))) == (0, whole.read(whole.find("all")))


class TestXorb(ShardContract):
    samples = (*sorted((DATA / "mdb" / "cas" / "xorbs").iterdir()), *sorted((DATA / "xorb").glob("*.xorb")))
    absent = ("9000", "0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533")
    open_ranges = 2
    find_ranges = 1


class TestXorbPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "xorb.md"
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}


SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "xorb"


class TestDrawings(DrawingContract):
    samples: ClassVar = [SAMPLES / "chunks.xorb", SAMPLES / "odd.xorb", DATA / "xorb" / "lz4.xorb"]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["records", "lanes"]
    absent: ClassVar = ["99"]


def test_bytes_are_sorted_into_lanes() -> None:
    """Row 1 of the byte planes has bytes 1, 5, 9 … of the chunk; a byte equal to its neighbour is highlighted."""
    with shardcore.open(SAMPLES / "chunks.xorb") as shard:
        data = shard.read(shard.find("1"))
        drawing = next(one for one in shard.sketches() if one.name == "lanes").draw({"chunk": 1, "first": 10})
        plain, lanes = drawing.figures
        assert [item.text for item in plain.items] == [f"{byte:02x}" for byte in data[40:68]]
        second = [item for item in lanes.items if 7 <= item.at < 14]
        assert [item.text for item in second] == [f"{byte:02x}" for byte in data[41:68:4]]
        for left, right in pairwise(second):
            if left.text == right.text:
                assert (left.tone, right.tone) == (Tone.HIT, Tone.HIT)
        assert second[0].spans[0].start == 41


def test_a_chunk_that_cannot_be_unpacked_is_an_error_of_the_file() -> None:
    data = bytearray((SAMPLES / "chunks.xorb").read_bytes())
    data[100] ^= 0xFF
    with shardcore.open(bytes(data), format="xorb") as shard:
        records, lanes, *_ = shard.sketches()
        assert records.draw({}).figures
        with pytest.raises(FormatError):
            lanes.draw({"chunk": 0})
        with pytest.raises(UsageError, match="0 to 5"):
            records.draw({"chunk": 6})
