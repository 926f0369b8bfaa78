"""The node tree of a Read Shard."""

from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.formats.swh import tree
from shardcore.model.objects import State

DATA = Path(__file__).parents[3] / "data" / "swh"


@pytest.mark.parametrize("name", ["small", "deleted", "legacy"])
def test_nodes_say_which_row_they_belong_to(name: str) -> None:
    """A slot, used or not, and an object belong to the row of the slot; nothing else belongs to one."""
    with shardcore.open(DATA / f"{name}.shard") as shard:
        shard.load_index()
        index = next(section for section in shard.sections if section.name == "index")
        for row in range(len(shard.objects)):
            path = shard.explain(index.start + 40 * row + 35)
            assert [node.row for node in path] == [None, None, row, None]
            ref = shard.objects.ref(row)
            if ref.state is State.LIVE and ref.size:
                assert [node.row for node in shard.explain(ref.spans[0].start)] == [None, None, row, None]
        for section in shard.sections:
            if section.name not in ("index", "objects"):
                assert {node.row for node in shard.explain(section.start)} == {None}


def test_the_list_of_objects_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often bytes are explained or painted, the arrays of all objects exist once."""
    made = []
    extents = tree.ObjectExtents

    def counted(*arguments: Any) -> Any:
        made.append(arguments)
        return extents(*arguments)

    monkeypatch.setattr(tree, "ObjectExtents", counted)
    with shardcore.open(DATA / "small.shard") as shard:
        shard.load_index()
        for row in range(3):
            shard.explain(shard.objects.ref(row).spans[0].start)
        shard.runs(0, 1000)
    assert len(made) == 1
