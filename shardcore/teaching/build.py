"""A file that is built by hand: what its layout requires next, until the reader accepts it.

Names, sizes and sentences are those of the `Record`s of the formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardcore.errors import ShardError
from shardcore.formats.bloscpack.checksums import CHECKSUMS
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, HEADERS, METADATA_HEADER, OFFSET, HeaderOption
from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, MINISHARD_INDEX, SHARD_INDEX_ENTRY
from shardcore.model.finding import Depth, Severity
from shardcore.model.number_words import plural
from shardcore.model.record import Field, FieldRole, Record
from shardcore.shards.registry import format_of
from shardcore.shards.shard import Shard

MOST_BUILT = 1 << 16
"""A file that is built by hand is small; of a larger one only the reader reports."""

SPEC: Mapping[str, Any] = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 0,
    "hash": "identity",
    "minishard_bits": 1,
    "shard_bits": 0,
    "minishard_index_encoding": "raw",
    "data_encoding": "raw",
}
"""The sharding specification of a shard of Neuroglancer that is built by hand, where none is chosen."""


@dataclass(frozen=True, slots=True)
class MissingPart:
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    start: int
    size: int
    fields: tuple[tuple[Field, int, int], ...] = ()


def next_missing(shard: Shard) -> MissingPart | None:
    source = shard.source
    if source is not None and source.size <= MOST_BUILT and shard.format in _PARTS:
        data = source.read(0, source.size)
        for part in _PARTS[shard.format](data, shard.chosen):
            if (missing := _missing_in(part, data)) is not None:
                return missing
    return _refused(shard)


def building_options(format: str) -> dict[str, Any]:
    return {"spec": dict(SPEC)} if format == "neuroglancer" else {}


def new_file(format: str, folder: Path) -> Path:
    suffix = next(iter(format_of(format).suffixes), "")
    path = folder / ("0.shard" if format == "neuroglancer" else f"new{suffix}")
    path.touch()
    if format == "neuroglancer":
        transform = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
        info = {"@type": "neuroglancer_skeletons", "transform": transform, "sharding": SPEC}
        (folder / "info").write_text(json.dumps(info, indent=2))
    return path


def _missing_in(part: _Part, data: bytes) -> MissingPart | None:
    for field, at, size in part.fields:
        start = part.start + at
        stored = data[start : start + size]
        wanted = field.default if isinstance(field.default, bytes) else field.default.to_bytes(size, "little")
        marked = field.role in (FieldRole.MAGIC, FieldRole.VERSION) and len(stored) == size
        if marked and stored.rstrip(b"\0") != wanted.rstrip(b"\0"):
            return MissingPart(start, f"Byte {start:#x}, `{field.name}`: these bytes cannot be read. {field.doc}")
        if len(data) < start + size:
            here = max(len(data), start)
            whole = f"The {part.name} needs {plural(part.size, 'byte')}"
            return MissingPart(here, f"{whole}: byte {here:#x}{_named(field, start + size - here, size)}. {field.doc}")
    if len(data) < part.start + part.size:
        here = max(len(data), part.start)
        left = part.start + part.size - here
        whole = f"The {part.name} needs {plural(part.size, 'byte')}"
        return MissingPart(here, f"{whole}: byte {here:#x} is next, {plural(left, 'byte')} missing.")
    return None


def _named(field: Field, left: int, size: int) -> str:
    if size == 1:
        return f", `{field.name}`, is next"
    number = 0 if isinstance(field.dtype, tuple) else int(field.dtype[-1])
    order = "" if not number else ", the lowest first" if number == size else f", numbers of {number}, the lowest first"
    if left < size:
        return f" is next, of the last {plural(left, 'byte')} of `{field.name}`{order}"
    return f", `{field.name}`, is next: {size} bytes{order}"


def _refused(shard: Shard) -> MissingPart | None:
    if shard.damage is not None:
        span = shard.damage.span
        return MissingPart(span.start if span is not None else 0, f"{_sentence(shard.damage.message)}.")
    try:
        report = shard.verify(Depth.CONTENT)
    except ShardError as error:
        return MissingPart(error.span.start if error.span is not None else 0, f"{_sentence(error.message)}.")
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            at = finding.span.start if finding.span is not None and not finding.span.source else 0
            return MissingPart(at, f"{_sentence(finding.message)}.")
    return None if report.objects else MissingPart(0, "All parts are there, but no object is in them.")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _record(name: str, record: Record, start: int) -> _Part:
    fields = tuple((field, record.offsets[field.name], record.sizes[field.name]) for field in record.fields)
    return _Part(name, start, record.size, fields)


def _bloscpack(data: bytes, _: Mapping[str, Any]) -> Iterator[_Part]:
    header = HEADERS.get(data[4] if len(data) > 4 else 3, HEADERS[3])
    yield _record("header", header, 0)
    values = header.read_one(data)
    at, options = header.size, values.get("options", 0)
    digest = _checksum_size(values.get("checksum", 0))
    if options & HeaderOption.METADATA:
        yield _record("metadata header", METADATA_HEADER, at)
        meta = METADATA_HEADER.read_one(data, at)
        at += METADATA_HEADER.size
        yield _Part("space for metadata", at, meta["max_meta_size"])
        at += meta["max_meta_size"]
        yield _Part("checksum of the metadata", at, size := _checksum_size(meta["meta_checksum"]))
        at += size
    chunks = max(values["nchunks"], 0)
    slots = chunks + max(values.get("max_app_chunks", 0), 0) if options & HeaderOption.OFFSETS else 0
    for slot in range(slots):
        yield _record(f"slot {slot} of the offsets", OFFSET, at + OFFSET.size * slot)
    at += OFFSET.size * slots
    for chunk in range(chunks):
        yield _record(f"Blosc header of chunk {chunk}", CHUNK_HEADER, at)
        stored = CHUNK_HEADER.read_one(data, at)["ctbytes"]
        yield _Part(f"compressed part of chunk {chunk}", at + CHUNK_HEADER.size, max(stored - CHUNK_HEADER.size, 0))
        at += max(stored, CHUNK_HEADER.size)
        yield _Part(f"checksum of chunk {chunk}", at, digest)
        at += digest


def _checksum_size(number: int) -> int:
    return CHECKSUMS[number].size if number < len(CHECKSUMS) else 0


def _neuroglancer(data: bytes, chosen: Mapping[str, Any]) -> Iterator[_Part]:
    minishards = 1 << int({**SPEC, **(chosen.get("spec") or {})}["minishard_bits"])
    base = SHARD_INDEX_ENTRY.size * minishards
    for number in range(minishards):
        yield _record(f"pair of minishard {number}", SHARD_INDEX_ENTRY, SHARD_INDEX_ENTRY.size * number)
    pairs = SHARD_INDEX_ENTRY.read(data, 0, minishards)
    ends = [(base + int(row["start_offset"]), base + int(row["end_offset"])) for row in pairs]
    places = sorted((start, stop, number) for number, (start, stop) in enumerate(ends))
    end = base
    for start, stop, number in places:
        if start < stop:
            if start > end:
                yield _Part(f"stretch of values before minishard index {number}", end, start - end)
            count = (stop - start) // ENTRY_SIZE
            rows = MINISHARD_INDEX.starts(count)
            fields = tuple((field, rows[field.name], 8 * count) for field in MINISHARD_INDEX.fields)
            yield _Part(f"minishard index {number}", start, stop - start, fields)
            end = stop


_PARTS: Mapping[str, Callable[[bytes, Mapping[str, Any]], Iterator[_Part]]] = {
    "bloscpack": _bloscpack,
    "neuroglancer": _neuroglancer,
}
