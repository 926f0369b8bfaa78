"""The rows of the inspector: what they say of any node and of any object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import FieldRole, Node, ObjectRef, Span, State
from shardcore.model.details import headline
from shardcore.shards.registry import all_formats, format_of
from shardcore.teaching import resources
from shardscope.views.inspector.node_details import PENDING, DetailRow, node_rows
from shardscope.views.inspector.object_details import object_rows


def test_rows_of_any_node() -> None:
    """Bits, errors, decoded sources and long texts have rows of their own; a long text is copied whole."""
    node = Node(
        "n",
        Span("", 8, 16),
        value=-5,
        text="x" * 1000,
        role=FieldRole.BITS,
        error="too large",
        bits=(3, 4),
        decoded="@8-16",
    )
    rows = {row.name: row for row in node_rows(node, None)}
    assert rows["bits"].text == "bit 3"
    assert (rows["value"].text, rows["hex"].text) == ("-5", "0xfffffffffffffffb")
    assert rows["error"].tone == "error"
    assert rows["decoded"].target == Span("@8-16", 0, 1)
    assert len(rows["text"].text) < 500
    assert len(rows["text"].copied) == 1000
    assert rows["raw"].text == PENDING


def test_no_language_of_programs_is_shown() -> None:
    """Lists, mappings and nothing are said in words: who reads the panel need not know Python."""
    ref = ObjectRef("k", 0, (), extras={"meta": {"created_at": None, "tags": ["a", 1]}, "zero": None, "flag": True})
    rows = {row.name: row.text for row in object_rows(ref)}
    assert rows["meta"] == "created_at: none\ntags: a, 1"
    assert "zero" not in rows
    assert rows["flag"] == "yes"


def test_facts_about_objects_are_told_as_their_users_say_them() -> None:
    """What only the program knows is left out, what is said twice is said once, and the rest has words and units."""
    extras = {
        "member_row": 3,
        "record": (0, 9),
        "compressed_size": 9,
        "uncompressed_size": 5,
        "offset": 4,
        "index_size": -1,
        "checksum": "ab" * 16,
        "checksum_algo": "md5",
        "voxel_begin": [8, 0],
        "voxel_end": [16, 8],
        "shape": [8, 8, 1],
        "segments": [{"xorb": "6d" * 32, "start": 3, "end": 1200, "bytes": 2000}] * 10,
        "typesize": 8,
        "key_hex": "ff",
        "copies": [],
        "eligible": False,
        "keyed": True,
        "verified": True,
        "start": 70_000,
    }
    details = {name: one for found in all_formats() for name, one in found.details.items()}
    rows = {row.name: row.text for row in object_rows(ObjectRef("k", 0, (), 5, 9, extras=extras), details)}
    assert {"member_row", "record", "compressed_size", "offset", "copies", "index size"} & set(rows) == set()
    assert rows["digest"] == "md5 " + "ab" * 16
    assert (rows["voxels"], rows["shape"], rows["typesize"]) == ("8..16 × 0..8", "8 × 8 × 1", "8 bytes")
    segments = rows["segments"].split("\n")
    assert segments[0] == "chunks 3..1,200 of xorb 6d6d6d6d…d6d6d6d, 2,000 bytes"
    assert segments[-1] == "and 5 more"
    assert (rows["key in hex"], rows["uncompressed offset"]) == ("ff", "0x11170")
    unused = [row.name for row in object_rows(ObjectRef(None, 9, (), -1, -1, state=State.UNUSED))]
    assert unused == ["key", "state"]


@pytest.mark.thorough
def test_every_sample_reads_as_words(data: Path) -> None:
    """In every format nothing that is said about a field or an object looks like a program."""
    files = [
        *sorted(data.glob("*/*.*")),
        data / "neuroglancer/volume/4_4_40",
        *(sample.path for sample in resources.samples() if sample.role is not resources.Role.DAMAGED),
    ]
    seen = 0
    for path in files:
        if path.suffix not in {".shard", ".blp", ".des", ".mdb", ".xorb", ""}:
            continue
        with shardcore.open(path, partial=True) as shard:
            shard.load_index()
            refs = [shard.objects.ref(row) for row in range(min(len(shard.objects), 12))]
            rows = [row for ref in refs for row in object_rows(ref, format_of(shard.format).details)]
            # What a file says itself, as JSON, it may say as it likes.
            for node in (one for one in first_nodes(shard.tree, 4) if one.role is not FieldRole.TEXT):
                rows += node_rows(node, b"")
                rows.append(DetailRow("headline", headline(node)))
            for row in rows:
                assert row.name in ("hex", "raw") or not PROGRAM.search(row.text), (path.name, row)
                assert "_" not in row.name
            seen += len(rows)
    assert seen > 2000


PROGRAM = re.compile(r"None|True|False|[\[{]['\"(]|\bb'|@\d|^\(|\\u|\b0x00+\b ?$|^\d+ \(")
"""Values as Python writes them, names of decoded sources, numbers before the name that they stand for."""


def first_nodes(root: Node, levels: int) -> Iterator[Node]:
    """The first nodes of the first levels."""
    yield root
    kids = root.children
    if levels:
        for number in range(min(len(kids), 4)):
            yield from first_nodes(kids[number], levels - 1)


def test_rows_of_any_object() -> None:
    """An object without a key, of unknown size, in a data set, damaged: all of it is said."""
    ref = ObjectRef(
        None, 3, (Span("a.shard", 1, 2),), state=State.DAMAGED, kind="chunk", shard="a.shard", error="bad", parts=("p",)
    )
    rows = {row.name: row for row in object_rows(ref)}
    assert rows["key"].text == "none"
    assert rows["size"].text == "unknown until read"
    assert rows["state"].tone == "error"
    assert (rows["kind"].text, rows["shard"].text, rows["parts"].text) == ("chunk", "a.shard", "p")
    assert "of a.shard" in rows["content"].text
    assert rows["error"].tone == "error"
