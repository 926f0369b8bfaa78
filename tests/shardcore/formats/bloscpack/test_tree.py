"""The node tree of a Bloscpack file."""

from pathlib import Path

import pytest

import shardcore

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def test_the_decoded_metadata_is_a_source_of_its_own() -> None:
    with shardcore.open(DATA / "array.blp") as shard:
        name = next(node.decoded for node in shard.tree.children[1].children if node.decoded)
        part = shard.part(name)
        assert part.source.read(0, part.source.size)[:1] == b"{"
        assert shard.explain(part.source.size - 1, name)[-1].name
        assert [(s.start, s.stop) for s in part.sections] == [(0, part.source.size)]
        assert part.tree().span == shardcore.Span(name, 0, part.source.size)
        for wrong in ("@1-2", "meta", f"{name}@0-1", f"x{name}"):
            with pytest.raises(shardcore.UsageError, match="unknown source"):
                shard.part(wrong)
