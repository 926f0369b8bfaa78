"""Inference of the sharding specification from the bytes of a shard, if there is no info."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decompress import GZIP_MAGIC, decompress
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.neuroglancer.index import TOTAL_FLOOR, TOTAL_RATIO
from shardcore.formats.neuroglancer.layout import (
    MinishardEntries,
    Numbers,
    entries_of,
    entry_count,
    fragments_span,
    range_faults,
    read_manifest,
    read_pairs,
)
from shardcore.formats.neuroglancer.sharding import HASHES, IDENTITY, MURMUR, ShardingSpec, shard_number, shift_right
from shardcore.model.text import plural
from shardcore.sources.base import Source

MAX_MINISHARD_BITS = 24
EMPTY_LIMIT = 1 << 16
INDEX_SAMPLE = 1024
DECODED_LIMIT = 64 << 20
ID_SAMPLE = 256
HASHED_LIMIT = 1 << 24
"""Maximum number of keys hashed per value of `minishard_bits`; beyond it, only a sample of the keys is hashed."""
HASHED_SAMPLE = 1 << 14
VALUE_SAMPLE = 64
MANIFEST_SAMPLE = 8
MANIFEST_SIZE = 1 << 20
"""Maximum size in bytes of sampled values; if one is larger, values are not taken for mesh manifests."""
CHECKS = 3


@dataclass(frozen=True, slots=True)
class Fit:
    """A hash function and `preshift_bits` with which every key belongs in the minishard that lists it.

    `shard_bits` has all values that are consistent with the file name and other names in the folder; it may be empty.
    """

    hash: str
    preshift_bits: int
    shard_bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value of `minishard_bits` with which the file can be parsed.

    `minishards_read` of the `minishards_used` (not empty) indices were read. `score` is the fraction of the file
    covered by indices and values. Many `overlapping` values indicate a wrong guess. `meshes` is True if the sampled
    values are mesh manifests. `fits` has all hash functions and preshift_bits that match the keys.
    """

    minishard_bits: int
    index_encoding: str
    data_encoding: str
    entries: int
    minishards_read: int
    minishards_used: int
    score: float
    overlapping: int
    meshes: bool
    fits: tuple[Fit, ...]

    @property
    def best_fit(self) -> Fit | None:
        """The best fit, by agreement with the file name, then low preshift_bits, then the more usual hash; or None."""
        # With one minishard, any hash fits, and identity is the simplest.
        preferred = IDENTITY if self.minishard_bits == 0 else MURMUR
        order = lambda fit: (not fit.shard_bits, fit.preshift_bits, fit.hash != preferred)  # noqa: E731
        return min(self.fits, key=order, default=None)

    @property
    def spec(self) -> ShardingSpec:
        fit = self.best_fit or Fit(IDENTITY, 0, ())
        shard_bits, encodings = (*fit.shard_bits, 0)[0], (self.index_encoding, self.data_encoding)
        return ShardingSpec(fit.preshift_bits, fit.hash, self.minishard_bits, shard_bits, *encodings)

    def evidence(self) -> Iterator[str]:
        """Yield a sentence per check (only the third can fail), then the coverage of the file, then warnings."""
        yield f"shard index: {plural(1 << self.minishard_bits, 'entry')}, every range is inside the file"
        read = f"{self.minishards_read:,} of {plural(self.minishards_used, 'minishard index')} read"
        yield f"minishard indices: {self.index_encoding}, {read}: {plural(self.entries, 'value')} in the file"
        if (fit := self.best_fit) is None:
            yield "hash: no combination of hash and preshift_bits gives all keys their minishards"
        elif self.minishard_bits == 0:
            yield "hash: there is only one minishard, so every key belongs in it"
        else:
            yield f"hash: {fit.hash} with preshift_bits {fit.preshift_bits} gives every key its minishard"
        yield f"indices and values cover {self.score:.0%} of the file"
        if self.meshes:
            yield "values are mesh manifests, with unlisted fragments before them"
        if self.overlapping:
            yield plural(self.overlapping, "value overlaps", "values overlap") + " others"

    def ambiguity(self) -> tuple[str, ...]:
        open_points = []
        if self.minishard_bits == 0:
            open_points.append("hash and preshift_bits are unknown, but not needed with a single minishard")
        elif len(self.fits) > 1:
            open_points.append("hash and preshift_bits: " + ", or ".join(_fit_texts(self.fits)) + " fit")
        fit = self.best_fit
        if fit and len(fit.shard_bits) > 1:
            first, last = fit.shard_bits[0], fit.shard_bits[-1]
            open_points.append(f"shard_bits may be {first} to {last}; it is not needed for a single file")
        if fit and not fit.shard_bits:
            open_points.append("shard_bits is unknown: the file name does not match the keys")
        return tuple(open_points)


@dataclass(frozen=True, slots=True)
class Inference:
    """Result of the inference: candidates, best first, and a reason per rejected value of `minishard_bits`."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[str, ...]

    @property
    def best(self) -> Candidate | None:
        return self.candidates[0] if self.candidates else None

    @property
    def certain(self) -> bool:
        """True if all checks pass, so that the file can be detected as a shard."""
        return self.best is not None and bool(self.best.fits)

    @property
    def why(self) -> str:
        passed = 0 if self.best is None else CHECKS if self.certain else CHECKS - 1
        return f"inferred, {passed} of {CHECKS} checks"

    def evidence(self) -> tuple[str, ...]:
        """Return sentences: checks, coverage and warnings of the best candidate, then one per other candidate."""
        if self.best is None:
            return self.rejected
        others = (f"minishard_bits {one.minishard_bits} also parses ({one.score:.0%})" for one in self.candidates[1:])
        return *self.best.evidence(), *others


def infer(file: Source, name: str = "", siblings: Sequence[str] = (), index_size: int | None = None) -> Inference:
    """Infer the specification of a shard from its bytes.

    `name` and `siblings` (other names in the folder) limit `shard_bits`. `index_size` is the size of the `.index` file
    of the split form, whose files are concatenated in `file`.
    """
    found: list[Candidate] = []
    rejected: list[str] = []
    for bits, pairs in _shard_indices(file, index_size, rejected):
        try:
            found.append(_candidate(file, bits, pairs, name, siblings))
        except (FormatError, LimitExceeded) as error:
            rejected.append(f"minishard_bits {bits}: {error.message}")
    found.sort(key=lambda candidate: (bool(candidate.fits), candidate.score), reverse=True)
    return Inference(tuple(found), tuple(rejected))


def _shard_indices(file: Source, index_size: int | None, rejected: list[str]) -> Iterator[tuple[int, Numbers]]:
    table = b""
    for bits in range(MAX_MINISHARD_BITS + 1):
        size = 16 << bits
        if size > file.size:
            return
        if index_size not in (None, size):
            continue
        table += file.read(len(table), size)
        pairs = read_pairs(table)
        starts, ends = pairs[:, 0], pairs[:, 1]
        # With more bits the rest of the file is shorter, so such a range is always outside the file.
        # The range of an empty minishard may be anywhere, but writers choose one within the file.
        if range_faults(pairs, size, file.size).any() or (ends > np.uint64(file.size - size)).any():
            rejected.append(f"minishard_bits {bits} and more: a range in the shard index exceeds the file")
            return
        if (starts == ends).all():
            rejected.append(f"minishard_bits {bits}: every minishard is empty")
            if len(pairs) >= EMPTY_LIMIT:
                return
            continue
        yield bits, pairs


def _candidate(file: Source, bits: int, pairs: Numbers, name: str, siblings: Sequence[str]) -> Candidate:
    base = 16 << bits
    used = np.flatnonzero(pairs[:, 0] < pairs[:, 1])
    stored = sum((pairs[used, 1] - pairs[used, 0]).tolist())
    if stored > file.size - base:
        raise FormatError("the minishard indices overlap: together they are longer than the rest of the file")
    picked = used[_spread(len(used), INDEX_SAMPLE)]
    ranges = [(base + start, base + stop) for start, stop in pairs[picked].tolist()]
    room = min(DECODED_LIMIT, max(TOTAL_FLOOR, TOTAL_RATIO * file.size))
    encoding, indices = _decode_indices(file.read_many(ranges), room)
    entries = entries_of(indices, picked.tolist(), base, file.size)
    if entries.wrapped.any():
        raise FormatError("the running sum of chunk_ids exceeds 2^64")
    if (entries.ids[1:] == entries.ids[:-1])[entries.slots[1:] > 0].any():
        raise FormatError("a key is listed twice in a row")
    if not entries.inside.all():
        raise FormatError("a value exceeds the file")
    values = sum(entries.sizes.tolist()) * stored // max(1, sum(stop - start for start, stop in ranges))
    return Candidate(
        minishard_bits=bits,
        index_encoding=encoding,
        data_encoding=_data_encoding(file, entries),
        entries=len(entries),
        minishards_read=len(picked),
        minishards_used=len(used),
        score=(base + stored + values) / file.size,
        overlapping=_overlaps(entries),
        meshes=_meshes(file, entries, base),
        fits=tuple(_fits(entries, bits, name, siblings)),
    )


def _decode_indices(stored: Sequence[bytes], room: int) -> tuple[str, list[bytes]]:
    encodings = {"gzip" if data.startswith(GZIP_MAGIC) else "raw" for data in stored}
    if len(encodings) > 1:
        raise FormatError("some minishard indices are gzip and some are not")
    encoding = encodings.pop()
    codec = "gzip" if encoding == "gzip" else "none"
    indices = []
    for data in stored:
        decoded = decompress(codec, data, limit=room)
        if not entry_count(len(decoded)):
            raise FormatError("a minishard index has no entries")
        room -= len(decoded)
        indices.append(decoded)
    return encoding, indices


def _fits(entries: MinishardEntries, bits: int, name: str, siblings: Sequence[str]) -> Iterator[Fit]:
    listed = entries.minishards.astype(np.uint64)
    sample, larger = (_spread(len(entries), limit) for limit in (ID_SAMPLE, HASHED_SAMPLE))
    left = HASHED_LIMIT
    # Small preshifts are likely, so they are checked first, with all keys.
    for preshift, function in product(range(64), HASHES):
        spec = ShardingSpec(preshift, function, bits, 0)
        if not (spec.place_many(entries.ids[sample])[0] == listed[sample]).all():
            continue
        rows = larger if len(entries) > left else slice(None)
        ids, minishards = entries.ids[rows], listed[rows]
        left -= len(ids)
        hashed = spec.hashed_many(ids)
        if (hashed & np.uint64(spec.minishards - 1) == minishards).all():
            yield Fit(function, preshift, _shard_bits(hashed, bits, name, siblings))


def _shard_bits(hashed: Numbers, minishard_bits: int, name: str, siblings: Sequence[str]) -> tuple[int, ...]:
    """Return the values of `shard_bits` with which all hashes belong in the file `name`."""
    named = shard_number(name)
    if named is None:
        return ()
    number, digits = named
    others = [other for other in map(shard_number, siblings) if other and other[1] == digits]
    highest = max(number, *(other[0] for other in others)) if others else number
    first = 0 if digits == 1 else 4 * (digits - 1) + 1
    return tuple(
        bits
        for bits in range(max(first, highest.bit_length()), min(4 * digits, 64 - minishard_bits) + 1)
        if (shift_right(hashed, minishard_bits) & np.uint64((1 << bits) - 1) == np.uint64(number)).all()
    )


def _overlaps(entries: MinishardEntries) -> int:
    """Return the number of non-empty values that start before the end of an earlier one."""
    kept = np.flatnonzero(entries.sizes)
    kept = kept[np.argsort(entries.starts[kept], kind="stable")]
    starts = entries.starts[kept]
    return int((starts[1:] < np.maximum.accumulate(starts + entries.sizes[kept])[:-1]).sum())


def _data_encoding(file: Source, entries: MinishardEntries) -> str:
    filled = np.flatnonzero(entries.sizes > 0)
    if not len(filled):
        return "raw"
    picked = filled[_spread(len(filled), VALUE_SAMPLE)]
    starts, sizes = entries.starts[picked].tolist(), entries.sizes[picked].tolist()
    ranges = [(start, start + min(size, 3)) for start, size in zip(starts, sizes, strict=True)]
    return "gzip" if all(head == GZIP_MAGIC for head in file.read_many(ranges)) else "raw"


def _meshes(file: Source, entries: MinishardEntries, base: int) -> bool:
    picked = _spread(len(entries), MANIFEST_SAMPLE)
    sizes = entries.sizes[picked].tolist()
    if not 0 < max(sizes, default=0) <= MANIFEST_SIZE:
        return False
    starts = entries.starts[picked].tolist()
    ranges = [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    try:
        manifests = [read_manifest(data) for data in file.read_many(ranges)]
        fragments = [fragments_span(manifest, start, base) for manifest, start in zip(manifests, starts, strict=True)]
    except FormatError:
        return False
    return any(span.size for span in fragments)


def _spread(count: int, limit: int) -> npt.NDArray[np.int64]:
    return np.arange(min(count, limit), dtype=np.int64) * count // max(1, min(count, limit))


def _fit_texts(fits: Sequence[Fit]) -> Iterator[str]:
    for function in HASHES:
        shifts = [fit.preshift_bits for fit in fits if fit.hash == function]
        firsts = [shift for shift in shifts if shift - 1 not in shifts]
        lasts = [shift for shift in shifts if shift + 1 not in shifts]
        for first, last in zip(firsts, lasts, strict=True):
            yield f"{function} with preshift_bits {first}" + (f" to {last}" if last > first else "")
