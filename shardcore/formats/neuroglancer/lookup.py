"""Finding a key: eight steps to the place of its value, two more to what it means. `find` is the trace without words.

Steps one to four need no shard: they are the routing of a data set. The others are those of a single file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.errors import FormatError, KeyAbsent, ShardError
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY, read_manifest
from shardcore.formats.neuroglancer.meshes import fragments_span
from shardcore.formats.neuroglancer.minishard import Entries
from shardcore.formats.neuroglancer.objects import parse_key
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.formats.neuroglancer.sharding import IDENTITY, Place, ShardingSpec
from shardcore.formats.neuroglancer.things import WORD
from shardcore.formats.neuroglancer.volume import box_of, cell_of
from shardcore.objects import ObjectRef
from shardcore.payload import decompress_stream
from shardcore.sources.base import Source
from shardcore.span import Span, decoded_name
from shardcore.trace import Look

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.reader import NeuroglancerShard

TOLD_LIMIT = 64 << 20
"""Values of up to this many stored bytes are read and hashed while a lookup is told."""


def route(key: str, origin: Origin, look: Look) -> Place:
    """Steps one to four: from the key to the numbers of its shard and minishard.

    Raises:
        UsageError: The key is not an unsigned 64-bit integer in decimal.
    """
    number = parse_key(key)
    spec = origin.spec
    place = spec.place(number)
    if not look.telling:
        return place
    spans = (origin.place,) if origin.place is not None else ()
    look.step("Specification", f"{origin.why}: {spec_text(spec)}.", *spans, **spec.to_json())
    look.step(
        "Drop low bits",
        f"{number} >> {spec.preshift_bits} = {place.shifted}.",
        key=str(number),
        shifted=str(place.shifted),
    )
    hashed = "The shifted key as it is." if spec.hash == IDENTITY else "MurmurHash3 of its 8 little-endian bytes."
    look.step(
        "Hash",
        f"{hashed} The result is {place.hashed:#018x}.",
        input=place.shifted.to_bytes(8, "little").hex(),
        hash=f"{place.hashed:#018x}",
        bits=f"{place.hashed:064b}",
        minishard_field=[0, spec.minishard_bits],
        shard_field=[spec.minishard_bits, spec.minishard_bits + spec.shard_bits],
    )
    name = spec.shard_name(place.shard)
    look.step(
        "Split",
        f"The low {spec.minishard_bits} bits are minishard {place.minishard}, "
        f"the next {spec.shard_bits} shard {place.shard}: the file {name}.",
        minishard=place.minishard,
        shard=place.shard,
        file=name,
    )
    return place


def spec_text(spec: ShardingSpec) -> str:
    """A specification in a few words."""
    return (
        f"{spec.hash}, {spec.preshift_bits} low bits dropped, {spec.minishard_bits} minishard bits, "
        f"{spec.shard_bits} shard bits; indices {spec.minishard_index_encoding}, values {spec.data_encoding}"
    )


def look_up(shard: NeuroglancerShard, place: Place, look: Look) -> ObjectRef:
    """Steps five to ten: from the minishard to the value.

    Raises:
        KeyAbsent: The minishard is empty, or does not list the key.
        FormatError: The minishard is damaged, or the value lies outside the file.
    """
    source = look.meter(shard.index.source)
    start, stop = _pair(shard, place, source, look)
    entries, size = shard.index.minishard(place.minishard, source, (start, stop))
    gzipped = shard.spec.minishard_index_encoding == "gzip"
    text = f"{stop - start} stored bytes decode to {size}" if gzipped else f"{size} bytes"
    look.step(
        "Minishard index",
        f"{text}: {len(entries)} keys.",
        Span("", start, stop),
        encoding=shard.spec.minishard_index_encoding,
        decoded_size=size,
        keys=len(entries),
    )
    at = _position(shard, entries, place, _rows(entries, start, stop, gzipped), look)
    ref = shard.reference(entries, at)
    _tell_place(entries, at, ref, _rows(entries, start, stop, gzipped), look)
    if ref.error:
        raise FormatError(f"key {ref.key}: {ref.error}", span=Span("", start, stop))
    if look.telling:
        _tell_value(shard, ref, source, look)
    return ref


def find_all(shard: NeuroglancerShard, place: Place) -> Iterator[ObjectRef]:
    """All entries of the key in its minishard, in their order there; values outside the file are left out."""
    entries, _ = shard.index.minishard(place.minishard, shard.index.source)
    for at in np.flatnonzero(entries.ids == np.uint64(place.key)).tolist():
        ref = shard.reference(entries, at)
        if not ref.error:
            yield ref


def _pair(shard: NeuroglancerShard, place: Place, source: Source, look: Look) -> tuple[int, int]:
    """Step five: the shard index entry."""
    at = place.minishard * SHARD_INDEX_ENTRY.size
    span = Span("", at, at + SHARD_INDEX_ENTRY.size)
    start, stop = shard.index.pair(place.minishard, source)
    base = shard.index.base
    if start == stop:
        hint = _elsewhere(shard, place)
        look.step("Shard index entry", f"Minishard {place.minishard} is empty: the key is not here{hint}.", span)
        message = f"minishard {place.minishard} is empty: no key {place.key}{hint}"
        raise KeyAbsent(str(place.key), message, span=span)
    look.step(
        "Shard index entry",
        f"Bytes {start - base} to {stop - base} after the shard index, which is {base} bytes long: {start} to {stop}.",
        span,
        start_offset=start - base,
        end_offset=stop - base,
        start=start,
        stop=stop,
    )
    return start, stop


def _rows(entries: Entries, start: int, stop: int, gzipped: bool) -> tuple[Span, Span, Span]:
    """The bytes of the three rows of a minishard index, in the file or in what it decodes to."""
    source, first = (decoded_name(start, stop), 0) if gzipped else ("", start)
    length = WORD * len(entries)
    at = [first + row * length for row in range(4)]
    return Span(source, at[0], at[1]), Span(source, at[1], at[2]), Span(source, at[2], at[3])


def _elsewhere(shard: NeuroglancerShard, place: Place) -> str:
    """Which other minishard lists an absent key, as far as that is known: why people miss keys that are there."""
    if not shard.index.loaded:
        return ""
    entries = shard.index.table().entries
    found = np.flatnonzero(entries.ids == np.uint64(place.key))
    if not len(found):
        return ""
    return f", but minishard {int(entries.minishards[found[0]])} lists it: hash or preshift differ from the writer's"


def _position(
    shard: NeuroglancerShard, entries: Entries, place: Place, rows: tuple[Span, Span, Span], look: Look
) -> int:
    """Step seven: the first entry with the key."""
    found = np.flatnonzero(entries.ids == np.uint64(place.key))
    if not len(found):
        hint = _elsewhere(shard, place)
        look.step("Ids", f"None of the {len(entries)} running sums is {place.key}: the key is not here{hint}.", rows[0])
        message = f"minishard {place.minishard} does not list the key {place.key}{hint}"
        raise KeyAbsent(str(place.key), message, span=rows[0])
    at = int(found[0])
    more = f", and {len(found) - 1} more with the same key" if len(found) > 1 else ""
    look.step(
        "Ids",
        f"The running sum at position {at} of {len(entries)} is {place.key}{more}.",
        rows[0],
        position=at,
        equal=len(found),
    )
    return at


def _tell_place(entries: Entries, at: int, ref: ObjectRef, rows: tuple[Span, Span, Span], look: Look) -> None:
    """Step eight: where the value lies."""
    start, size = int(entries.starts[at]), int(entries.sizes[at])
    used = tuple(Span(row.source, row.start, row.start + WORD * (at + 1)) for row in rows[1:])
    text = f"Gaps and sizes up to position {at} add up: {size} bytes at {start}."
    look.step("Place of the value", text, *used, start=str(start), size=str(size))


def _tell_value(shard: NeuroglancerShard, ref: ObjectRef, source: Source, look: Look) -> None:
    """Steps nine and ten: the value, and what it means."""
    span = ref.spans[0]
    if span.size > TOLD_LIMIT:
        look.step("Value", f"{span.size} stored bytes: too many to read along.", span, stored_size=span.size)
        return
    stored = source.read(span.start, span.stop)
    digest, size, head = hashlib.sha256(), 0, b""
    try:
        for piece in decompress_stream(ref.codec, [stored], span=span):
            digest.update(piece)
            size += len(piece)
            if len(head) < TOLD_LIMIT:
                head += piece
    except ShardError as error:
        look.step("Value", f"{span.size} stored bytes cannot be decoded: {error.message}.", span, error=error.message)
        return
    text = f"{span.size} stored bytes are {size} bytes of gzip content." if ref.codec == "gzip" else f"{size} bytes."
    look.step("Value", text, span, stored_size=span.size, size=size, sha256=digest.hexdigest())
    _tell_meaning(shard, ref, head, look)


def _tell_meaning(shard: NeuroglancerShard, ref: ObjectRef, data: bytes, look: Look) -> None:
    """Step ten: a place in space, or the fragments of a mesh."""
    space = shard.origin.space
    span = ref.spans[0]
    try:
        if space.kind is SpaceKind.MESH:
            manifest = read_manifest(data, span)
            fragments = fragments_span(manifest, span.start, shard.index.base)
            lods, count = len(manifest.lod_scales), manifest.fragments
            text = f"A manifest of {lods} levels of detail; its {count} fragments lie in front: {fragments.size} bytes."
            look.step("Meaning", text, fragments, lods=lods, fragments=count, fragments_size=fragments.size)
            return
        cell = cell_of(space, int(ref.key or 0))
    except FormatError as error:
        look.step("Meaning", f"{error.message}.", span, error=error.message)
        return
    values: dict[str, Any] = {"kind": space.kind.value}
    text = f"The value of one {space.kind.object_kind}."
    if cell is not None:
        values["cell"] = list(cell)
        text = f"The Morton code of cell {', '.join(map(str, cell))}"
        if space.scale is not None:
            box = box_of(space.scale, cell)
            values |= {"voxel_begin": list(box.begin), "voxel_end": list(box.end)}
            text += f": voxels {box}"
        text += "."
    look.step("Meaning", text, span, **values)


def locate(origin: Origin, key: str) -> dict[str, Any]:
    """Which shard file and minishard a key belongs to, from the specification alone.

    Raises:
        UsageError: The key is not an unsigned 64-bit integer in decimal.
    """
    place = origin.spec.place(parse_key(key))
    name = origin.spec.shard_name(place.shard)
    folder = origin.space.folder
    return {
        "key": str(place.key),
        "space": origin.space.name,
        "shard": f"{folder}/{name}" if folder else name,
        "shard_number": place.shard,
        "minishard": place.minishard,
        "shifted": str(place.shifted),
        "hash": f"{place.hashed:#018x}",
    }


_DECODED_NAME = re.compile(r"@([0-9]{1,20})-([0-9]{1,20})")


def decoded_range(name: str) -> tuple[int, int] | None:
    """The bytes of the file behind the name of a decoded source, or None for another name."""
    match = _DECODED_NAME.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None
