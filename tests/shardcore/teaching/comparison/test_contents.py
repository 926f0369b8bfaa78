"""What is compared: contents that are the same at any time."""

from __future__ import annotations

from shardcore.teaching.comparison.contents import built_in


def test_ten_built_in_objects() -> None:
    """Ten objects of ten kinds, of their own sizes, the same each time."""
    objects = built_in()
    assert len(objects) == len({one.name for one in objects}) == len({one.data for one in objects}) == 10
    assert sum(len(one.data) for one in objects) == 42_484
    assert built_in() == objects
