"""The tree: dates, flags, links, and what is shown of a shard that breaks off."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.formats.mdb.tree import date_text
from shardcore.model.node import Node
from shardcore.testing import check_explained
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[3] / "data" / "mdb"


def named(node: Node, *path: str) -> Node:
    for name in path:
        node = next(child for child in node.children if child.name.startswith(name))
    return node


def test_times_past_the_calendar_are_shown() -> None:
    assert "9999" in date_text(2**64 - 2)


def test_an_expired_shard_reads_as_before() -> None:
    with shardcore.open(DATA / "derived" / "expired.mdb") as shard:
        notes = [finding for finding in shard.verify("structure").findings if finding.code == "mdb.expired"]
        assert len(notes) == 1
        assert notes[0].severity is shardcore.Severity.NOTE


def test_every_table_row_is_a_link() -> None:
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        shard.load_index()
        for kind, head in (("file", "file "), ("xorb", "xorb ")):
            for row in named(shard.tree, f"{kind} lookup").children:
                path = shard.explain(row.target.start)
                assert path[2].name.startswith(head + row.text.removesuffix("…"))
        for row in named(shard.tree, "chunk lookup").children:
            assert shard.explain(row.target.start)[-2].text.startswith(row.text.removesuffix("…"))
        footer = named(shard.tree, "footer")
        for name in ("file_info_offset", "cas_info_offset", "file_lookup_offset", "footer_offset"):
            node = named(footer, name)
            assert node.target.start == node.value
        segment = named(shard.tree, "file info", "file eea76e", "segments", "segment 0")
        assert shard.explain(segment.target.start)[-2].name == "chunk 7"


def test_before_loading_records_are_plain() -> None:
    data = made_shard(4, 300, 2, 600)
    with shardcore.open(data) as shard:
        assert not shard.loaded
        check_explained(shard, complete=False)
        assert shard.explain(48)[1].name == "file info"
        shard.load_index()
        check_explained(shard)
        assert shard.explain(48)[-1].name == "file_hash"


@pytest.mark.parametrize("cut", [1000, 1001, 960 + 48 * 5])
def test_a_cut_upload_form_keeps_what_is_whole(cut: int) -> None:
    data = (DATA / "derived" / "upload_form.mdb").read_bytes()[:cut]
    with shardcore.open(data) as shard:
        shard.load_index()
        check_explained(shard)
        assert [key for key in shard.objects.keys[:] if key and ":" not in key]
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.walk"}
        assert shard.explain(cut - 1)[-1].name == "unread"


def test_a_gap_is_unknown_and_said() -> None:
    data = (DATA / "derived" / "upload_form.mdb").read_bytes() + bytes(70)
    with shardcore.open(data) as shard:
        assert shard.sections[-1].role is shardcore.SectionRole.UNKNOWN
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.gap"}


def test_an_entry_that_leads_past_its_section_says_so() -> None:
    data = bytearray((DATA / "derived" / "keyed_full.mdb").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        start = named(shard.tree, "file lookup").span.start
    data[start + 8 : start + 12] = b"\xff" * 4
    with shardcore.open(bytes(data)) as shard:
        node = named(shard.tree, "file lookup").children[0]
        assert (node.target, node.row) == (None, None)
        assert node.error
