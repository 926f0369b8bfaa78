"""Columns of objects, and objects of data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from shardcore.errors import ShardError, UsageError
from shardcore.model.objects import NoObjects, ObjectColumns, ObjectRef, Objects, inside_member, located
from shardcore.model.span import Span


class Numbers(Objects):
    """Rows whose keys are their numbers."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def columns(self, rows: np.ndarray, *, sizes: bool = False) -> ObjectColumns:
        return ObjectColumns.of(rows, rows, rows + 1, 1)

    def key_texts(self, rows: np.ndarray) -> list[str | None]:
        return [str(row) for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        return ObjectRef(str(row), row, (Span("", row, row + 1),), 1, 1)


def test_keys_are_a_sequence() -> None:
    keys, plain = Numbers(10).keys, [str(n) for n in range(10)]
    assert len(keys) == 10
    for cut in (slice(2, 5), slice(None, None, -1), slice(8, 99), slice(5, 2)):
        assert keys[cut] == plain[cut]
    assert (keys[0], keys[-1], list(keys)) == ("0", "9", plain)
    for wrong in (10, -11):
        with pytest.raises(IndexError):
            keys[wrong]


def test_objects_are_a_sequence() -> None:
    objects = Numbers(3000)
    assert isinstance(objects, Sequence)
    assert isinstance(objects[5:], Sequence)
    assert (objects[7].row, objects[np.int64(7)].row, objects[-1].row) == (7, 7, 2999)
    assert [ref.row for ref in objects] == list(range(3000))
    assert [ref.row for ref in reversed(objects[:3])] == [2, 1, 0]
    assert [ref.row for ref in objects[10:20][2:-2:3]] == [12, 15]
    assert objects[10:20][-1].row == 19
    assert (objects[8] in objects, "8" in objects, objects.index(objects[8])) == (True, False, 8)
    for wrong in (3000, -3001):
        with pytest.raises(IndexError):
            objects[wrong]
    with pytest.raises(TypeError):
        objects["8"]  # type: ignore[call-overload]


def test_a_slice_reads_when_it_is_used() -> None:
    asked: list[int] = []

    class Noted(Numbers):
        def columns(self, rows: np.ndarray, *, sizes: bool = False) -> ObjectColumns:
            asked.append(len(rows))
            assert sizes
            return super().columns(rows)

    part = Noted(1 << 40)[5:][1:100]
    assert len(part) == 99
    assert part[0].row == 6
    assert not asked
    assert part.size.sum() == len(part.start) == 99
    assert asked == [99]


def test_too_many_rows_for_the_memory_are_an_error_of_ours() -> None:
    with pytest.raises(ShardError, match="not enough memory"):
        _ = Numbers(1 << 45)[:].size


def test_objects_that_cannot_be_listed_say_why() -> None:
    """The length is not 0 but an error."""
    listed = NoObjects(UsageError("choose a key space"))
    assert not listed.counted
    for ask in (lambda: len(listed), lambda: list(listed), lambda: listed[0], lambda: listed[:]):
        with pytest.raises(UsageError, match="key space"):
            ask()
    assert (NoObjects().counted, len(NoObjects()), list(NoObjects())) == (True, 0, [])


@pytest.mark.parametrize("source", ["", "@3-9", "info", "a.des.meta", "a.desk", "_bigFiles/ff"])
@pytest.mark.parametrize("first_row", [None, 0, 40])
def test_objects_of_members_come_back(source: str, first_row: int | None) -> None:
    """Before and after the rows are known; files beside a shard keep their names."""
    ref = ObjectRef("k", 3, (Span(source, 1, 2), Span("", 5, 6)), extras={"slot": 3})
    there = located(ref, "a.des", first_row)
    assert there.shard == "a.des"
    assert there.row == (-1 if first_row is None else first_row + 3)
    beside = source not in ("", "@3-9")
    assert there.spans == (Span(source if beside else "a.des" + source, 1, 2), Span("a.des", 5, 6))
    assert inside_member(there) == ref
    assert ref.extras == {"slot": 3}
