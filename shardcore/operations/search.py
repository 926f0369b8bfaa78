"""Search for bytes, text and numbers in sources of any size, with wildcards.

The source is read in chunks that overlap by one byte less than the pattern. With wildcards, the longest run of exact
bytes finds candidates, and NumPy compares the rest under the mask. Several patterns are searched in one pass.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, UsageError, ends_reading
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source

MAX_PATTERN = 1024

_CELL = re.compile(r"[0-9A-Fa-f?]{2}")
_NUMBER = re.compile(r"(?P<kind>[uif])(?P<bits>8|16|32|64)(?P<order>le|be)?:(?P<value>.+)")
_FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q"} | {
    "f32": "f",
    "f64": "d",
}

_SIGNS = {"le": "<", "be": ">"}
_ORDERS = {"<": "little-endian", ">": "big-endian"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pattern to search for; only bits that are set in `mask` are compared, and others are zero in `value`.

    `name` is the encoding of a number: `u32 little-endian`; empty if it is obvious.
    """

    value: bytes
    mask: bytes
    name: str = ""

    def __post_init__(self) -> None:
        if not self.value or len(self.value) != len(self.mask):
            raise UsageError("a pattern needs at least one byte")
        if len(self.value) > MAX_PATTERN:
            raise UsageError(f"a pattern has at most {plural(MAX_PATTERN, 'byte')}; this one has {len(self.value):,}")
        if not any(self.mask):
            raise UsageError("a pattern needs at least one digit that is not a wildcard")

    @property
    def size(self) -> int:
        return len(self.value)

    @property
    def plain(self) -> bool:
        return self.mask == b"\xff" * len(self.mask)

    def __str__(self) -> str:
        return " ".join(_cell(value, mask) for value, mask in zip(self.value, self.mask, strict=True))


def parse_hex(text: str) -> Pattern:
    """Parse hex digits such as `50 4b ?? 4?`. `?` matches any hex digit; spaces and `0x` are ignored."""
    digits = re.sub(r"0[xX]|[\s,_]", "", text)
    if len(digits) % 2:
        raise UsageError(f"an odd number of hex digits: {text!r}")
    value, mask = bytearray(), bytearray()
    for at in range(0, len(digits), 2):
        cell = digits[at : at + 2]
        if not _CELL.fullmatch(cell):
            raise UsageError(f"{cell!r} is not a byte; write two hex digits, ? for any digit")
        value.append(int(cell.replace("?", "0"), 16))
        mask.append(int("".join("0" if digit == "?" else "f" for digit in cell), 16))
    return Pattern(bytes(value), bytes(mask))


def parse_text(text: str, encoding: str = "utf-8") -> Pattern:
    try:
        data = text.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise UsageError(f"{text!r} cannot be written as {encoding}") from error
    return Pattern(data, b"\xff" * len(data))


def parse_number(text: str, kind: str = "u64", order: str = "<") -> Pattern:
    """Return the bytes of a number.

    `text` is decimal, or hex with `0x`, and may contain its type: `u32be:512`. `kind` is `u8` … `u64`, `i8` … `i64`,
    `f32` or `f64`; `order` is `<` or `>`.
    """
    if match := _NUMBER.fullmatch(text.strip()):
        kind, text = match["kind"] + match["bits"], match["value"]
        order = _SIGNS.get(match["order"], order)
    if kind not in _FORMATS:
        raise UsageError(f"{kind!r} is not a number type (supported: {', '.join(_FORMATS)})")
    try:
        number = float(text) if kind[0] == "f" else int(text.replace("_", ""), 0)
        data = struct.pack(order + _FORMATS[kind], number)
    except (ValueError, struct.error, OverflowError) as error:
        raise UsageError(f"{text!r} does not fit a {kind}") from error
    return Pattern(data, b"\xff" * len(data), kind if kind[1:] == "8" else f"{kind} {_ORDERS[order]}")


def parse_numbers(text: str) -> tuple[Pattern, ...]:
    """Return patterns of a number in all widths of 16 bits and more that fit, in both byte orders, the widest first."""
    match = _NUMBER.fullmatch(text.strip())
    kinds: Sequence[str]
    if match:
        kinds, text = (match["kind"] + match["bits"],), match["value"]
    else:
        kinds = ("u64", "u32", "u16") if _is_whole(text) else ("f64", "f32")
        kinds = [kind.replace("u", "i") for kind in kinds] if text.strip().startswith("-") else kinds
    orders = (match["order"],) if match and match["order"] else ("be", "le")
    found: dict[bytes, Pattern] = {}
    wrong: UsageError | None = None
    for kind in kinds:
        for order in orders:
            try:
                pattern = parse_number(text, kind, _SIGNS[order])
            except UsageError as error:
                wrong = error
                continue
            if (same := found.get(pattern.value)) is not None and pattern.size > 1:
                pattern = replace(same, name=f"{kind}, both byte orders")
            found[pattern.value] = pattern
    if not found:
        raise wrong or UsageError(f"{text!r} is not a number")
    return tuple(found.values())


def _is_whole(text: str) -> bool:
    try:
        int(text.replace("_", ""), 0)
    except ValueError:
        return False
    return True


def _cell(value: int, mask: int) -> str:
    digits = f"{value:02x}"
    return "".join(d if (mask >> shift) & 15 else "?" for d, shift in zip(digits, (4, 0), strict=True))


CHUNK = 4 * 1024 * 1024
"""Bytes read at a time; bounds the time until a search can be cancelled."""

MAX_HITS = 100_000
"""Maximum hits listed; the others are counted."""

MANY = 2048
"""Above this number of hits in one chunk, comparing whole arrays is faster than finding them one by one."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits of a search.

    Attributes:
        offsets: Offsets of the hits, in the order of the search; at most `limit`.
        count: Total number of hits.
        wrapped: Number of listed hits at or after the start of the search; the others are before it.
        which: Number of the pattern of each listed hit.
    """

    offsets: tuple[int, ...]
    count: int
    wrapped: int
    which: tuple[int, ...] = ()


class NextHit(NamedTuple):
    span: Span
    around: bool
    pattern: Pattern


def find_any(data: bytes, patterns: Sequence[Pattern]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of hits of any pattern, ascending, and the pattern numbers; hits inside others are dropped."""
    parts = [find_in(data, pattern) for pattern in patterns]
    if len(parts) == 1:
        return parts[0], np.zeros(len(parts[0]), np.int64)
    offsets = np.concatenate(parts)
    which = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    stops = offsets + np.array([pattern.size for pattern in patterns])[which]
    order = np.lexsort((-stops, offsets))
    offsets, which, stops = offsets[order], which[order], stops[order]
    kept = np.ones(len(offsets), np.bool_)
    kept[1:] = stops[1:] > np.maximum.accumulate(stops)[:-1]
    return offsets[kept], which[kept]


def find_in(data: bytes, pattern: Pattern) -> NDArray[np.int64]:
    """Return all offsets of a pattern, ascending; hits may overlap."""
    if len(data) < pattern.size:
        return np.zeros(0, np.int64)
    at, needle = _anchor(pattern)
    if len(needle) > 1:
        found = list(islice(_find_all(data, needle, at, len(data) - pattern.size + at), MANY))
        if len(found) < MANY:
            candidates = np.array(found, np.int64) - at
            return candidates if pattern.plain else _matching(data, pattern, candidates, range(pattern.size))
    return _masked(data, pattern)


def search(
    source: Source,
    pattern: Pattern | Sequence[Pattern],
    progress: Progress,
    *,
    start: int = 0,
    found: Callable[[NDArray[np.int64]], None] | None = None,
    limit: int = MAX_HITS,
    chunk: int = CHUNK,
) -> Hits:
    """Search a whole source, from `start` to the end and then from the beginning to `start`.

    Finds any of several patterns. `progress` counts bytes and may raise `Cancelled`; `found` is called with the
    offsets of each chunk that has hits. Hits beyond `limit` are only counted.
    """
    offsets: list[int] = []
    which: list[int] = []
    count = ahead = 0
    patterns = _several(pattern)
    for at, hits, numbers in _chunks(source, patterns, progress, min(max(start, 0), source.size), chunk):
        room = max(limit - len(offsets), 0)
        fresh = (hits[:room] + at).tolist()
        count += len(hits)
        offsets += fresh
        which += numbers[:room].tolist()
        ahead += sum(1 for offset in fresh if offset >= start)
        if len(hits) and found is not None:
            found(hits + at)
    return Hits(tuple(offsets), count, ahead, tuple(which))


def find_next(
    source: Source,
    pattern: Pattern | Sequence[Pattern],
    progress: Progress,
    start: int,
    *,
    backward: bool = False,
    chunk: int = CHUNK,
) -> NextHit | None:
    """Return the first hit at or after `start`, or the last one before it (`backward`). Wraps around; None if none."""
    start = min(max(start, 0), source.size)
    parts, patterns = _backward if backward else _chunks, _several(pattern)
    for at, hits, numbers in parts(source, patterns, progress, start, chunk):
        if len(hits):
            offset = at + int(hits[-1 if backward else 0])
            around = offset >= start if backward else offset < start
            found = patterns[int(numbers[-1 if backward else 0])]
            return NextHit(Span("", offset, offset + found.size), around, found)
    return None


class ContentHit(NamedTuple):
    """Hit in an uncompressed content; `span` is its location in stored or decoded bytes, None if it is split."""

    row: int
    offset: int
    span: Span | None
    pattern: Pattern


def search_contents(
    shard: Shard,
    pattern: Pattern | Sequence[Pattern],
    progress: Progress,
    *,
    unreadable: Callable[[int, ShardError], None] | None = None,
) -> Iterator[ContentHit]:
    """Yield the hits in the uncompressed contents of all objects, in row order; the index must be loaded.

    Contents are decoded piece by piece, within the limits of the shard. Unreadable objects are skipped and passed to
    `unreadable`. `progress` counts objects and may raise `Cancelled`.
    """
    patterns, total = _several(pattern), len(shard.objects)
    done = 0

    def check() -> None:
        progress(done, total)

    for done in range(total):
        ref = shard.objects.ref(done)
        if ref.state in (State.LIVE, State.EXTERNAL):
            try:
                for offset, found in _in_pieces(shard.stream(ref), patterns, check):
                    yield ContentHit(ref.row, offset, _content_span(shard, ref, offset, found.size), found)
            except ShardError as error:
                if ends_reading(error):
                    raise
                if unreadable is not None:
                    unreadable(ref.row, error)
        progress(done + 1, total)


def _in_pieces(
    pieces: Iterable[bytes], patterns: Sequence[Pattern], check: Callable[[], None]
) -> Iterator[tuple[int, Pattern]]:
    reach = max(pattern.size for pattern in patterns) - 1
    held, base, last = b"", 0, -1
    for piece in pieces:
        check()
        held += piece
        for at, number in zip(*(found.tolist() for found in find_any(held, patterns)), strict=True):
            if base + at > last:
                last = base + at
                yield last, patterns[number]
        kept = held[-reach:] if reach else b""
        base += len(held) - len(kept)
        held = kept


def _content_span(shard: Shard, ref: ObjectRef, offset: int, size: int) -> Span | None:
    if len(ref.spans) != 1:
        return None
    stored = ref.spans[0]
    for node in reversed(shard.whole_path(stored.start, stored.source)):
        if node.decoded and shard.bytes_of(node.decoded).size == ref.size:
            return Span(node.decoded, offset, offset + size)
    if stored.size != ref.size:
        return None
    return Span(stored.source, stored.start + offset, stored.start + offset + size)


def _several(pattern: Pattern | Sequence[Pattern]) -> Sequence[Pattern]:
    return (pattern,) if isinstance(pattern, Pattern) else pattern


_Part = tuple[int, NDArray[np.int64], NDArray[np.int64]]
"""Hits: base offset, offsets relative to it, pattern numbers."""


def _in_part(source: Source, patterns: Sequence[Pattern], at: int, stop: int) -> _Part:
    reach = max(pattern.size for pattern in patterns) - 1
    # Start earlier: a hit inside one that begins before `at` does not count.
    first = max(at - reach, 0) if len(patterns) > 1 else at
    hits, numbers = find_any(source.read(first, min(stop + reach, source.size)), patterns)
    inside = (hits >= at - first) & (hits < stop - first)
    return first, hits[inside], numbers[inside]


def _chunks(source: Source, patterns: Sequence[Pattern], progress: Progress, start: int, chunk: int) -> Iterator[_Part]:
    total, done = source.size, 0
    for first, last in ((start, source.size), (0, start)):
        for at in range(first, last, chunk):
            stop = min(at + chunk, last)
            progress(done, total)
            yield _in_part(source, patterns, at, stop)
            done += stop - at
    progress(total, total)


def _backward(
    source: Source, patterns: Sequence[Pattern], progress: Progress, start: int, chunk: int
) -> Iterator[_Part]:
    total, done = source.size, 0
    for first, last in ((0, start), (start, source.size)):
        for stop in range(last, first, -chunk):
            at = max(stop - chunk, first)
            progress(done, total)
            yield _in_part(source, patterns, at, stop)
            done += stop - at
    progress(total, total)


def _anchor(pattern: Pattern) -> tuple[int, bytes]:
    runs = [(len(m[0]), m.start()) for m in re.finditer(rb"\xff+", pattern.mask)]
    if not runs:
        return 0, b""
    size, at = max(runs, key=lambda run: (run[0], -run[1]))
    return at, pattern.value[at : at + size]


def _find_all(data: bytes, needle: bytes, first: int, last: int) -> Iterator[int]:
    """Yield the offsets of `needle` from `first` to `last`, both inclusive."""
    stop = last + len(needle)
    at = data.find(needle, first, stop)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1, stop)


def _matching(data: bytes, pattern: Pattern, candidates: NDArray[np.int64], places: Sequence[int]) -> NDArray[np.int64]:
    array = np.frombuffer(data, np.uint8)
    for offset in places:
        if pattern.mask[offset] and len(candidates):
            candidates = candidates[(array[candidates + offset] & pattern.mask[offset]) == pattern.value[offset]]
    return candidates


def _masked(data: bytes, pattern: Pattern) -> NDArray[np.int64]:
    """Return all hits of a pattern by comparing whole arrays with one pattern byte at a time; fast if hits are many."""
    array = np.frombuffer(data, np.uint8)
    places = len(data) - pattern.size + 1
    counting = [number for number, mask in enumerate(pattern.mask) if mask]
    kept = np.ones(places, np.bool_)
    for done, offset in enumerate(counting, 1):
        part = array[offset : offset + places]
        kept &= (part & pattern.mask[offset]) == pattern.value[offset]
        if np.count_nonzero(kept) < places // 64:
            return _matching(data, pattern, np.flatnonzero(kept).astype(np.int64), counting[done:])
    return np.flatnonzero(kept).astype(np.int64)
