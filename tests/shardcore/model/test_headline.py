"""What a node says first, and how it adds up."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore import FieldRole, Node, Span
from shardcore.model.details import headline, sum_text


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (Node("n", Span("", 0, 8), value=520, text="520", role=FieldRole.SIZE), "520 bytes"),
        (Node("n", Span("", 0, 3), value=b"\x34\x06\x00", text="1588", role=FieldRole.SIZE), "1,588 bytes"),
        (Node("n", Span("", 0, 8), value=-1, text="-1", role=FieldRole.SIZE), "-1"),
        (Node("n", Span("", 0, 8), value=4465, text="0x1171", role=FieldRole.OFFSET), "0x1171"),
        (Node("n", Span("", 0, 1), value=2, text="2", role=FieldRole.VERSION), "2"),
        (Node("n", Span("", 0, 1), value=3, text="0x03 a, b", role=FieldRole.FLAGS), "a, b"),
        (Node("n", Span("", 0, 1), value=1, text="1 (lz4)", role=FieldRole.CODEC), "lz4"),
        (Node("n", Span("", 0, 4), value=3, text="ONE | TWO", role=FieldRole.FLAGS), "ONE, TWO"),
        (Node("n", Span("", 0, 4), value=0, text="0x00000000", role=FieldRole.FLAGS), "none set"),
        (Node("n", Span("", 0, 4), value=3, text="4 (other)", role=FieldRole.FLAGS), "4 (other)"),
        (Node("n", Span("", 0, 9), value="Größe", text='"Gr\\u00f6\\u00dfe"', role=FieldRole.TEXT), "Größe"),
        (Node("n", Span("", 0, 1)), ""),
    ],
)
def test_the_value_as_a_person_reads_it(node: Node, said: str) -> None:
    assert headline(node) == said


@pytest.mark.parametrize(
    ("file", "offset", "sums"),
    [
        ("swh/small.shard", 72, {"index_size": "13 slots × 40", "index": "13 slots × 40"}),
        ("bloscpack/array.blp", 8, {"chunk_size": "300 items × 8"}),
    ],
)
def test_formats_state_their_sums(data: Path, file: str, offset: int, sums: dict[str, str]) -> None:
    with shardcore.open(data / file) as shard:
        found = {node.name: node for kid in shard.tree.children for node in (kid, *kid.children[:20])}
    assert {name: sum_text(found[name]) for name in sums} == sums


def test_every_field_states_its_type(data: Path) -> None:
    with shardcore.open(data / "swh/small.shard") as shard:
        fields = {node.name: node.type for node in shard.tree.children[0].children}
    assert fields["index_size"] == "u64 BE"
    assert fields["magic"] == "bytes[32]"
