"""The drawing of a step, made from its values, spans and figures."""

from __future__ import annotations

from typing import Any

from shardcore.errors import KeyAbsent
from shardcore.model.drawing import MOST_ITEMS, Drawing, Ruler, Tone
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.shards.trace import Compared, Fields, LookupRecorder, Meaning, record_lookup

SECTIONS = (
    Section("header", SectionRole.HEADER, 0, 16),
    Section("data", SectionRole.DATA, 16, 900),
    Section("index", SectionRole.INDEX, 900, 1000),
)
HEADER = Record(
    "header",
    source="test",
    fields=(
        Field("magic", ("u1", 4), FieldRole.MAGIC, "The magic."),
        Field("index_offset", "<u4", FieldRole.OFFSET, "First byte of the index."),
        Field("count", "<u8", FieldRole.COUNT, "Number of entries."),
    ),
)
MEANINGS = {"offset": Meaning("first byte of the object", "byte"), "within": Meaning("", "byte", relative=True)}


def drawn(*spans: Span, sections: tuple[Section, ...] = SECTIONS, **content: Any) -> Drawing:
    def lookup(recorder: LookupRecorder) -> ObjectRef:
        recorder.step("A step", "It reads.", *spans, meanings=MEANINGS, **content)
        raise KeyAbsent("key")

    (step,) = record_lookup("key", lookup, sections=lambda: sections).steps
    assert step.drawing is not None
    return step.drawing


def links(drawing: Drawing) -> list[tuple[str, str]]:
    return [(link.start, link.stop) for link in drawing.links]


def test_values_and_bytes() -> None:
    place = Span("", 904, 912)
    drawing = drawn(Span("", 900, 912), at={"offset": place}, offset=500, within=3, equal=True)
    table, close, file = drawing.figures
    rows = [["offset", "0x1f4"], ["within", "0x3"], ["equal", "yes"]]
    assert [[item.text for item in row[:2]] for row in table.rows] == rows
    assert [row[1].spans for row in table.rows] == [(place,), (), ()]
    assert [(item.text, item.at, item.size) for item in close.items] == [("12 bytes", 900, 12), ("offset", 904, 8)]
    assert [item.text for item in file.items] == ["header", "data", "index", "12 bytes", "offset"]
    assert links(drawing) == [("value offset", "byte of offset")]
    assert drawing.caption == "It reads."


def test_fields_refer_to_sections() -> None:
    values = {"magic": b"TEST", "index_offset": 900, "count": 2}
    drawing = drawn(Span("", 0, 16), shown=(Fields(HEADER, 0, values),), count=2)
    fields, file = drawing.figures
    rows = [["0x0", "magic", "TEST"], ["0x4", "index_offset", "0x384"], ["0x8", "count", "2"]]
    assert [[item.text for item in row] for row in fields.rows] == rows
    assert fields.items[3].spans == (Span("", 4, 8),)
    assert links(drawing) == [("field index_offset", "section at 900")]
    assert [item.text for item in file.items] == ["header", "data", "index", "16 bytes"]
    assert links(drawn(Span("", 0, 16), shown=(Fields(HEADER, 0, values, relative=True),))) == []


def test_compared_bytes() -> None:
    drawing = drawn(Span("", 900, 904), shown=(Compared("Stored", b"abcdef", b"abXd", Span("", 900, 904)),))
    wanted, stored = drawing.figures[:2]
    assert [item.text for item in wanted.items] == ["61", "62", "63", "64", "65", "66"]
    assert [item.text for item in stored.items] == ["61", "62", "58", "64", "none", "none"]
    assert [item.tone is Tone.HIT for item in stored.items] == [True, True, False, True, False, False]
    assert stored.items[2].spans == (Span("", 902, 903),)
    words = drawn(shown=(Compared("Stored", bytes(range(16)), bytes(range(16)), words=True),)).figures[1]
    assert [item.text for item in words.items] == ["0706050403020100", "0f0e0d0c0b0a0908"]


def test_bytes_of_other_sources_have_rulers_of_their_own() -> None:
    drawing = drawn(Span("side.json", 10, 20), Span("@900-1000", 0, 8), offset=5000)
    titles = [figure.title for figure in drawing.figures if isinstance(figure, Ruler)]
    assert titles == ["Bytes 0xa–0x13 of side.json", "Bytes 0x0–0x7 of the decoded bytes 0x384–0x3e7"]
    assert drawing.links == ()
    assert drawn(Span("", 3, 5), sections=()).figures[0].title == "Bytes 0x3–0x4"
    assert drawn().figures == ()


def test_much_is_cut() -> None:
    sections = tuple(Section(str(n), SectionRole.DATA, 100 * n, 100 * n + 100) for n in range(50))
    spans = [Span("", 100 * n + 5, 100 * n + 6) for n in range(0, 50, 3)]
    meta = {f"name {n}": "x" * 300 for n in range(40)}
    drawing = drawn(*spans, sections=sections, meta=meta, **{f"offset {n}": n for n in range(10)})
    assert len(drawing.items) <= MOST_ITEMS
    table = drawing.figures[0]
    assert len(table.rows) + drawing.more == 50 + len(spans) - 6
    assert table.rows[0][0].text == "meta.name 0"
    assert len(table.rows[0][1].text) < 100
