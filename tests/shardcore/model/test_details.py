"""Details of fields: what they say first, and lines that give the value again."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shardcore
from shardcore import FieldRole, Node, Shard, Span
from shardcore.cli.program import app
from shardcore.model.computed_children import Children
from shardcore.model.details import OpenedWith, card_of, headline, sum_text

DATA = Path(__file__).parents[2] / "data"


def fields(shard: Shard) -> Iterator[tuple[Node, ...]]:
    def walk(path: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
        node = path[-1]
        kids = node.children[:2] if isinstance(node.children, Children) else node.children
        if node.value is not None and node.span.size and not kids:
            yield path
        for kid in kids if len(path) < 6 else ():
            yield from walk((*path, kid))

    return walk((shard.tree,))


SAMPLES = (
    *("swh/small.shard", "bloscpack/array.blp", "xorb/lz4.xorb", "mdb/derived/keyed_full.mdb", "des/meta.des"),
    "neuroglancer/tiny_worked_example/0.shard",
)


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_lines_of_a_card_give_its_value(sample: str) -> None:
    path = DATA / sample
    with shardcore.open(str(path)) as shard:
        shard.load_index()
        found = [one for one in fields(shard) if all(node.span.source == "" for node in one)]
        wanted = {id(one[-1]): one for one in found[:: max(len(found) // 12, 1)]}
        for one in wanted.values():
            node = one[-1]
            owner = shard.explain(node.span.start)[-1]
            if owner.span != node.span or node.bits is not None:
                continue
            card = card_of(one, b"", str(path))
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(card.python, {})  # noqa: S102 - these are the lines that a card gives
            assert told.getvalue().rstrip("\n") == str(node.value), (node.name, card.python)
    command = shlex.split(card.command)
    answer = CliRunner().invoke(app, [*command[1:], "--json"])
    assert answer.exit_code == 0
    assert f'"{node.name}"' in answer.stdout


def test_lines_open_it_as_it_was_opened() -> None:
    path = DATA.parents[1] / "resources" / "samples" / "des" / "damaged" / "20260105_2A_0000.des"
    store = {"endpoint_url": "http://store", "anonymous": True, "region": None}
    with shardcore.open(str(path), partial=True) as shard:
        nodes = (shard.tree, shard.tree.children[0])
        card = card_of(nodes, b"", "s3://b/a", OpenedWith("des", {"date": "2026-01-05"}, store), key="7")
        whole = card_of(nodes, b"", str(path), OpenedWith(partial=True))
    flags = "--format des --date 2026-01-05 --endpoint-url http://store --no-sign-request"
    assert card.get == f"shardcore get s3://b/a {flags} 7"
    assert card.command.endswith(flags)
    assert "remote=shardcore.RemoteOptions(endpoint_url='http://store', anonymous=True)" in card.python
    assert card.link.endswith(" --format des")
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(whole.python, {})  # noqa: S102 - these are the lines that a card gives
    assert told.getvalue().startswith("44 45 53 32")


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
