"""The address of a uid, drawn: its bits, the board, the name, the walk over entries, the tombstone; worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.errors import ShardError, UsageError
from shardcore.formats.des.address_figures import differing
from shardcore.formats.des.sidecar import Sidecar
from shardcore.formats.des.tombstone_span import tombstone_span
from shardcore.model.drawing import Bits, Cells, Drawing, Item, Ruler, Table, Tone
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.sources.local import LocalFolder
from shardcore.testing.drawing_contract import DrawingContract
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "des"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "des"
ARCHIVE = SAMPLES / "archive"


class TestDrawings(DrawingContract):
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [
        ARCHIVE,
        DATA / "tiny.des",
        SAMPLES / "odd" / "20251128_2A_0000.des",
        DATA / "sidecar",
        DATA / "big",
        DATA / "zstd.des",
        DATA / "paths.des",
        DATA / "v1.des",
        DATA / "unicode.des",
    ]
    quick_samples: ClassVar[int] = 2
    names: ClassVar = ["address"]
    absent: ClassVar = ["no such uid"]
    most_keys: ClassVar[int] = 1


def drawn(where: Path, key: str, **values: object) -> Drawing:
    """The address of a key."""
    with shardcore.open(where) as shard:
        return address(shard, key, **values)


def address(shard: Shard, key: str, **values: object) -> Drawing:
    """The address of a key of an open shard."""
    sketch = next(one for one in shard.sketches(shard.trace(key)) if one.name == "address")
    return sketch.draw(values)


def part(drawing: Drawing, kind: type, words: str) -> object:
    """The figure of a kind whose title has some words."""
    return next(figure for figure in drawing.figures if isinstance(figure, kind) and words in figure.title)


def texts(items: tuple[Item, ...]) -> list[str]:
    """What stands in items."""
    return [item.text for item in items]


@pytest.mark.parametrize(
    ("uid", "how", "number", "hex_"),
    [
        ("0042", "decimal digits", 42, "2A"),
        ("a", "CRC-32 of 1 byte", 67, "43"),
        ("-7", "CRC-32 of 2 bytes", 31, "1F"),
        ("337", "decimal digits", 81, "51"),
        ("zaż", "CRC-32 of 4 bytes", 95, "5F"),
        ("٢٣", "decimal digits", 23, "17"),
        ("9" * 5000, "decimal digits", (10**5000 - 1) % 256, "FF"),
    ],
)
def test_the_uid_becomes_a_number(uid: str, how: str, number: int, hex_: str) -> None:
    """Digits are the number they spell, anything else its CRC-32; the low bits are its place on the board."""
    drawing = drawn(DATA / "tiny.des", "a", uid=uid, n_bits=8)
    table, bits, board = drawing.figures[0], drawing.figures[1], drawing.figures[2]
    assert isinstance(table, Table)
    assert isinstance(bits, Bits)
    assert isinstance(board, Cells)
    assert texts(table.items)[1] == how
    assert texts(table.items)[3:] == [str(number), hex_]
    assert bits.value is not None
    assert bits.value & 255 == number
    assert str(bits.value) == texts(table.items)[2]
    assert [(item.at, item.size, item.handle) for item in bits.items] == [(0, 8, "n_bits")]
    assert (board.count, board.columns) == (256, 16)
    assert [item.at for item in board.items if item.here] == [number]


def test_the_way_to_a_part_of_a_folder() -> None:
    """Of 2090 the low 8 bits are 2A: the first part is walked past, and the second has it."""
    with shardcore.open(ARCHIVE) as shard:
        drawing = address(shard, "2090")
    board = part(drawing, Cells, "256 shard numbers")
    assert isinstance(board, Cells)
    assert {(item.at, item.text) for item in board.items} >= {(0x2A, "3"), (0x7E, "1"), (0x88, "1")}
    name = part(drawing, Table, "piece by piece")
    assert isinstance(name, Table)
    assert [(item.text, item.tone) for item in name.rows[0][1:]] == [
        ("20260105", Tone.ONE),
        ("2A", Tone.TWO),
        ("0001", Tone.THREE),
    ]
    asked = part(drawing, Table, "may contain it")
    assert isinstance(asked, Table)
    assert [texts(row) for row in asked.rows] == [
        ["20260105_2A_0000.des", "not in it"],
        ["20260105_2A_0001.des", "found here"],
        ["20260106_2A_0000.des", "not searched"],
    ]
    assert {span.source for item in drawing.items for span in item.spans} == {"20260105_2A_0001.des"}
    assert {(link.start, link.stop) for link in drawing.links} >= {("low", "shard"), ("shard", "hex")}


def test_an_arc_for_each_skipped_entry() -> None:
    """In the worked example `b` is the second entry: one arc leads past the first, and it counts one."""
    drawing = drawn(DATA / "tiny.des", "b")
    walk_strip = part(drawing, Ruler, "walked")
    assert isinstance(walk_strip, Ruler)
    assert [(item.text, item.spans) for item in walk_strip.items] == [
        ("count", (Span("", 0x12, 0x16),)),
        ("a", (Span("", 0x16, 0x3F),)),
        ("b", (Span("", 0x3F, 0x68),)),
    ]
    arcs = [(link.start, link.stop, link.text) for link in drawing.links if link.start.startswith("walk")]
    assert arcs == [("walk -1", "walk 0", ""), ("walk 0", "walk 1", "1")]
    absent = drawn(DATA / "tiny.des", "c")
    assert [link.text for link in absent.links if link.start.startswith("walk")] == ["", "1", "2"]
    assert [item.text for item in absent.items if item.tone is Tone.MISS and item.name == "end"] == ["no entry"]


def test_of_many_entries_the_last_are_drawn() -> None:
    """Before the last eight entries a mark counts those that were walked past; what is left out is counted."""
    with shardcore.open(DATA / "paths.des") as shard:
        count = len(shard.objects)
        key = shard.objects.keys[count - 1]
        assert key is not None
        assert count > 9
        drawing = address(shard, key)
    walk_strip = part(drawing, Ruler, "walked")
    assert isinstance(walk_strip, Ruler)
    assert walk_strip.items[0].text == f"{count - 8} before"
    assert len(walk_strip.items) == 9
    arcs = [link.text for link in drawing.links if link.start.startswith("walk")]
    assert arcs == [str(number) for number in range(count - 8, count)]
    assert drawing.more == count - 8


@pytest.mark.parametrize(
    ("where", "key"), [(ARCHIVE, "letter-2026-anna"), (ARCHIVE / "20260105_88_0000.des", "letter-2026-anna")]
)
def test_a_tombstone_is_a_stamp_from_the_sidecar(where: Path, key: str) -> None:
    """The entry is struck through, and its tombstone is drawn with its bytes in the sidecar."""
    drawing = drawn(where, key)
    stamp = next(item for item in drawing.items if item.name == "stamp")
    assert stamp.tone is Tone.DEAD
    (span,) = stamp.spans
    assert span.source.endswith("20260105_88_0000.meta")
    text = (ARCHIVE / "20260105_88_0000.meta").read_bytes()[span.start : span.stop].decode()
    assert json.loads("{" + text + "}")[f"{key}:2026-01-05T08:30:00Z"]["reason"] == "asked for by Anna"
    assert next(item for item in drawing.items if item.name == "walk 0").tone is Tone.DEAD


def test_the_place_of_a_tombstone(tmp_path: Path) -> None:
    """It is found among others of the same uid by its time, whatever letters stand before it; else all is meant."""
    (tmp_path / "x.des").write_bytes((DATA / "tiny.des").read_bytes())
    tombs = {
        "ż:1": {"uid": "ż", "created_at": "2026-01-01T00:00:00Z", "reason": "€"},
        "ż:2": {"uid": "ż", "created_at": "2026-01-02T00:00:00Z", "reason": "}{"},
        "b": {"created_at": None, "reason": "b"},
    }
    data = json.dumps({"version": 1, "index": {}, "tombstones": tombs}, ensure_ascii=False, indent=1).encode()
    (tmp_path / "x.meta").write_bytes(data)
    with shardcore.open(tmp_path / "x.des") as shard:
        file = shard.file  # type: ignore[attr-defined]
        sidecar = Sidecar.parse(data, "x.meta")
        for listed in sidecar.tombstones.values():
            for tombstone in listed:
                span = tombstone_span(file, sidecar, tombstone)
                (found,) = json.loads("{" + data[span.start : span.stop].decode() + "}").values()
                assert found["reason"] == tombstone.facts["reason"]
        (tmp_path / "x.meta").write_bytes(data + b" ")
        assert tombstone_span(file, sidecar, sidecar.tombstones["b"][0]) == sidecar.span


def test_a_single_file_agrees_or_not(tmp_path: Path) -> None:
    """The name of a file is compared with what its uids lead to; a name that packers do not write says nothing."""
    good = drawn(ARCHIVE / "20260105_2A_0000.des", "298")
    assert good.caption.startswith("The name agrees: 2A")
    assert not [item for item in good.items if item.tone is Tone.MISS]
    wrong = tmp_path / "20260105_2B_0000.des"
    wrong.write_bytes((ARCHIVE / "20260105_2A_0000.des").read_bytes())
    bad = drawn(wrong, "298")
    assert bad.caption.startswith("The name does not agree")
    assert [item.text for item in bad.items if item.tone is Tone.MISS] == ["2B"]
    assert "not one that packers write" in drawn(DATA / "tiny.des", "a").caption
    assert "2 entries have this uid" in drawn(SAMPLES / "odd" / "20251128_2A_0000.des", "298").caption


def test_another_uid_is_a_what_if() -> None:
    """Another uid, or number of bits, is only routed: no entry is drawn, and it says whether it would be this file."""
    other = drawn(ARCHIVE, "2090", uid="invoice-2026-017")
    assert other.what_if
    assert not any(item.spans for item in other.items)
    assert "1 file has such a name" in other.caption
    assert "20260105_7E_0000.des" in texts(other.items)
    assert "no file here has" in drawn(ARCHIVE, "2090", n_bits=12).caption
    one = ARCHIVE / "20260105_2A_0000.des"
    assert "looked for in this file" in drawn(one, "298", uid="810").caption
    assert "would not be looked for in this file" in drawn(one, "298", uid="811").caption
    wide = next(figure for figure in drawn(ARCHIVE, "2090", n_bits=16).figures if isinstance(figure, Cells))
    assert (wide.count, wide.first) == (256, 0x0800)
    assert not drawn(ARCHIVE, "2090", uid="2090", n_bits=8).what_if


def test_controls_out_of_range_are_refused() -> None:
    """Bits are 4 to 16, a uid is a text that has a UTF-8 form."""
    with shardcore.open(DATA / "tiny.des") as shard:
        (sketch,) = shard.sketches(shard.trace("a"))
        for values, words in (
            ({"n_bits": 3}, "from 4 to 16"),
            ({"n_bits": 17}, "from 4 to 16"),
            ({"n_bits": "8"}, "from 4 to 16"),
            ({"uid": 7}, "a text"),
            ({"uid": "\ud800"}, "UTF-8"),
        ):
            with pytest.raises(UsageError, match=words):
                sketch.draw(values)


def test_a_folder_without_a_lookup() -> None:
    """Without a lookup the first uid of the first file is drawn; to know what can be drawn no file is opened."""
    with shardcore.open(ARCHIVE) as shard:
        (sketch,) = shard.sketches()
        assert [control.value for control in sketch.controls] == ["", 8]
        drawing = sketch.draw({})
        assert drawing.title == "The address of 42"
        assert [item.text for item in drawing.items if item.name.startswith("walk") and item.here] == ["42"]


def test_each_step_has_its_drawing() -> None:
    """Each step of a lookup has a drawing of its own bytes."""
    with shardcore.open(ARCHIVE) as shard:
        steps = shard.trace("0042").steps
        big = shard.trace("minutes-2026-01").steps
        deleted = shard.trace("letter-2026-anna").steps
    told = {step.title: step.drawing for step in steps}
    assert all(told.values())
    footer, place = told["Footer"], told["Place"]
    assert footer is not None
    assert place is not None
    assert {"DESI", "275", "0x295"} <= set(texts(footer.items))
    assert texts(place.figures[0].items)[2::3] == ["0xf8", "160", "lz4", "160", "171"]
    assert [(link.start, link.stop) for link in place.links] == [("field offset", "byte of offset")]
    names = [item.text for step in big if step.drawing for item in step.drawing.items]
    assert any(text.startswith("aad37894c1972f45") for text in names)
    sidecar = next(step for step in deleted if step.title == "Sidecar")
    assert sidecar.drawing is not None
    assert any(span == sidecar.spans[0] for item in sidecar.drawing.items for span in item.spans)


def test_damaged_files_are_drawn_or_refused() -> None:
    """A file that is no shard, or whose index is damaged, gives a drawing or a `ShardError`, and nothing else."""
    for path in sorted((DATA / "hostile").glob("*.des")):
        try:
            with shardcore.open(path, partial=True) as shard:
                for trace in (None, shard.trace("a")):
                    for sketch in shard.sketches(trace):
                        assert sketch.draw({}).title
        except ShardError:
            continue


def test_a_drawing_reads_nothing_of_a_file_that_is_open() -> None:
    """Entries are in memory, and the sidecar was read by the lookup: only the place of a tombstone is looked up."""
    path = ARCHIVE / "20260105_2A_0000.des"
    source = CountingSource(path.read_bytes(), path.name, folder=LocalFolder(path.parent))
    with shardcore.open(source) as shard:
        trace = shard.trace("298")
        source.ranges.clear()
        for sketch in shard.sketches(trace):
            sketch.draw({})
            sketch.draw({"uid": "other"})
        assert source.ranges == []


def test_names_of_a_folder_are_shown_by_what_differs() -> None:
    """The pieces that all begin with are left out, where that saves room; no two look the same."""
    names = [f"20260105/20260105_{number:02X}_0000.des" for number in range(7)]
    assert differing(names)[:2] == ["…00_0000.des", "…01_0000.des"]
    assert differing(["20260105_2A_0000.des"]) == ["20260105_2A_0000.des"]
    assert differing(["20260105_00_0000.des", "20260106_00_0000.des"])[1] == "20260106_00_0000.des"
    assert differing([]) == []
