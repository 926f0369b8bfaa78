"""Who leads here: slots, entries, tables and fields, found by what they point to."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.model.span import Span
from shardcore.operations.references import References, references_to

SHARDS = (
    *("swh/small.shard", "des/tiny.des", "des/v1.des", "bloscpack/codec_lz4_1.blp", "bloscpack/no_offsets.blp"),
    *("neuroglancer/tiny_worked_example/0.shard", "neuroglancer/skeletons_murmur_gzip/0.shard", "neuroglancer/mesh"),
    *("des/sidecar", "mdb/cas/shard-cache"),
)


MDB = "mdb/cas/shard-cache/e74f6896fcb34a8319a97331d6b89e63c376d2da50068dce9e7f253a198b73a7.mdb"


def places(leads: References) -> list[tuple[int, int]]:
    return [(lead.span.start, lead.span.stop) for lead in leads.found]


@pytest.mark.parametrize("sample", SHARDS)
def test_something_leads_to_every_object(sample: str, data: Path) -> None:
    with shardcore.open(data / sample) as shard:
        shard.load_index()
        for row in range(min(len(shard.objects), 12)):
            ref = shard.objects.ref(row)
            span = next((span for span in ref.spans if span.size), None)
            if span is None:
                continue
            leads = references_to(shard, span)
            assert leads.found, (sample, ref.key)
            assert leads.complete
            for lead in leads.found:
                assert lead.target.source == span.source
                assert lead.target.start < span.stop
                assert span.start < max(lead.target.stop, lead.target.start + 1)
                assert lead.names
                assert lead.why.endswith(".")
                assert shard.bytes_of(lead.span.source).size >= lead.span.stop


def test_from_the_header_to_an_object(data: Path) -> None:
    with shardcore.open(data / "swh/small.shard") as shard:
        before = references_to(shard, Span("", 1200, 1201))
        assert (places(before), before.complete) == ([(48, 56)], False)
        shard.load_index()
        assert places(references_to(shard, Span("", 1200, 1201))) == [(4497, 4505), (48, 56)]
        slot = references_to(shard, Span("", 4500, 4500)).found
        assert [lead.names[-1] for lead in slot][-1] == "index_position"
        assert "displacement of bucket" in slot[0].why


def test_all_files_that_use_a_chunk(data: Path) -> None:
    with shardcore.open(data / MDB) as shard:
        shard.load_index()
        xorb = references_to(shard, Span("", 960, 1488))
        files = {lead.names[1] for lead in xorb.found if lead.names[0] == "file info"}
        assert len(files) == 4
        few = references_to(shard, Span("", 960, 1488), 3)
        assert (len(few.found), few.more) == (3, len(xorb.found) - 3)
        hash_of = next(key for key in shard.objects.keys[:] if key and key.startswith("xorb:"))
        stored = references_to(shard, Span(hash_of, 100, 101)).found
        assert {lead.names[0] for lead in stored} == {"file info", "xorb info (CAS info)"}


def test_decoded_bytes_are_led_to_by_stored_ones(data: Path) -> None:
    with shardcore.open(data / "neuroglancer/skeletons_murmur_gzip") as shard:
        shard.load_index()
        leads = references_to(shard, Span("0.shard@3049-3152", 0, 8))
        assert leads.found[0].span == Span("0.shard", 3049, 3152)
        assert leads.found[0].names[0] == "0.shard"
