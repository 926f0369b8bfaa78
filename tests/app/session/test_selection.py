"""Selections on files of every format: bytes, nodes and objects lead to each other; findings on bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import DataSet, Finding, Severity, Shard, Span
from shardscope.session.byte_marks import Marks
from shardscope.session.selection import main_span, of_row, of_span
from shardscope.session.session import Session
from shardscope.views.structure.node_model import NODE_ROLE, NodeModel
from tests.app.conftest import open_in

SAMPLES = [
    "swh/small.shard",
    "swh/medium.shard",
    "swh/deleted.shard",
    "bloscpack/array.blp",
    "bloscpack/meta_1.blp",
    "des/zstd.des",
    "des/v1.des",
    "des/v2_gaps_reordered.des",
    "des",
    "mdb/cas/shards/7dc9dc6dbd065c822cae1722d9af28c88afff971fd4a9689dae0f68ca981d5b3.mdb",
    "neuroglancer/bare_shard/0.shard",
    "neuroglancer/volume/4_4_40",
    "neuroglancer/volume/8_8_80",
]


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest, data: Path) -> Path:
    """One file or folder after the other."""
    return data / str(request.param)


@pytest.fixture
def shard(sample: Path) -> Iterator[Shard]:
    """The sample, with its index."""
    with shardcore.open(sample) as opened:
        opened.load_index()
        yield opened


def sources(shard: Shard) -> list[str]:
    """The names of the files that a shard has."""
    return [member.name for member in shard.members] if isinstance(shard, DataSet) else [""]


def some_spans(shard: Shard, name: str) -> list[Span]:
    """Bytes all over a source, its ends included."""
    size = shard.bytes_of(name).size
    step = max(size // 40, 1)
    return [Span(name, offset, offset + 1) for offset in {*range(0, size, step), size - 1}]


def test_objects_lead_to_their_bytes_and_back(shard: Shard) -> None:
    seen = 0
    rows = len(shard.objects)
    for row in range(0, rows, max(rows // 60, 1)):
        found = of_row(shard, row)
        assert found.complete
        assert found.ref.row == row
        if found.span is None or not found.span.size:
            continue
        assert found.path[-1].span.start <= found.span.start
        again = of_span(shard, found.span)
        assert again.row is not None
        other = shard.objects.ref(again.row)
        # Two rows may share their bytes; then either may be told.
        assert again.row == row or main_span(other) == found.span
        seen += again.row == row
    assert seen or not rows


def test_every_byte_can_be_shown_in_the_tree(session: Session, qtbot: QtBot, sample: Path) -> None:
    open_in(session, qtbot, sample)
    shard = session.shard
    model = NodeModel(session)
    model.load()
    qtbot.waitUntil(lambda: model.rowCount() == 1)
    spans = [span for name in sources(shard)[:4] for span in some_spans(shard, name)[::5]]
    decoded = {node.decoded for span in spans for node in shard.whole_path(span.start, span.source) if node.decoded}
    spans += [span for name in sorted(decoded)[:3] for span in some_spans(shard, name)[:3]]
    for span in spans:
        path = shard.whole_path(span.start, span.source)
        with qtbot.waitSignal(model.revealed) as caught:
            model.reveal(path)
        found = caught.args[0].data(NODE_ROLE)
        assert (found.name, found.span) == (path[-1].name, path[-1].span)


def test_an_entry_selects_its_object_before_the_index_is_read(data: Path) -> None:
    with shardcore.open(data / "swh" / "medium.shard") as shard:
        assert not shard.loaded
        section = next(s for s in shard.sections if s.name == "index")
        for row in (0, 700, 2026):
            found = of_span(shard, Span("", section.start + 40 * row + 35, section.start + 40 * row + 36))
            assert found.row == row


def test_decoded_bytes_belong_to_their_object(data: Path) -> None:
    with shardcore.open(data / "neuroglancer" / "volume" / "4_4_40") as shard:
        shard.load_index()
        ref = shard.objects.ref(5)
        stored = ref.spans[0]
        decoded = Span(f"{stored.source}@{stored.start}-{stored.stop}", 7, 8)
        found = of_span(shard, decoded)
        assert found.row == 5
        assert any(node.span == stored for node in found.path)


def test_an_object_is_not_named_after_its_first_field(data: Path) -> None:
    with shardcore.open(data / "bloscpack" / "array.blp") as shard:
        shard.load_index()
        found = of_row(shard, 1)
        assert found.path[-1].name == "chunk 1"
        again = of_span(shard, found.span)
        assert [node.name for node in again.path] == [node.name for node in found.path]
        assert again.row == 1


spans = st.tuples(st.integers(0, 200), st.integers(0, 60), st.sampled_from(Severity))


@given(st.lists(spans, max_size=30), st.integers(0, 250), st.integers(1, 60))
def test_marks_that_touch_are_found(found: list[tuple[int, int, Severity]], start: int, size: int) -> None:
    findings = [Finding(s, "a.b", Span("", at, at + n), str(number)) for number, (at, n, s) in enumerate(found)]
    expected = {
        f.message
        for f in findings
        if f.span and f.span.start < start + size and max(f.span.stop, f.span.start + 1) > start
    }
    assert {mark.message for mark in Marks(findings).inside(start, start + size)} == expected


def test_the_worst_comes_first_on_a_byte() -> None:
    findings = [Finding(s, "a.b", Span("", 0, 10), s.value) for s in (Severity.NOTE, Severity.ERROR, Severity.WARNING)]
    marks = Marks(findings)
    assert [mark.message for mark in marks.at(5)] == ["error", "warning", "note"]
    assert [mark.message for mark in marks.inside(0, 10)] == ["note", "warning", "error"]


def test_very_many_marks_are_cut() -> None:
    findings = [Finding(Severity.NOTE, "a.b", Span("", n, n + 1), "note") for n in range(1000)]
    findings.append(Finding(Severity.ERROR, "a.c", Span("", 3, 4), "error"))
    shown = Marks(findings).inside(0, 2000, most=10)
    assert len(shown) == 10
    assert shown[-1].message == "error"
