"""Search for bytes, text, numbers and regular expressions in sources of any size, in chunks that overlap."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decoder_process import IsolatedDecoder
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import ShardError, UsageError, raise_if_ended
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source

MAX_PATTERN = 1024

MAX_MATCH = 64 * 1024
"""Overlap in bytes of chunks that are searched by an expression; larger hits may be missed or cut off."""

_CELL = re.compile(r"[0-9A-Fa-f?]{2}")
_NUMBER = re.compile(r"(?P<kind>[uif])(?P<bits>8|16|32|64)(?P<order>le|be)?:(?P<value>.+)")
_WHOLE = re.compile(r"[+-]?(0[box][\da-f_]+|[\d_]+)", re.IGNORECASE)
_FORMATS = dict(zip(("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"), "BHIQbhiqfd", strict=True))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pattern to search for; only bits that are set in `mask` are compared, the other bits of `value` are zero.

    `name` is the type of a number, such as `u32 little-endian`; empty for other patterns.
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


@dataclass(frozen=True, slots=True)
class Expression:
    """Regular expression over bytes, as in Python; `.` is any byte, `^` and `$` are ends of lines.

    It is matched in a separate process, so that an expression that never ends can be stopped.
    """

    pattern: bytes
    match_case: bool = True

    name: ClassVar[str] = ""
    size: ClassVar[int] = MAX_MATCH

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern, self.flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"invalid regular expression: {error}") from error

    @property
    def flags(self) -> int:
        return int(re.DOTALL | re.MULTILINE | (0 if self.match_case else re.IGNORECASE))


Searched = Pattern | Expression


def parse_expression(text: str, *, match_case: bool = True) -> Expression:
    return Expression(_encoded(text, "utf-8"), match_case)


def parse_text(text: str, encoding: str = "utf-8", *, match_case: bool = True) -> Searched:
    data = _encoded(text, encoding)
    if match_case:
        return Pattern(data, b"\xff" * len(data))
    cases = [[form.encode(encoding) for form in (letter.lower(), letter.upper())] for letter in text]
    mask = b"".join(bytes(255 ^ a ^ b for a, b in zip(*forms, strict=False)) for forms in cases)
    if all(len(a) == len(b) and (int.from_bytes(a) ^ int.from_bytes(b)).bit_count() <= 1 for a, b in cases):
        return Pattern(bytes(map(int.__and__, data, mask)), mask)
    # The cases of some letters differ in more than one bit, or in their length.
    return Expression(b"".join(b"(?:" + b"|".join(map(re.escape, forms)) + b")" for forms in cases))


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise UsageError(f"{text!r} cannot be written as {encoding}") from error


def parse_number(text: str) -> Pattern:
    """Return the bytes of a number with its type, such as `u32be:512` or `u8:0x10`; little-endian by default."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (kind := match["kind"] + match["bits"]) not in _FORMATS:
        raise UsageError(f"{text!r} is not TYPE:NUMBER, such as u32be:512 (types: {', '.join(_FORMATS)})")
    value, order = match["value"], "big-endian" if match["order"] == "be" else "little-endian"
    try:
        number = float(value) if kind[0] == "f" else int(value.replace("_", ""), 0)
        data = struct.pack(("<", ">")[order == "big-endian"] + _FORMATS[kind], number)
    except (ValueError, struct.error, OverflowError) as error:
        raise UsageError(f"{value!r} does not fit {kind}") from error
    return Pattern(data, b"\xff" * len(data), kind if kind[1:] == "8" else f"{kind} {order}")


def parse_numbers(text: str) -> tuple[Pattern, ...]:
    """Return patterns of a number: all types of 16 to 64 bits that hold it, widest first, in both byte orders."""
    match = _NUMBER.fullmatch(text.strip())
    kinds: Sequence[str]
    if match:
        kinds, text = (match["kind"] + match["bits"],), match["value"]
    else:
        kinds = ("u64", "u32", "u16") if _WHOLE.fullmatch(text.strip()) else ("f64", "f32")
        kinds = [kind.replace("u", "i") for kind in kinds] if text.strip().startswith("-") else kinds
    orders = (match["order"],) if match and match["order"] else ("be", "le")
    found: dict[bytes, Pattern] = {}
    wrong: UsageError | None = None
    for kind, order in product(kinds, orders):
        try:
            pattern = parse_number(f"{kind}{order}:{text}")
        except UsageError as error:
            wrong = error
            continue
        if (same := found.get(pattern.value)) is not None and pattern.size > 1:
            pattern = replace(same, name=f"{kind}, both byte orders")
        found[pattern.value] = pattern
    if not found:
        raise wrong or UsageError(f"{text!r} is not a number")
    return tuple(found.values())


def _cell(value: int, mask: int) -> str:
    return "".join(d if (mask >> shift) & 15 else "?" for d, shift in zip(f"{value:02x}", (4, 0), strict=True))


CHUNK = 4 * 1024 * 1024
"""Bytes read at a time; a search can be cancelled after each chunk."""

MAX_HITS = 100_000
"""Maximum number of hits that are listed; further hits are only counted."""

MANY = 2048
"""Number of hits in one chunk above which comparing whole arrays is faster than finding the hits one by one."""

Progress = Callable[[int, int], None]


class HitColumns(NamedTuple):
    """Hits as columns: offset (ascending), size in bytes, and index of the pattern that matches."""

    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    which: NDArray[np.int64]

    def where(self, kept: NDArray[Any] | slice) -> HitColumns:
        return HitColumns(*(column[kept] for column in self))


NO_HITS = HitColumns(*(np.zeros(0, np.int64) for _ in HitColumns._fields))


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits of a search; `count` includes hits that are not listed. `more` is True if the search ended at its limit."""

    found: HitColumns
    count: int
    more: bool = False


class NextHit(NamedTuple):
    span: Span
    around: bool
    pattern: Searched


# The first expression starts the process. It keeps running, since the start takes longer than most searches.
_PROCESS = IsolatedDecoder()


def find_any(data: bytes, patterns: Sequence[Searched]) -> HitColumns:
    """Return the hits of all patterns by offset; a hit inside another one is dropped."""
    parts = []
    for number, pattern in enumerate(patterns):
        if isinstance(pattern, Pattern):
            offsets = find_in(data, pattern)
            sizes = np.full(len(offsets), pattern.size)
        else:
            header = {"pattern": pattern.pattern.decode("latin-1"), "flags": pattern.flags}
            _, spans = _PROCESS.run("expression", header, data, limit=8 * len(data))
            offsets, stops = np.frombuffer(spans, np.int32).astype(np.int64).reshape(-1, 2).T
            sizes = stops - offsets
        parts.append(HitColumns(offsets, sizes, np.full(len(offsets), number)))
    if len(parts) == 1:
        return parts[0]
    found = HitColumns(*map(np.concatenate, zip(*parts, strict=True)))
    found = found.where(np.lexsort((-found.sizes, found.offsets)))
    stops = found.offsets + found.sizes
    kept = np.ones(len(stops), np.bool_)
    kept[1:] = stops[1:] > np.maximum.accumulate(stops)[:-1]
    return found.where(kept)


def expression_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return start and stop of each hit as int32 (task `expression` of `codecs.decoder_process`)."""
    matches = re.compile(header["pattern"].encode("latin-1"), header["flags"]).finditer(data)
    spans = chain.from_iterable(match.span() for match in matches if match[0])
    return {}, np.fromiter(spans, np.int32).tobytes()


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
    patterns: Sequence[Searched],
    progress: Progress,
    *,
    found: Callable[[NDArray[np.int64]], None] | None = None,
    limit: int = MAX_HITS,
    ends: bool = False,
    chunk: int = CHUNK,
) -> Hits:
    """Search a whole source for any of several patterns.

    `progress` counts bytes and may raise `Cancelled`; `found` is called with the offsets of each chunk that has hits.
    Hits beyond `limit` are only counted; with `ends`, the search ends there.
    """
    listed, count, more = list[HitColumns](), 0, False
    for hits in _parts(source, patterns, progress, 0, chunk):
        if len(hits.offsets):
            listed.append(hits.where(slice(max(limit - count, 0))))
            count += len(hits.offsets)
            if found is not None:
                found(hits.offsets)
        if ends and count > limit:
            count, more = limit, True
            break
    return Hits(HitColumns(*map(np.concatenate, zip(NO_HITS, *listed, strict=True))), count, more)


def find_next(
    source: Source,
    patterns: Sequence[Searched],
    progress: Progress,
    start: int,
    *,
    backward: bool = False,
    chunk: int = CHUNK,
) -> NextHit | None:
    """Return the first hit at or after `start`, or the last one before it (`backward`). Wraps around; None if none."""
    start, at = min(max(start, 0), source.size), -1 if backward else 0
    for hits in _parts(source, patterns, progress, start, chunk, backward=backward):
        if len(hits.offsets):
            offset, size, number = (int(column[at]) for column in hits)
            around = offset >= start if backward else offset < start
            return NextHit(Span("", offset, offset + size), around, patterns[number])
    return None


class ContentHit(NamedTuple):
    """Hit in an uncompressed content; `span` is its location in the file or in decoded bytes, None if that is split."""

    row: int
    offset: int
    span: Span | None
    pattern: Searched


def search_contents(
    shard: Shard,
    patterns: Sequence[Searched],
    progress: Progress,
    *,
    unreadable: Callable[[int, ShardError], None] | None = None,
) -> Iterator[ContentHit]:
    """Yield the hits in the uncompressed contents of all objects, in row order; the index must be loaded.

    Contents are decoded piece by piece, within the limits of the shard. Unreadable objects are skipped and passed to
    `unreadable`. `progress` counts objects and may raise `Cancelled`.
    """
    done, total = 0, len(shard.objects)

    def check() -> None:
        progress(done, total)

    for done in range(total):
        ref = shard.objects.ref(done)
        if ref.state in (State.LIVE, State.EXTERNAL):
            try:
                for offset, size, number in _in_pieces(shard.stream(ref), patterns, check):
                    yield ContentHit(ref.row, offset, _content_span(shard, ref, offset, size), patterns[number])
            except ShardError as error:
                raise_if_ended(error)
                if unreadable is not None:
                    unreadable(ref.row, error)
        progress(done + 1, total)


def _in_pieces(
    pieces: Iterable[bytes], patterns: Sequence[Searched], check: Callable[[], None]
) -> Iterator[tuple[int, int, int]]:
    """Yield offset, size and pattern index of each hit. The end of a piece is searched together with the next piece."""
    reach = max(pattern.size for pattern in patterns) - 1
    held, base, at = b"", 0, 0
    for piece in chain(pieces, (None,)):
        check()
        held += piece or b""
        stop = base + len(held) - (reach if piece is not None else 0)
        if stop > at:
            for offset, size, number in zip(*map(np.ndarray.tolist, find_any(held, patterns)), strict=True):
                if at <= base + offset < stop:
                    yield base + offset, size, number
            cut, at = max(stop - reach - base, 0), stop
            held, base = held[cut:], base + cut


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


def _hits_beginning_in(source: Source, patterns: Sequence[Searched], at: int, stop: int) -> HitColumns:
    reach = max(pattern.size for pattern in patterns) - 1
    # Start earlier: a hit inside one that begins before `at` does not count.
    first = at if len(patterns) == 1 and isinstance(patterns[0], Pattern) else max(at - reach, 0)
    found = find_any(source.read(first, min(stop + reach, source.size)), patterns)
    found = found._replace(offsets=found.offsets + first)
    return found.where((found.offsets >= at) & (found.offsets < stop))


def _parts(
    source: Source, patterns: Sequence[Searched], progress: Progress, start: int, chunk: int, *, backward: bool = False
) -> Iterator[HitColumns]:
    """Yield the hits per chunk: from `start` to the end, then from the beginning; `backward` reverses the order."""
    total, done = source.size, 0
    parts = [range(start, total, chunk), range(0, start, chunk)]
    if backward:
        parts = [range(start, 0, -chunk), range(total, start, -chunk)]
    for part in parts:
        for edge in part:
            at, stop = sorted((edge, max(edge - chunk, part.stop) if backward else min(edge + chunk, part.stop)))
            progress(done, total)
            yield _hits_beginning_in(source, patterns, at, stop)
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
