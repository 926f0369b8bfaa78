"""The pages beside a file: every field of a page is found, and every field of a file has its row."""

from __future__ import annotations

import pytest

import shardcore
from shardcore import Node
from shardcore.shards.registry import FORMATS
from shardcore.teaching import resources
from shardscope.learning.help import pages
from shardscope.learning.help.pages import GLOSSARY, HelpPage, find_field

SAMPLES = ("swh", "mdb", "xorb", "bloscpack", "des", "neuroglancer")


def page_of(name: str) -> HelpPage:
    """A page that is there."""
    found = pages.page(name)
    return found


def test_every_format_has_a_page() -> None:
    """A format that can be opened can be read about; the glossary is the last page."""
    assert set(FORMATS) <= set(pages.titles())
    assert list(pages.titles())[-1] == GLOSSARY
    assert pages.titles()["swh"] == "Software Heritage Read Shard"
    assert pages.page("nothing") is None


@pytest.mark.parametrize("name", SAMPLES)
def test_each_row_of_a_layout_is_a_link(name: str) -> None:
    """Each field of the layouts is one row with one link, and no marker is left in the text."""
    page = page_of(name)
    assert page.rows
    for number, row in enumerate(page.rows):
        assert page.markdown.count(f"(<field:{number}> ") == 1
        assert row.name
        assert row.doc
    assert "<!--" not in page.markdown
    assert "<picture>" not in page.markdown, "the window has the drawing itself"


def test_a_page_keeps_its_code() -> None:
    """Words are explained in running text, once each; nothing is linked in code, in tables or in headings."""
    page = page_of("bloscpack")
    assert page.markdown.count("(<word:checksum> ") == 1
    linked = [line for line in page.markdown.splitlines() if "<word:" in line]
    assert linked
    assert not [line for line in linked if line.startswith(("#", "|", "`"))]


def test_the_glossary_is_the_list_of_words() -> None:
    """States and words are explained; what is meant for writers is left out."""
    page = page_of(GLOSSARY)
    assert "the object is deleted by its sidecar" in page.markdown
    assert "Instead of" not in page.markdown
    assert pages.words()["shard"] == pages.words()["file"]
    assert "tombstoned" in pages.words()


def opened(name: str) -> shardcore.Shard:
    """A sample, its index read."""
    (path,) = [one.path for one in resources.main_samples() if one.format == name]
    shard = shardcore.open(str(path))
    shard.load_index()
    return shard


FOUND = {
    "swh": ("header/magic", "object/size", "index entry/offset", "hash function/seed"),
    "mdb": (
        "MDBShardFileHeader/tag",
        "FileMetadataExt/_unused",
        "file lookup entry/key",
        "xorb lookup entry/key",
        "chunk lookup entry/chunk",
        "MDBShardFileFooter/version",
    ),
    "xorb": (
        "chunk header/compressed_size",
        "info header/cas_hash",
        "chunk hash/chunk_hash",
        "boundaries header/num_chunks",
    ),
    "bloscpack": ("header, version 3/typesize", "Blosc header/typesize", "block start/start", "offset/offset"),
    "des": ("header/version", "footer/index_size", "index head/entry_count"),
    "neuroglancer": ("shard index entry/start_offset",),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_row_leads_to_the_field_and_the_field_back(name: str) -> None:
    """The first node of a field is found from its row, in its own record; and its row is found from the node."""
    page = page_of(name)
    with opened(name) as shard:
        for wanted in FOUND[name]:
            layout, _, field = wanted.rpartition("/")
            numbers = [n for n, row in enumerate(page.rows) if (row.layout, row.name) == (layout, field)]
            assert numbers, f"{wanted} is not on the page: {page.rows}"
            path = find_field(page, numbers[0], shard.tree)
            assert path, wanted
            assert path[-1].doc == page.rows[numbers[0]].doc
            assert page.row_of(path) == numbers[0], (wanted, [node.name for node in path])
            if "lookup" in layout:
                assert any(node.name in layout for node in path[1:])


def test_the_field_of_the_same_record_comes_first() -> None:
    """Whoever looks at slot 7 and asks for the offset gets the offset of slot 7."""
    page = page_of("swh")
    number = next(n for n, row in enumerate(page.rows) if (row.layout, row.name) == ("index entry", "offset"))
    with opened("swh") as shard:
        near = shard.explain(4465 + 7 * 40)
        assert [node.name for node in near[-2:]] == ["slot 7", "key"]
        path = find_field(page, number, shard.tree, near)
        assert [node.name for node in path[-2:]] == ["slot 7", "offset"]
        assert find_field(page, number, shard.tree)[-2].name == "slot 0"


def test_a_record_opens_the_row_of_the_field_around_it() -> None:
    """What is in a page by none of its names has no row."""
    page = page_of("swh")
    with opened("swh") as shard:
        assert page.row_of((shard.tree,)) is None
        assert page.row_of(shard.explain(100)) is None


def test_a_search_is_bounded() -> None:
    """A field that is nowhere costs a bounded number of nodes, however deep and wide a tree is."""
    looked: list[int] = []
    root = Node("leaf", shardcore.Span("", 0, 1))
    for _ in range(9):
        root = Node("many", shardcore.Span("", 0, 1), children=[root] * 9)
    page = page_of("swh")
    assert find_field(page, 0, root, check=lambda: looked.append(1)) == ()
    assert len(looked) < 2 * pages.MOST_NODES
