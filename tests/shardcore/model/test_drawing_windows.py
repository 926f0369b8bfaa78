"""Which cells of many are drawn."""

import pytest

from shardcore.model.drawing import window


@pytest.mark.parametrize(
    ("count", "around", "most", "shown"),
    [
        (5, 2, 9, range(5)),
        (100, 50, 9, range(46, 55)),
        (100, 0, 9, range(9)),
        (100, 99, 9, range(91, 100)),
        (2**64, 2**64 - 1, 2, range(2**64 - 2, 2**64)),
        (0, 0, 9, range(0)),
    ],
)
def test_what_matters_is_in_the_middle(count: int, around: int, most: int, shown: range) -> None:
    assert window(count, around, most) == shown
