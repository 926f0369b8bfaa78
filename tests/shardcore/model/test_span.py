"""The names of sources, as text and taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.model.span import SourceName, decoded_name

PATHS = st.text(max_size=20) | st.from_regex(r"[a%@]{0,3}(@\d{1,3}-\d{1,3}){0,2}(%40|%25)?", fullmatch=True)
STRETCHES = st.lists(st.tuples(st.integers(0, 2**64), st.integers(0, 2**64)), max_size=3).map(tuple)


@given(st.builds(SourceName, PATHS, STRETCHES))
def test_text_and_name_are_one(name: SourceName) -> None:
    assert SourceName.parse(str(name)) == name


@pytest.mark.parametrize(
    ("text", "path", "stretches"),
    [
        ("", "", ()),
        ("info", "info", ()),
        ("_bigFiles/9f", "_bigFiles/9f", ()),
        ("@10-20", "", ((10, 20),)),
        ("0.shard@10-20", "0.shard", ((10, 20),)),
        ("xorb:ab@10-20@0-5", "xorb:ab", ((10, 20), (0, 5))),
        ("a%401-2", "a@1-2", ()),
        ("me@home.des", "me@home.des", ()),
        ("@1-", "@1-", ()),
        ("@١-٢", "@١-٢", ()),
    ],
)
def test_parts_of_a_name(text: str, path: str, stretches: tuple[tuple[int, int], ...]) -> None:
    """Path, then stretches, outermost first; digits of other scripts belong to the path."""
    assert SourceName.parse(text) == SourceName(path, stretches)


def test_the_way_in_and_out() -> None:
    name = SourceName("a.des").decoded(10, 20)
    assert str(name) == "a.des@10-20"
    assert (name.stretch, name.outer) == ((10, 20), SourceName("a.des"))
    assert SourceName("a.des").outer == SourceName("a.des")
    assert SourceName().is_file
    assert not name.is_file
    assert decoded_name(3, 9) == "@3-9"


@given(st.builds(SourceName, st.just("") | st.just("info"), STRETCHES))
def test_members_are_placed_and_found_inside(name: SourceName) -> None:
    placed = name.placed("0.shard")
    assert placed.path == (name.path or "0.shard")
    assert placed.stretches == name.stretches
    assert placed.inside("0.shard") == name
