"""Changes laid over a source that stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import LimitExceeded, SourceChanged, UsageError
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched_source import MOST_CHANGES, MOST_NEW, Change, PatchedSource
from shardcore.testing import SourceContract


class TestPatched(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        """The data with a stretch too much, other bytes at the end, and one bit wrong; all of it changed back."""
        wrong = bytearray(self.data[:100] + b"too much" + self.data[100:-4] + b"####")
        wrong[7] ^= 16
        back = [Change.cut(100, 108), Change.overwrite(len(self.data) - 4, self.data[-4:]), Change.flip(7, 4, wrong[7])]
        return PatchedSource(BytesSource(bytes(wrong)), back)


@st.composite
def changes(draw: st.DrawFn, size: int = 300) -> list[Change]:
    """Some changes of a source of `size` bytes, each inside of what the ones before left."""
    made = []
    for _ in range(draw(st.integers(0, 6))):
        if size == 0:
            break
        start = draw(st.integers(0, size - 1))
        stop = draw(st.integers(start + 1, size))
        if draw(st.booleans()):
            made.append(Change.cut(start, stop))
            size -= stop - start
        else:
            made.append(Change.overwrite(start, draw(st.binary(min_size=stop - start, max_size=stop - start))))
    return made


@given(changes(), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=4))
def test_reads_are_those_of_the_changed_bytes(made: list[Change], asked: list[tuple[int, int]]) -> None:
    plain = bytes(number % 251 for number in range(300))
    expected = bytearray(plain)
    for change in made:
        expected[change.start : change.stop] = change.data or b""
    source = PatchedSource(BytesSource(plain), made)
    assert source.size == len(expected)
    ranges = [(min(a, b, source.size), min(max(a, b), source.size)) for a, b in asked]
    assert source.read_many(ranges) == [bytes(expected[a:b]) for a, b in ranges]
    assert source.read(0, source.size) == expected
    for start, stop in source.new_ranges:
        assert 0 <= start < stop <= source.size
    assert sum(size for _, size in source.cuts) == len(plain) - len(expected)
    for offset in (0, 17, 299):
        place = source.place_of(offset)
        changed = place is not None and any(a <= place < b for a, b in source.new_ranges)
        assert place is None or changed or expected[place] == plain[offset]


def test_the_identity_is_another_with_every_change(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    with FileSource(path) as base:
        seen = {base.identity}
        one, other = Change.overwrite(1, b"x"), Change.cut(1, 2)
        for made in ([one], [other], [one, other], [other, one]):
            seen.add(PatchedSource(base, made).identity)
        assert len(seen) == 5
        assert PatchedSource(base).identity == base.identity
        assert PatchedSource(base, [one]).folder is base.folder


def test_a_file_that_was_changed_meanwhile_is_refused() -> None:
    with pytest.raises(SourceChanged, match="start over"):
        PatchedSource(BytesSource(b"abc"), [Change.cut(0, 1)], expects="something else")


@pytest.mark.parametrize(
    "change", [Change.cut(3, 3), Change.cut(0, 11), Change.overwrite(9, b"ab"), Change(-1, 2, None), Change(0, 2, b"a")]
)
def test_changes_outside_of_the_bytes_are_refused(change: Change) -> None:
    with pytest.raises(UsageError):
        PatchedSource(BytesSource(b"0123456789"), [change])


def test_what_is_held_in_memory_is_bounded() -> None:
    source = BytesSource(bytes(16))
    with pytest.raises(LimitExceeded, match="save a copy"):
        PatchedSource(source, [Change.overwrite(0, b"x")] * (MOST_CHANGES + 1))
    with pytest.raises(LimitExceeded, match="in memory"):
        PatchedSource(BytesSource(bytes(MOST_NEW + 1)), [Change.overwrite(0, bytes(MOST_NEW + 1))])
