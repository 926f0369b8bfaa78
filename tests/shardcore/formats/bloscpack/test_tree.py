"""The node tree of a Bloscpack file."""

from pathlib import Path

import pytest

import shardcore

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


@pytest.mark.parametrize("name", ["tiny", "append_grow", "made/split", "v1"])
def test_nodes_say_which_row_they_belong_to(name: str) -> None:
    """An offset and a chunk with its digest belong to the row of the chunk; headers and spare offsets to none."""
    with shardcore.open(DATA / f"{name}.blp") as shard:
        shard.load_index()
        for row in range(len(shard.objects)):
            for span in shard.objects.ref(row).spans:
                if span.size:
                    assert [node.row for node in shard.explain(span.stop - 1)][:3] == [None, None, row]
        for section in shard.sections:
            if section.name == "offsets":
                slots = range(section.size // 8)
                rows = [shard.explain(section.start + 8 * slot)[-1].row for slot in slots]
                assert rows == [slot if slot < len(shard.objects) else None for slot in slots]
            elif section.name != "chunks":
                assert {node.row for node in shard.explain(section.start)} == {None}


def test_the_decoded_metadata_is_a_source_of_its_own() -> None:
    """It has bytes, a section and a tree under the name that the node of the stored text states."""
    with shardcore.open(DATA / "array.blp") as shard:
        name = next(node.decoded for node in shard.tree.children[1].children if node.decoded)
        part = shard.part(name)
        assert part.source.read(0, part.source.size)[:1] == b"{"
        assert [(s.start, s.stop) for s in part.sections] == [(0, part.source.size)]
        assert part.tree().span == shardcore.Span(name, 0, part.source.size)
        for wrong in ("@1-2", "meta", f"{name}@0-1", f"x{name}"):
            with pytest.raises(shardcore.UsageError, match="unknown source"):
                shard.part(wrong)
