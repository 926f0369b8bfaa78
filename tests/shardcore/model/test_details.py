"""Cards: what they say, and that their lines give the value again."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shardcore
from shardcore import Node, Shard
from shardcore.cli.program import app
from shardcore.model.children import Children
from shardcore.model.copy_forms import OpenedWith
from shardcore.model.details import card_of

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


def samples() -> list[Path]:
    return [
        DATA / "swh" / "small.shard",
        DATA / "bloscpack" / "array.blp",
        DATA / "xorb" / "lz4.xorb",
        DATA / "mdb" / "derived" / "keyed_full.mdb",
        DATA / "des" / "meta.des",
        DATA / "neuroglancer" / "tiny_worked_example" / "0.shard",
    ]


@pytest.mark.parametrize("path", samples(), ids=lambda path: path.suffix)
def test_the_lines_of_a_card_give_its_value(path: Path) -> None:
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
