"""Searching bytes: what is found, where, how much is read, and how it is stopped."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore import BytesSource, Cancelled, Span, UsageError
from shardcore.operations.search import (
    MANY,
    Pattern,
    find_any,
    find_in,
    find_next,
    parse_expression,
    parse_hex,
    parse_number,
    parse_numbers,
    parse_text,
    search,
    search_contents,
)
from shardcore.progress import no_progress
from shardcore.testing import CountingSource


def slow_find(data: bytes, pattern: Pattern) -> list[int]:
    return [
        at
        for at in range(len(data) - pattern.size + 1)
        if all(
            data[at + n] & mask == value
            for n, (value, mask) in enumerate(zip(pattern.value, pattern.mask, strict=True))
        )
    ]


@pytest.mark.parametrize(
    ("text", "value", "mask"),
    [
        ("53 57 48", "535748", "ffffff"),
        ("0x53, 0x57", "5357", "ffff"),
        ("5357??48", "53570048", "ffff00ff"),
        ("4? ?f", "400f", "f00f"),
    ],
)
def test_hex_patterns(text: str, value: str, mask: str) -> None:
    pattern = parse_hex(text)
    assert (pattern.value.hex(), pattern.mask.hex()) == (value, mask)
    assert parse_hex(str(pattern)) == pattern


@pytest.mark.parametrize("text", ["", "5", "xx", "5g", "??", "?? ??", "00" * 5000])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_hex(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("u16be:512", "0200"),
        ("u16:0x200", "0002"),
        ("i64le:-1", "ff" * 8),
        ("f32le:1.5", "0000c03f"),
        ("u64be:18446744073709551615", "ff" * 8),
    ],
)
def test_numbers(text: str, value: str) -> None:
    assert parse_number(text).value.hex() == value
    with pytest.raises(UsageError):
        parse_number(f"u8:{text}")


def test_text_is_searched_in_its_encoding() -> None:
    assert parse_text("ä", "utf-16-le").value == b"\xe4\x00"
    with pytest.raises(UsageError):
        parse_text("ä", "ascii")


@given(
    data=st.binary(max_size=300).map(lambda raw: bytes(byte & 3 for byte in raw)),
    cells=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0xFF, 0x0F, 0xF0, 0x00, 0x01])), min_size=1, max_size=6
    ),
)
def test_finding_agrees_with_the_definition(data: bytes, cells: list[tuple[int, int]]) -> None:
    """Overlapping hits included."""
    if not any(mask for _, mask in cells):
        cells.append((1, 0xFF))
    pattern = Pattern(bytes(value & mask for value, mask in cells), bytes(mask for _, mask in cells))
    assert find_in(data, pattern).tolist() == slow_find(data, pattern)


@pytest.mark.parametrize("text", ["00 00", "00", "00 ?? 00", "0? 00 00 00"])
def test_very_many_hits_are_all_found(text: str) -> None:
    """A stretch of zeros makes the fast search fall back to the exhaustive one."""
    data = b"\x01" * 5 + bytes(4 * MANY) + b"\x01" * 5
    pattern = parse_hex(text)
    assert find_in(data, pattern).tolist() == slow_find(data, pattern)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_hits_on_chunk_borders_are_found_once(chunk: int) -> None:
    source = BytesSource(b"abcabcabcab" * 3)
    hits = search(source, [parse_text("abca")], no_progress, chunk=chunk)
    assert hits.found.offsets.tolist() == [0, 3, 6, 11, 14, 17, 22, 25, 28]


@given(start=st.integers(0, 33), chunk=st.integers(1, 40), backward=st.booleans())
def test_a_search_goes_around_once(start: int, chunk: int, backward: bool) -> None:
    """From any start, all hits are passed once before the first one comes back."""
    source, pattern = BytesSource(b"abcabcabcab" * 3), parse_text("ab")
    every = slow_find(source.data, pattern)
    wanted = sorted(every, key=lambda offset: (offset < start, offset))
    at = start
    for offset in reversed(wanted) if backward else wanted:
        hit = find_next(source, [pattern], no_progress, at, backward=backward, chunk=chunk)
        assert hit.span.start == offset
        at = offset + (not backward)


def test_hits_stream_in_and_are_counted_beyond_the_limit() -> None:
    """Hits of each chunk are reported while the search goes on, also beyond the limit, unless it ends there."""
    told: list[list[int]] = []
    keep = lambda at: told.append(at.tolist())  # noqa: E731
    source, patterns = BytesSource(b"a..a..a..a"), [parse_text("a")]
    hits = search(source, patterns, no_progress, found=keep, limit=1, chunk=4)
    assert (told, len(hits.found.offsets), hits.count, hits.more) == ([[0, 3], [6], [9]], 1, 4, False)
    hits = search(source, patterns, no_progress, limit=2, ends=True, chunk=4)
    assert (hits.found.offsets.tolist(), hits.count, hits.more) == ([0, 3], 2, True)


@pytest.mark.parametrize(
    ("text", "encoding", "data", "offsets"),
    [
        ("SwH", "utf-8", b"swh.SWH.s7h.Sw\xc8", [0, 4]),
        ("ÄÖ", "utf-8", "äö ÄÖ ÄO".encode(), [0, 5]),
        ("ab", "utf-16-le", "aB.Ab".encode("utf-16-le"), [0, 6]),
        pytest.param("пРЫ", "utf-8", "прыПРЫ".encode(), [0, 6], marks=pytest.mark.thorough),
        ("a1@[", "utf-8", b"A1@[a1`{a1@[", [0, 8]),
    ],
)
def test_case_is_ignored_on_request(text: str, encoding: str, data: bytes, offsets: list[int]) -> None:
    hits = search(BytesSource(data), [parse_text(text, encoding, match_case=False)], no_progress)
    assert hits.found.offsets.tolist() == offsets


@pytest.mark.thorough
def test_expressions() -> None:
    data = b"shard_1 SHARD_22\nx\x00\x00\x00y" + bytes(40) + b"shard_333"
    every = list(re.finditer(rb"(?s)shard_\d+|\0{2,}.", data))
    for chunk in (7, 1000):
        hits = search(BytesSource(data), [parse_expression(r"shard_\d+|\x00{2,}.")], no_progress, chunk=chunk)
        assert hits.found.offsets.tolist() == [match.start() for match in every]
        assert hits.found.sizes.tolist() == [len(match[0]) for match in every]
    hit = find_next(BytesSource(data), [parse_expression("^x.*Y", match_case=False)], no_progress, 0)
    assert (hit.span, hit.around) == (Span("", 17, 22), False)
    assert find_next(BytesSource(data), [parse_expression("a*")], no_progress, 0).span == Span("", 2, 3), "never empty"
    with pytest.raises(UsageError, match="invalid regular expression"):
        parse_expression("a{99999999999}")


def test_progress_covers_the_source_and_stops_the_search() -> None:
    source = CountingSource(bytes(1000))
    told: list[tuple[int, int]] = []
    search(source, [parse_hex("01")], lambda *args: told.append(args), chunk=100)
    assert told == [(done, 1000) for done in (*range(0, 1000, 100), 1000)]
    source.ranges.clear()

    def stop(done: int, total: int) -> None:
        if done >= 300:
            raise Cancelled

    with pytest.raises(Cancelled):
        search(source, [parse_hex("01")], stop, chunk=100)
    assert len(source.ranges) == 3


@pytest.mark.parametrize("chunk", [1, 3, 5, 100])
def test_the_next_hit_and_the_one_before(chunk: int) -> None:
    source = BytesSource(b"..ab..ab..")
    pattern = [parse_text("ab")]
    assert (find_next(source, pattern, no_progress, 2, chunk=chunk) or ())[:2] == (Span("", 2, 4), False)
    assert (find_next(source, pattern, no_progress, 3, chunk=chunk) or ())[:2] == (Span("", 6, 8), False)
    assert (find_next(source, pattern, no_progress, 7, chunk=chunk) or ())[:2] == (Span("", 2, 4), True)
    assert (find_next(source, pattern, no_progress, 6, backward=True, chunk=chunk) or ())[:2] == (Span("", 2, 4), False)
    assert (find_next(source, pattern, no_progress, 2, backward=True, chunk=chunk) or ())[:2] == (Span("", 6, 8), True)
    assert find_next(source, [parse_text("x")], no_progress, 5, chunk=chunk) is None
    assert find_next(BytesSource(b""), pattern, no_progress, 0, chunk=chunk) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("512", {"u64 big-endian", "u64 little-endian", "u32 big-endian", "u16 little-endian"}),
        ("-2", {"i64 big-endian", "i16 little-endian"}),
        ("1.5", {"f64 big-endian", "f32 little-endian"}),
        ("0", {"u64, both byte orders", "u16, both byte orders"}),
        ("70000", {"u64 big-endian", "u32 little-endian"}),
    ],
)
def test_a_number_is_tried_in_every_width_and_order(text: str, names: set[str]) -> None:
    found = parse_numbers(text)
    assert names <= {pattern.name for pattern in found}
    assert [pattern.size for pattern in found] == sorted((pattern.size for pattern in found), reverse=True)
    assert len({pattern.value for pattern in found}) == len(found)


@pytest.mark.parametrize(
    ("text", "names"), [("u16be:512", ["u16 big-endian"]), ("u8:5", ["u8"]), ("u32:1", ["u32 big-endian"])]
)
def test_a_number_that_says_its_kind_is_that(text: str, names: list[str]) -> None:
    assert [pattern.name for pattern in parse_numbers(text)][: len(names)] == names
    assert {pattern.name.split()[0] for pattern in parse_numbers(text)} == {names[0].split()[0]}
    with pytest.raises(UsageError):
        parse_numbers("u8:256")


@pytest.mark.parametrize("chunk", [3, 8, 100])
def test_the_widest_number_is_told(chunk: int) -> None:
    """The 32 and 16 bits inside a 64-bit number are not separate hits."""
    data = bytes(5) + (512).to_bytes(8, "big") + b"\x55" * 4 + (512).to_bytes(4, "little") + b"\x55"
    patterns = parse_numbers("512")
    hits = search(BytesSource(data), patterns, no_progress, chunk=chunk)
    told = [(offset, patterns[number].name) for offset, _, number in zip(*hits.found, strict=True)]
    assert told == [(5, "u64 big-endian"), (17, "u32 little-endian")]
    found = find_next(BytesSource(data), patterns, no_progress, 6, chunk=chunk)
    assert (found.span, found.pattern.name) == (Span("", 17, 21), "u32 little-endian")
    assert find_any(data, patterns).offsets.tolist() == [5, 17]


def test_damaged_objects_are_passed_over() -> None:
    with shardcore.open("resources/samples/xorb/damaged.xorb") as shard:
        shard.load_index()
        rows: list[int] = []
        list(search_contents(shard, [parse_text("a")], lambda *_: None, unreadable=lambda row, _: rows.append(row)))
        assert rows
        assert len(rows) < len(shard.objects)
