"""The records that rows can have the width of, and that are framed: found on the path to a byte."""

from __future__ import annotations

import pytest

import shardcore
from shardcore import BytesSource, Node, Shard, Span
from shardcore.teaching import resources
from shardscope.views.hex.row_width import record_of, table_record_of
from shardscope.views.hex.scene import frames_of
from tests.app.hex_samples import INDEX, SLOT, sample_tree

ROOT = sample_tree()
INDEX_NODE = ROOT.children[1]


def test_a_table_offers_its_record() -> None:
    """Inside of a table its record is offered, with the name of its rows; on a field outside of tables nothing is."""
    slot = INDEX_NODE.children[2]
    path = (ROOT, INDEX_NODE, slot, slot.children[1])
    assert table_record_of(path, "") == (SLOT.size, "record")
    assert record_of(path, "") == (SLOT.size, INDEX + 2 * SLOT.size)
    header = ROOT.children[0]
    assert table_record_of((ROOT, header, header.children[0]), "") is None
    assert table_record_of((), "") is None
    named = Node("slot 2", slot.span, children=slot.children)
    assert table_record_of((ROOT, INDEX_NODE, named, named.children[0]), "") == (SLOT.size, "slot")
    assert table_record_of(path, "elsewhere") is None


def test_field_and_record_are_framed() -> None:
    """The named bytes, then what they are part of; the whole file is no record."""
    slot = INDEX_NODE.children[2]
    key = slot.children[0]
    both = ((key.span.start, key.span.stop), (slot.span.start, slot.span.stop))
    assert frames_of((ROOT, INDEX_NODE, slot, key), "") == both
    assert frames_of((ROOT, INDEX_NODE), "") == ((INDEX_NODE.span.start, INDEX_NODE.span.stop),)
    assert frames_of((ROOT, INDEX_NODE, slot), "") == ((slot.span.start, slot.span.stop),)
    assert frames_of((ROOT,), "") == ()
    assert frames_of((ROOT, INDEX_NODE, slot, key), "@0-8") == ()


def opened(title: str) -> Shard:
    """A sample, with its index."""
    path = next(one.path for one in resources.samples() if title in str(one.path))
    return shardcore.open(path)


@pytest.mark.parametrize("title", ["swh/small", "bloscpack/array"])
def test_a_thousand_rows_are_no_record(title: str) -> None:
    """At every field of a sample the field is framed, and the record around it holds it."""
    with opened(title) as shard:
        shard.load_index()
        for path in shard.fields_in(0, 4096):
            frames = frames_of(path, "")
            assert frames[0] == (path[-1].span.start, path[-1].span.stop)
            for outer, inner in zip(frames[1:], frames, strict=False):
                assert outer[0] <= inner[0] <= inner[1] <= outer[1]


def test_nothing_is_framed_in_an_empty_source() -> None:
    """A source without bytes has no frame."""
    assert frames_of((Node("nothing", Span("", 0, BytesSource(b"").size)),), "") == ()
