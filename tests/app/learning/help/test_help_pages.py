"""The pages beside a file: every field of a page is found, and every field of a file has its row."""

from __future__ import annotations

import pytest

import shardcore
from shardcore import Node
from shardcore.shards.registry import FORMATS
from shardcore.teaching import resource_paths
from shardscope.learning.help import help_pages
from shardscope.learning.help.help_pages import GLOSSARY, find_field


def test_pages_are_those_of_the_formats_and_the_words() -> None:
    """The glossary is the last page; words are explained in running text, once each, and not in code."""
    assert set(FORMATS) <= set(help_pages.titles())
    assert list(help_pages.titles())[-1] == GLOSSARY
    assert "![" not in help_pages.page("hex").markdown
    assert help_pages.page("nothing") is None
    assert "the object is deleted by its sidecar" in help_pages.page(GLOSSARY).markdown
    assert help_pages.words()["shard"] == help_pages.words()["file"]
    page = help_pages.page("bloscpack")
    assert page.markdown.count("(<word:checksum> ") == 1
    assert not [line for line in page.markdown.splitlines() if "<word:" in line and line.startswith(("#", "|", "`"))]


def opened(name: str) -> shardcore.Shard:
    """A sample, its index read."""
    (path,) = [one.path for one in resource_paths.main_samples() if one.format == name]
    shard = shardcore.open(str(path))
    shard.load_index()
    return shard


FOUND = {
    "swh": "header/magic|object/size|index entry/offset|hash function/seed",
    "mdb": "MDBShardFileHeader/tag|FileMetadataExt/_unused|file lookup entry/key|xorb lookup entry/key"
    "|chunk lookup entry/chunk|MDBShardFileFooter/version",
    "xorb": "chunk header/compressed_size|info header/cas_hash|chunk hash/chunk_hash|boundaries header/num_chunks",
    "bloscpack": "header, version 3/typesize|Blosc header/typesize|block start/start|offset/offset",
    "des": "header/version|footer/index_size|index head/entry_count",
    "neuroglancer": "shard index entry/start_offset",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_row_leads_to_the_field_and_the_field_back(name: str) -> None:
    """Each field is one row with one link; its first node is found from it, in its own record, and it from the node."""
    page = help_pages.page(name)
    for number, row in enumerate(page.rows):
        assert page.markdown.count(f"(<field:{number}> ") == 1
        assert row.name
        assert row.doc
    assert not any(sign in page.markdown for sign in ("<!--", "<picture>"))
    with opened(name) as shard:
        for wanted in FOUND[name].split("|"):
            layout, _, field = wanted.rpartition("/")
            number = next(n for n, row in enumerate(page.rows) if (row.layout, row.name) == (layout, field))
            path = find_field(page, number, shard.tree)
            assert path, wanted
            assert path[-1].doc == page.rows[number].doc
            assert page.row_of(path) == number, (wanted, [node.name for node in path])
            assert "lookup" not in layout or any(node.name in layout for node in path[1:])


def test_the_field_of_the_same_record_comes_first() -> None:
    """Whoever looks at slot 7 and asks for the offset gets the offset of slot 7."""
    page = help_pages.page("swh")
    number = next(n for n, row in enumerate(page.rows) if (row.layout, row.name) == ("index entry", "offset"))
    with opened("swh") as shard:
        near = shard.explain(4465 + 7 * 40)
        assert [node.name for node in near[-2:]] == ["slot 7", "key"]
        path = find_field(page, number, shard.tree, near)
        assert [node.name for node in path[-2:]] == ["slot 7", "offset"]
        assert find_field(page, number, shard.tree)[-2].name == "slot 0"
        for nowhere in ((shard.tree,), shard.explain(100)):
            assert page.row_of(nowhere) is None


def test_a_search_is_bounded() -> None:
    """A field that is nowhere costs a bounded number of nodes, however deep and wide a tree is."""
    looked: list[int] = []
    root = Node("leaf", shardcore.Span("", 0, 1))
    for _ in range(9):
        root = Node("many", shardcore.Span("", 0, 1), children=[root] * 9)
    page = help_pages.page("swh")
    assert find_field(page, 0, root, check=lambda: looked.append(1)) == ()
    assert len(looked) < 2 * help_pages.MOST_NODES
