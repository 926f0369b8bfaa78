"""Who leads here: slots, entries, tables and fields, found by what they point to."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.model.span import Span
from shardcore.operations.references import Leads, leads_to

SHARDS = (
    "swh/small.shard",
    "des/tiny.des",
    "des/v1.des",
    "bloscpack/codec_lz4_1.blp",
    "bloscpack/no_offsets.blp",
    "neuroglancer/tiny_worked_example/0.shard",
    "neuroglancer/skeletons_murmur_gzip/0.shard",
    "neuroglancer/mesh",
    "des/sidecar",
    "mdb/cas/shard-cache",
)


def places(leads: Leads) -> list[tuple[int, int]]:
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
            leads = leads_to(shard, span)
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
        before = leads_to(shard, Span("", 1200, 1201))
        assert (places(before), before.complete) == ([(48, 56)], False)
        shard.load_index()
        assert places(leads_to(shard, Span("", 1200, 1201))) == [(4497, 4505), (48, 56)]
        slot = leads_to(shard, Span("", 4500, 4500)).found
        assert [lead.names[-1] for lead in slot][-1] == "index_position"
        assert "displacement of bucket" in slot[0].why
