"""The tree: dates, flags, links, and what is shown of a shard that breaks off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import shardcore
from shardcore.formats.mdb.layout import ChunkFlag, FileFlag
from shardcore.formats.mdb.lookup import MdbLookup
from shardcore.formats.mdb.record_nodes import flags_text
from shardcore.formats.mdb.tree import date_text, expiry_text
from shardcore.model.node import Node
from shardcore.testing import check_explained

DATA = Path(__file__).parents[3] / "data" / "mdb"


def named(node: Node, *path: str) -> Node:
    """The node at a path of names, or of their beginnings."""
    for name in path:
        node = next(child for child in node.children if child.name.startswith(name))
    return node


def test_dates() -> None:
    """Times are dates in UTC; none, for ever, and what no calendar has are said so."""
    assert date_text(1795213810) == "2026-11-20 22:30:10 UTC"
    assert date_text(0) == "not recorded"
    assert "past the year 9999" in date_text(2**64 - 2)
    assert expiry_text(2**64 - 1) == "never expires"
    assert expiry_text(0) == "not recorded"
    day = datetime(2026, 12, 1, tzinfo=UTC)
    assert expiry_text(1797028210, day) == "valid until 2026-12-11 22:30:10 UTC"
    assert expiry_text(1794349810, day) == "expired since 2026-11-10 22:30:10 UTC"


def test_an_expired_shard_reads_as_before() -> None:
    """A shard whose time is over opens, is verified without an error, and the finding is a note."""
    with shardcore.open(DATA / "derived" / "expired.mdb") as shard:
        notes = [finding for finding in shard.verify("structure").findings if finding.code == "mdb.expired"]
        assert len(notes) == 1
        assert notes[0].severity is shardcore.Severity.NOTE
        assert "2026-11-10" in notes[0].message
        assert "expired since" in named(shard.tree, "footer", "shard_key_expiry").text


def test_flags_by_name() -> None:
    """Bits have names; bits without one stay as a number."""
    assert flags_text(0xC0000000, FileFlag) == "WITH_VERIFICATION | WITH_METADATA_EXT"
    assert flags_text(1 << 31 | 5, ChunkFlag) == "GLOBAL_DEDUP_ELIGIBLE | 0x00000005"
    assert flags_text(0, ChunkFlag) == "0x00000000"


def test_every_table_row_is_a_link() -> None:
    """Rows of the lookup tables point at the records they name; so do segments and the footer's offsets."""
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        shard.load_index()
        for kind, head in (("file", "file "), ("xorb", "xorb ")):
            for row in named(shard.tree, f"{kind} lookup").children:
                assert row.target is not None
                path = shard.explain(row.target.start)
                assert path[2].name.startswith(head + row.text.removesuffix("…"))
        for row in named(shard.tree, "chunk lookup").children:
            assert row.target is not None
            assert shard.explain(row.target.start)[-2].text.startswith(row.text.removesuffix("…"))
        footer = named(shard.tree, "footer")
        for name in ("file_info_offset", "cas_info_offset", "file_lookup_offset", "footer_offset"):
            node = named(footer, name)
            assert node.target is not None
            assert node.target.start == node.value
        segment = named(shard.tree, "file info", "file eea76e", "segments", "segment 0")
        assert segment.target is not None
        assert shard.explain(segment.target.start)[-2].name == "chunk 7"


def test_reserved_fields_are_named_and_noted() -> None:
    """Fields that the published page calls reserved are shown by their names, with a sentence on the difference."""
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        shard.load_index()
        for name in ("file_lookup_offset", "chunk_lookup_num_entry", "stored_bytes", "materialized_bytes"):
            differs = named(shard.tree, "footer", name).differs
            assert differs is not None
            assert differs.sentence.startswith("Specification: these bytes are reserved. In practice: writers use them")
        flags = named(shard.tree, "xorb info (CAS info)", "xorb 6d9a", "chunks", "chunk 0", "flags")
        assert flags.differs is not None
        assert "reserved" in flags.differs.page


def test_before_loading_records_are_plain(make_shard: Callable[..., bytes]) -> None:
    """A large shard is painted record by record before its index is loaded, and by kind after."""
    data = make_shard(4, 300, 2, 600)
    with shardcore.open(data) as shard:
        assert not shard.loaded
        check_explained(shard, complete=False)
        assert shard.explain(48)[1].name == "file info"
        assert "Loading the index shows what each record is" in shard.explain(48)[1].doc
        shard.load_index()
        check_explained(shard)
        assert shard.explain(48)[-1].name == "file_hash"


@pytest.mark.parametrize("cut", [1000, 1001, 960 + 48 * 5])
def test_a_cut_upload_form_keeps_what_is_whole(cut: int) -> None:
    """Without a footer, a file that ends early keeps its complete files and xorbs; the rest is shown as unread."""
    data = (DATA / "derived" / "upload_form.mdb").read_bytes()[:cut]
    with shardcore.open(data) as shard:
        shard.load_index()
        check_explained(shard)
        assert [key for key in shard.objects.keys[:] if key and ":" not in key]
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.walk"}
        assert shard.explain(cut - 1)[-1].name == "unread"


def test_a_gap_is_unknown_and_said() -> None:
    """Bytes between the parts belong to nobody, visibly."""
    data = (DATA / "derived" / "upload_form.mdb").read_bytes() + bytes(70)
    with shardcore.open(data) as shard:
        assert shard.sections[-1].role is shardcore.SectionRole.UNKNOWN
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.gap"}


@pytest.mark.parametrize("name", ["derived/keyed_full.mdb", "derived/plain_no_tables.mdb", "derived/upload_form.mdb"])
def test_nodes_say_to_which_object_they_belong(name: str) -> None:
    """The records of a file, xorb or chunk, and the table entries that lead to them, have its row."""
    with shardcore.open(DATA / name) as shard:
        shard.load_index()
        for row in range(len(shard.objects)):
            ref = shard.objects.ref(row)
            for offset in {ref.spans[0].start, ref.spans[0].stop - 1} if ref.kind != "xorb" else {ref.spans[0].start}:
                rows = [node.row for node in shard.explain(offset) if node.row is not None]
                assert rows[-1] == row
        for section in shard.tree.children:
            if section.name.endswith("lookup"):
                kind = section.name.split()[0]
                found = sorted(
                    shard.objects.ref(entry.row).key or "" for entry in section.children if entry.row is not None
                )
                keys = sorted(key or "" for key in shard.objects.keys[:] if MdbLookup.parse(key or "").kind == kind)
                assert found == keys


def test_entries_have_no_row_before_the_index_is_loaded(make_shard: Callable[..., bytes]) -> None:
    """Nothing is read to tell the row of a table entry."""
    with shardcore.open(make_shard(4, 300, 2, 600)) as shard:
        assert not shard.loaded
        node = named(shard.tree, "file lookup").children[0]
        assert node.row is None
        assert not shard.loaded
        shard.load_index()
        assert named(shard.tree, "file lookup").children[0].row == 0


def test_an_entry_that_leads_past_its_section_says_so() -> None:
    """It has no target and no row, and an error."""
    data = bytearray((DATA / "derived" / "keyed_full.mdb").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        start = named(shard.tree, "file lookup").span.start
    data[start + 8 : start + 12] = b"\xff" * 4
    with shardcore.open(bytes(data)) as shard:
        node = named(shard.tree, "file lookup").children[0]
        assert (node.target, node.row, node.error) == (None, None, "points past the end of its section")
