"""Origin of the sharding specification: given, from an `info` in or above the folder, or inferred from the bytes."""

from __future__ import annotations

import functools
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decompress import decompress
from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, UsageError, says_absent
from shardcore.formats.neuroglancer.index_levels import TOTAL_FLOOR, TOTAL_RATIO
from shardcore.formats.neuroglancer.info import (
    BESIDE,
    INFO_LIMIT,
    INFO_LIMITS,
    Info,
    KeySpace,
    SpaceKind,
    parse_info,
    type_of,
)
from shardcore.formats.neuroglancer.layout import entry_count, fragments_span, range_faults, read_manifest
from shardcore.formats.neuroglancer.minishard import MinishardEntries, entries_of, overlaps
from shardcore.formats.neuroglancer.sharding import (
    HASHES,
    IDENTITY,
    MURMUR,
    Keys,
    ShardingSpec,
    shard_number,
    shift_right,
)
from shardcore.model.number_text import plural
from shardcore.model.record import Value
from shardcore.model.span import Span
from shardcore.sources.base import Folder, Source, merged
from shardcore.sources.local import FileSource
from shardcore.sources.prefetched_source import PrefetchedSource

GZIP_START = b"\x1f\x8b\x08"
MAX_MINISHARD_BITS = 24
EMPTY_LIMIT = 1 << 16
INDEX_SAMPLE = 1024
DECODED_LIMIT = 64 << 20
ID_SAMPLE = 256
HASHED_LIMIT = 1 << 24
"""Maximum number of keys hashed per value of `minishard_bits`; of more keys, a sample is checked."""
HASHED_SAMPLE = 1 << 14
VALUE_SAMPLE = 64
MANIFEST_SAMPLE = 8
MANIFEST_LIMIT = 1 << 20


class Bytes(Protocol):
    """Protocol of a file: its size, and reads of any range."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, stop: int, /) -> bytes:
        """Return the bytes `[start, stop)` or raise a ShardError."""


@dataclass(frozen=True, slots=True)
class CandidateCheck:
    name: str
    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Fit:
    """Hash and preshift with which every id belongs in the minishard that lists it.

    `shard_bits` has the values that are consistent with the file name and other names in the folder; it may be empty.
    """

    hash: str
    preshift_bits: int
    shard_bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Value of `minishard_bits` with which the file can be parsed.

    `minishards_read` of the `minishards_used` (not empty) indices were read. `score` is the fraction of the file
    covered by indices and values. Many `overlapping` values indicate a wrong guess. `meshes`: sampled values are
    mesh manifests. `fits` are all hashes and preshifts that match.
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
        """Preferred fit: it agrees with the file name, then has the smallest preshift, then the more usual hash."""
        if not self.fits:
            return None
        # With one minishard, any hash fits, and identity is the simplest.
        preferred = IDENTITY if self.minishard_bits == 0 else MURMUR
        return min(self.fits, key=lambda fit: (not fit.shard_bits, fit.preshift_bits, fit.hash != preferred))

    @property
    def spec(self) -> ShardingSpec:
        fit = self.best_fit or Fit(IDENTITY, 0, ())
        return ShardingSpec(
            preshift_bits=fit.preshift_bits,
            hash=fit.hash,
            minishard_bits=self.minishard_bits,
            shard_bits=(*fit.shard_bits, 0)[0],
            minishard_index_encoding=self.index_encoding,
            data_encoding=self.data_encoding,
        )

    def checks(self) -> tuple[CandidateCheck, ...]:
        count = plural(self.entries, "value")
        read = f"{self.minishards_read:,} of {plural(self.minishards_used, 'minishard index')} read"
        fit = self.best_fit
        hashed = "no combination of hash and preshift_bits gives all keys their minishards"
        if fit and self.minishard_bits == 0:
            hashed = "there is only one minishard, so every key belongs in it"
        elif fit:
            hashed = f"{fit.hash} with preshift_bits {fit.preshift_bits} gives every key its minishard"
        return (
            CandidateCheck(
                "shard index", True, f"{plural(1 << self.minishard_bits, 'entry')}, every range is inside the file"
            ),
            CandidateCheck("minishard indices", True, f"{self.index_encoding}, {read}: {count} in the file"),
            CandidateCheck("hash", fit is not None, hashed),
        )

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
        return self.best is not None and all(check.passed for check in self.best.checks())

    @property
    def why(self) -> str:
        checks = self.best.checks() if self.best else ()
        return f"inferred, {sum(check.passed for check in checks)} of 3 checks"

    def evidence(self) -> tuple[str, ...]:
        """Return checks, coverage and warnings of the best candidate, then the other candidates."""
        if self.best is None:
            return self.rejected
        lines = [f"{check.name}: {check.text}" for check in self.best.checks()]
        lines.append(f"indices and values cover {self.best.score:.0%} of the file")
        if self.best.meshes:
            lines.append("values are mesh manifests, with unlisted fragments before them")
        if self.best.overlapping:
            lines.append(plural(self.best.overlapping, "value overlaps", "values overlap") + " others")
        for other in self.candidates[1:]:
            lines.append(f"minishard_bits {other.minishard_bits} also parses ({other.score:.0%})")
        return tuple(lines)


def infer(file: Bytes, name: str = "", siblings: Sequence[str] = (), index_size: int | None = None) -> Inference:
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


def _shard_indices(file: Bytes, index_size: int | None, rejected: list[str]) -> Iterator[tuple[int, Keys]]:
    table = b""
    for bits in range(MAX_MINISHARD_BITS + 1):
        size = 16 << bits
        if size > file.size:
            return
        if index_size not in (None, size):
            continue
        table += file.read(len(table), size)
        pairs = np.frombuffer(table, dtype="<u8").reshape(-1, 2).astype(np.uint64, copy=False)
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


def _candidate(file: Bytes, bits: int, pairs: Keys, name: str, siblings: Sequence[str]) -> Candidate:
    base = 16 << bits
    used = np.flatnonzero(pairs[:, 0] < pairs[:, 1])
    lengths = pairs[used, 1] - pairs[used, 0]
    stored = sum(lengths.tolist())
    if stored > file.size - base:
        raise FormatError("the minishard indices overlap")
    picked = used[_spread(len(used), INDEX_SAMPLE)]
    ranges = [(base + start, base + stop) for start, stop in pairs[picked].tolist()]
    room = min(DECODED_LIMIT, max(TOTAL_FLOOR, TOTAL_RATIO * file.size))
    encoding, indices = _decode_indices(_read_merged(file, ranges), room)
    entries = entries_of(indices, picked.tolist(), base, file.size)
    _refuse_implausible(entries)
    values = sum(entries.sizes.tolist()) * stored // max(1, sum(stop - start for start, stop in ranges))
    return Candidate(
        minishard_bits=bits,
        index_encoding=encoding,
        data_encoding=_data_encoding(file, entries),
        entries=len(entries),
        minishards_read=len(picked),
        minishards_used=len(used),
        score=(base + stored + values) / file.size,
        overlapping=overlaps(entries.starts, entries.sizes),
        meshes=_meshes(file, entries, base),
        fits=tuple(_fits(entries, bits, name, siblings)),
    )


def _decode_indices(stored: Sequence[bytes], room: int) -> tuple[str, list[bytes]]:
    encodings = {"gzip" if data.startswith(GZIP_START) else "raw" for data in stored}
    if len(encodings) > 1:
        raise FormatError("some minishard indices are gzip and some are not")
    encoding = encodings.pop()
    codec = "gzip" if encoding == "gzip" else "none"
    indices = []
    for data in stored:
        decoded = decompress(codec, data, limit=room)
        if not entry_count(len(decoded)):
            raise FormatError("a minishard index without entries")
        room -= len(decoded)
        indices.append(decoded)
    return encoding, indices


def _refuse_implausible(entries: MinishardEntries) -> None:
    if entries.wrapped.any():
        raise FormatError("the running sum of chunk_ids exceeds 2^64")
    if (entries.ids[1:] == entries.ids[:-1])[entries.slots[1:] > 0].any():
        raise FormatError("a key is listed twice in a row")
    if not entries.inside.all():
        raise FormatError("a value exceeds the file")


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


def _shard_bits(hashed: Keys, minishard_bits: int, name: str, siblings: Sequence[str]) -> tuple[int, ...]:
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


def _data_encoding(file: Bytes, entries: MinishardEntries) -> str:
    filled = np.flatnonzero(entries.sizes > 0)
    if not len(filled):
        return "raw"
    picked = filled[_spread(len(filled), VALUE_SAMPLE)]
    starts, sizes = entries.starts[picked].tolist(), entries.sizes[picked].tolist()
    ranges = [(start, start + min(size, 3)) for start, size in zip(starts, sizes, strict=True)]
    heads = _read_merged(file, ranges)
    return "gzip" if all(head == GZIP_START for head in heads) else "raw"


def _meshes(file: Bytes, entries: MinishardEntries, base: int) -> bool:
    picked = _spread(len(entries), MANIFEST_SAMPLE)
    sizes = entries.sizes[picked].tolist()
    if not 0 < max(sizes, default=0) <= MANIFEST_LIMIT:
        return False
    starts = entries.starts[picked].tolist()
    ranges = [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    try:
        manifests = [read_manifest(data) for data in _read_merged(file, ranges)]
        fragments = [fragments_span(manifest, start, base) for manifest, start in zip(manifests, starts, strict=True)]
    except FormatError:
        return False
    return any(span.size for span in fragments)


def _spread(count: int, limit: int) -> npt.NDArray[np.int64]:
    return np.arange(min(count, limit), dtype=np.int64) * count // max(1, min(count, limit))


def _read_merged(file: Bytes, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    parts = [b""] * len(ranges)
    for start, stop, members in merged(ranges):
        block = file.read(start, stop)
        for number in members:
            parts[number] = block[ranges[number][0] - start : ranges[number][1] - start]
    return parts


def _fit_texts(fits: Sequence[Fit]) -> Iterator[str]:
    for function in HASHES:
        shifts = [fit.preshift_bits for fit in fits if fit.hash == function]
        firsts = [shift for shift in shifts if shift - 1 not in shifts]
        lasts = [shift for shift in shifts if shift + 1 not in shifts]
        for first, last in zip(firsts, lasts, strict=True):
            yield f"{function} with preshift_bits {first}" + (f" to {last}" if last > first else "")


INFO_NAME = "info"
_INFO_NOTE = "neuroglancer info"
_INFERENCE_NOTE = "neuroglancer inference"
MOST_CHOICES = 50
"""Maximum number of key spaces or reasons listed in one sentence."""
_OF_SHARDING = ("hash", "minishard_bits")
"""Members that identify a sharding object."""

LEVELS_ABOVE = 2
"""Number of parent folders of a shard in which the info is searched; folder names in an info may have several parts."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Key space with the origin of its specification.

    `why` is a short description, such as `info in the same folder, skeletons`. `text` is the info (empty if inferred),
    `place` the sharding object in it. `others` has one sentence per unusable key space of the same info.
    """

    space: KeySpace
    why: str
    text: bytes = b""
    place: Span | None = None
    others: tuple[str, ...] = ()
    inference: Inference | None = None
    sharding: Mapping[str, Any] | None = None

    @property
    def spec(self) -> ShardingSpec:
        return self.space.spec

    @property
    def parameters(self) -> str:
        return json.dumps(self.spec.to_json(), indent=2)

    @property
    def written_with(self) -> str:
        """Info with only this key space, as JSON text; only the specification if the key space cannot be separated."""
        if self.space.kind not in (SpaceKind.VOLUME, SpaceKind.MESH, SpaceKind.SKELETON) or not self.text:
            return self.parameters
        members = parse_json(self.text, "the info", limits=INFO_LIMITS, encoding="utf-8-sig")
        if self.space.kind is SpaceKind.VOLUME:
            here = self.space.folder or "."
            scales = [one for one in members["scales"] if posixpath.normpath(str(one.get("key") or ".")) == here]
            members = {**members, "scales": [{**one, "key": here.removeprefix(BESIDE)} for one in scales[:1]]}
        return json.dumps(members)

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {"spec": json.loads(self.written_with)}
        if self.text and self.space.kind is not SpaceKind.UNKNOWN:
            members = parse_json(self.text, "the info", limits=INFO_LIMITS, encoding="utf-8-sig")
            if found["spec"].get("@type") != members.get("@type"):
                found["info"] = members
            info = parse_info(self.text)
            others = {each.folder or ".": each.name for each in info.key_spaces if each != self.space}
            found |= {"key_spaces": others} if others else {}
        return found

    def fields_at(self, *names: str) -> tuple[Span, ...]:
        """Return the spans of members in the sharding object; the whole object for a missing member."""
        if self.place is None:
            return ()
        text, found = self.text[self.place.start : self.place.stop], list[Span]()
        for name in names:
            member = re.search(rb'"' + name.encode() + rb'"\s*:\s*("[^"]*"|[^\s,}]+)', text)
            start, stop = member.span() if member is not None else (0, len(text))
            found.append(Span(self.place.source, self.place.start + start, self.place.start + stop))
        return tuple(dict.fromkeys(found))

    @property
    def evidence(self) -> tuple[str, ...]:
        return self.inference.evidence() if self.inference is not None else ()

    @property
    def ambiguity(self) -> tuple[str, ...]:
        best = self.inference.best if self.inference is not None else None
        return best.ambiguity() if best is not None else ()

    @property
    def fields(self) -> dict[str, Value]:
        found: dict[str, Value] = {f"spec.{name}": v for name, v in self.spec.to_json().items() if name != "@type"}
        found |= {"spec.origin": self.why, "space.kind": self.space.kind.value, "space.name": self.space.name}
        if self.space.grid is not None:
            found["space.grid"] = ",".join(map(str, self.space.grid))
        if self.inference is not None:
            found["spec.evidence"] = "; ".join(self.evidence)
            found["spec.open"] = "; ".join(self.ambiguity)
        return found


@dataclass(frozen=True, slots=True)
class FoundInfo:
    """An info and the folder of the shards relative to it (empty for the same folder)."""

    info: Info
    text: bytes
    folder: str

    @property
    def where(self) -> str:
        return "info in a parent folder" if self.folder else "info in the same folder"


def info_of(source: PrefetchedSource) -> FoundInfo | None:
    """Return the info in or above the folder of a shard; requested once for detection and opening."""
    if _INFO_NOTE not in source.notes:
        source.notes[_INFO_NOTE] = find_info(source.folder) if source.folder is not None else None
    found = source.notes[_INFO_NOTE]
    return found if isinstance(found, FoundInfo) else None


def inference_of(source: PrefetchedSource, shard: Source, index_size: int | None) -> Inference:
    known = source.notes.get(_INFERENCE_NOTE)
    if not isinstance(known, Inference):
        known = source.notes[_INFERENCE_NOTE] = infer(shard, source.name, _siblings(source), index_size)
    return known


def origin_of(
    source: PrefetchedSource, shard: Source, spec: Any, *, forced: bool, index_size: int | None = None
) -> Origin:
    """Return the key space of a shard; `forced` accepts a guess even if some checks fail.

    Raises:
        UsageError: `spec` is not a specification, or fits several key spaces.
        NotAShard: There is no info, and the bytes fit no specification.
    """
    folder_name = source.folder.name if source.folder is not None else ""
    if spec is not None:
        return given_origin(spec, folder_name)
    found = info_of(source)
    if found is not None and (space := found.info.space_of(found.folder)) is not None:
        return origin_from(space, found.info, found.text, f"{found.where}, {space.name}")
    inference = inference_of(source, shard, index_size)
    best, useless = inference.best, useless_info(source.folder)
    if best is None or not (inference.certain or forced):
        raise NotAShard(
            f"{source.name}: no usable info, and the bytes fit no sharding specification",
            candidates=(*useless, *inference.evidence()),
        )
    kind = SpaceKind.MESH if best.meshes else SpaceKind.UNKNOWN
    return Origin(KeySpace(kind, "keys", "", best.spec), inference.why, others=useless, inference=inference)


def given_origin(spec: Any, folder_name: str = "") -> Origin:
    """Return the key space of a given specification or info.

    Raises UsageError if it is neither, or an info with several key spaces, none of them in `folder_name`.
    """
    text, members = _given(spec)
    if type_of(members) is None and not set(_OF_SHARDING) & set(members):
        raise UsageError("the given specification is neither a sharding object nor an info")
    try:
        info = _info_of(members)
    except FormatError as error:
        raise UsageError(f"the given specification cannot be used: {error.message}") from error
    spaces = [space for space in info.spaces if space.folder.rsplit("/", 1)[-1] == folder_name] or list(info.spaces)
    if len(spaces) != 1:
        raise UsageError(choice_text("the given specification", info))
    return origin_from(spaces[0], info, text, f"given specification, {spaces[0].name}")


def find_info(folder: Folder, *, any_space: bool = False) -> FoundInfo | None:
    """Return the info in `folder` or up to `LEVELS_ABOVE` above it that has a key space there; None if none has.

    With `any_space`, an info in the folder itself counts even if its key spaces are in folders below.
    """
    inside: list[str] = []
    at: Folder | None = folder
    for _ in range(LEVELS_ABOVE + 1):
        if at is None:
            return None
        text = read_info(at)
        if text is not None:
            try:
                info = parse_info(text)
            except FormatError:
                info = None
            here = any_space and not inside
            below = "/".join(inside)
            if info is not None and (here or info.space_of(below) or (any_space and info.files_of(below))):
                return FoundInfo(info, text, below)
        inside.insert(0, at.name)
        at = at.parent()
    return None


def read_info(folder: Folder) -> bytes | None:
    try:
        return folder.read(INFO_NAME, INFO_LIMIT)
    except LimitExceeded:
        return None
    except SourceError as error:
        if not says_absent(error):
            raise
        return None


def useless_info(folder: Folder | None) -> tuple[str, ...]:
    text = read_info(folder) if folder is not None else None
    if text is None:
        return ()
    try:
        info = parse_info(text)
    except FormatError as error:
        return (f"the info in the same folder: {error.message}",)
    return info.others or ("the info has no key space in this folder",)


def choice_text(what: str, info: Info) -> str:
    others = (*info.others, *(f"{space.name}: not sharded" for space in info.files))
    return choices_text(what, [(space.folder, space.name) for space in info.spaces], others)


def choices_text(what: str, choices: Sequence[tuple[str, str]], others: Sequence[str]) -> str:
    if not choices:
        return f"{what} has no usable key space: {reasons_text(others) or 'none is listed'}"
    listed = ", ".join(f"{folder or '.'} ({name})" for folder, name in choices[:MOST_CHOICES])
    if len(choices) > MOST_CHOICES:
        listed += f", and {len(choices) - MOST_CHOICES} more"
    return f"{what} has {len(choices)} key spaces; choose one by its folder: {listed}"


def reasons_text(reasons: Sequence[str]) -> str:
    more = [f"and {len(reasons) - MOST_CHOICES} more"] if len(reasons) > MOST_CHOICES else []
    return "; ".join([*reasons[:MOST_CHOICES], *more])


def origin_from(space: KeySpace, info: Info, text: bytes, why: str) -> Origin:
    if not space.sharded:
        return Origin(space, why, text, others=info.others)
    place, sharding = _sharding_place(text, space.spec)
    return Origin(space, why, text, place, info.others, sharding=sharding)


def _sharding_place(text: bytes, spec: ShardingSpec) -> tuple[Span, Mapping[str, Any] | None]:
    return _sharding_places(text).get(spec, (Span(INFO_NAME, 0, len(text)), None))


@functools.lru_cache(maxsize=1)
def _sharding_places(text: bytes) -> Mapping[ShardingSpec, tuple[Span, Mapping[str, Any]]]:
    """Return span and value of the first sharding object per specification in an info; O(n) for all, cached."""
    whole = text.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    found: dict[ShardingSpec, tuple[Span, Mapping[str, Any]]] = {}
    seen = at = at_byte = 0
    for match in re.finditer(r'"sharding"\s*:\s*(?=\{)|^\s*(?=\{)', whole):
        if match.end() < seen:
            continue
        try:
            value, stop = decoder.raw_decode(whole, match.end())
            seen = stop if match.start() else 0
            spec = ShardingSpec.parse(value)
        except (ValueError, RecursionError, FormatError):
            continue
        if spec not in found:
            at_byte += len(whole[at : match.end()].encode())
            at = match.end()
            found[spec] = Span(INFO_NAME, at_byte, at_byte + len(whole[at:stop].encode())), value
    return found


def _info_of(members: Mapping[str, Any]) -> Info:
    if any(name in members for name in _OF_SHARDING):
        return Info("", (KeySpace(SpaceKind.UNKNOWN, "keys", "", ShardingSpec.parse(members)),), ())
    return parse_info(members)


def _given(spec: Any) -> tuple[bytes, Mapping[str, Any]]:
    if isinstance(spec, ShardingSpec):
        spec = spec.to_json()
    if isinstance(spec, Mapping):
        try:
            return json.dumps(spec, indent=1).encode(), spec
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"the given specification is not JSON: {error}") from error
    if isinstance(spec, (str, bytes)) and spec.lstrip()[:1] in ("{", "[", b"{", b"["):
        text = spec.encode() if isinstance(spec, str) else spec
    elif isinstance(spec, (str, Path)):
        path = Path(spec)
        inside = path.is_dir()
        with FileSource(path / INFO_NAME if inside else path, follow_links=not inside) as source:
            if source.size > INFO_LIMIT:
                raise UsageError(f"{spec} has {source.size} bytes, too many for a specification")
            text = source.read(0, source.size)
    else:
        raise UsageError(f"a specification must be JSON text, a mapping or a file, not {type(spec).__name__}")
    try:
        members = parse_json(text, "the given specification", limits=INFO_LIMITS, encoding="utf-8-sig")
    except FormatError as error:
        raise UsageError(error.message) from error
    if not isinstance(members, Mapping):
        raise UsageError("the given specification is not a JSON object")
    return text, members


def _siblings(source: Source) -> list[str]:
    if source.folder is None:
        return []
    try:
        return [entry.name for entry in source.folder.list() if not entry.is_folder and entry.name != source.name]
    except SourceError as error:
        if not says_absent(error):
            raise
        return []
