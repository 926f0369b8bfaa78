"""What is compared: contents that are the same at any time, and files as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardcore import SourceError, UsageError
from shardcore.teaching.comparison.contents import (
    BUILT_IN,
    MOST_BYTES,
    MOST_OBJECTS,
    ComparedContents,
    files_of,
    numbered,
)


def test_ten_built_in_objects() -> None:
    """Ten objects of ten kinds, of their own sizes, the same each time."""
    objects = BUILT_IN.objects()
    assert len(objects) == len({one.name for one in objects}) == len({one.data for one in objects}) == 10
    assert [len(one.data) for one in objects] == [thing.size for thing in BUILT_IN.things]
    assert BUILT_IN.objects() == objects


@pytest.mark.parametrize(("count", "size"), [(300, None), (2000, 16), (200, 4096), (3, 256 << 10)])
def test_as_many_and_as_large_as_wanted(count: int, size: int | None) -> None:
    """Variants have names and bytes of their own, and the size that was asked for; no two are the same."""
    objects = BUILT_IN.objects(count, size)
    assert len(objects) == min(count, BUILT_IN.most(size))
    assert len({one.name for one in objects}) == len({one.data for one in objects}) == len(objects)
    assert size is None or {len(one.data) for one in objects} == {size}
    assert sum(len(one.data) for one in objects) <= MOST_BYTES
    assert BUILT_IN.objects(count, size) == objects


def test_no_more_than_memory_holds() -> None:
    """Large objects are fewer, small ones are at most so many; nonsense is refused."""
    assert BUILT_IN.most(MOST_BYTES) == 1
    assert BUILT_IN.most(1) == MOST_OBJECTS
    counted = ComparedContents("numbers", BUILT_IN.things[5:6])
    assert len(counted.objects(10_000, MOST_BYTES // 2)) == 2
    for count, size in ((0, None), (1, 0)):
        with pytest.raises(UsageError, match="at least one"):
            BUILT_IN.objects(count, size)


def test_files_as_they_are(tmp_path: Path) -> None:
    """Files keep their bytes and names; of two of one name both stay; cut and repeated where a size is asked for."""
    (tmp_path / "sub").mkdir()
    for name, data in (("a.txt", b"one"), ("sub/b", b""), ("c.bin", b"xyz" * 9)):
        (tmp_path / name).write_bytes(data)
    found = files_of([tmp_path, tmp_path / "a.txt"])
    assert [(one.name, one.data) for one in found.objects()] == [
        ("a.txt", b"one"),
        ("c.bin", b"xyz" * 9),
        ("sub/b", b""),
        ("a-2.txt", b"one"),
    ]
    assert [one.data for one in found.objects(3, 5)] == [b"oneon", b"xyzxy", b"\0" * 5]
    assert [one.name for one in found.objects(6)][4:] == ["a-3.txt", "c-2.bin"]
    with pytest.raises(SourceError, match="no file"):
        files_of([tmp_path / "nothing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file to compare"):
        files_of([tmp_path / "empty"])


def test_the_first_of_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more bytes than are compared the first files are taken, none that is too large alone; that is said."""
    monkeypatch.setattr("shardcore.teaching.comparison.contents.MOST_BYTES", 1 << 20)
    for number in range(4):
        (tmp_path / f"{number}").write_bytes(bytes(400 << 10))
    (tmp_path / "00").write_bytes(bytes(2 << 20))
    found = files_of([tmp_path])
    assert [thing.name for thing in found.things] == ["0", "1"]
    assert found.notes == (
        "the first 2 files are compared: at most 10,000 files, of 1 MiB together",
        "left out: 1 file of more than 1 MiB",
    )
    with pytest.raises(UsageError, match="no file to compare; left out: 1 file of more than 1 MiB"):
        files_of([tmp_path / "00"])


@pytest.mark.parametrize(
    ("name", "turn", "told"),
    [
        ("a.txt", 0, "a.txt"),
        ("a.txt", 1, "a-2.txt"),
        ("x.d/a", 1, "x.d/a-2"),
        (".rc", 2, ".rc-3"),
        ("a.b.c", 1, "a.b-2.c"),
    ],
)
def test_names_of_variants(name: str, turn: int, told: str) -> None:
    """The number stands before the ending, which some formats look at."""
    assert numbered(name, turn) == told
