"""Looking up a key, with the steps of the trace.

Steps 1 to 4 (routing) need no shard; 5 to 8 find the value; 9 and 10 read and explain it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress_stream
from shardcore.errors import FormatError, KeyAbsent, ShardError, UsageError, source_lost
from shardcore.formats.neuroglancer.byte_regions import WORD
from shardcore.formats.neuroglancer.chunks import box_of, cell_of
from shardcore.formats.neuroglancer.find_spec import Origin, given_origin
from shardcore.formats.neuroglancer.index_levels import pair_span
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY, fragments_span, read_manifest
from shardcore.formats.neuroglancer.sharding import IDENTITY, KeyLocation, ShardingSpec, parse_key
from shardcore.model.number_text import ends_text, plural
from shardcore.model.span import Span
from shardcore.shards.format import lazily
from shardcore.shards.step_content import Fields

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.file import NeuroglancerFile
    from shardcore.formats.neuroglancer.minishard import MinishardEntries
    from shardcore.formats.neuroglancer.objects import NeuroglancerObjects
    from shardcore.model.drawing import Figure
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.trace import LookupRecorder
    from shardcore.sources.base import Source

_FIGURES = "shardcore.formats.neuroglancer.key_bits_drawings"
cell_figure = lazily(f"{_FIGURES}:cell_figure")
curve_figure = lazily(f"{_FIGURES}:curve_figure")
hash_figure = lazily(f"{_FIGURES}:hash_figure")
key_figure = lazily(f"{_FIGURES}:key_figure")
keys_figure = lazily(f"{_FIGURES}:keys_figure")
mixing_figure = lazily(f"{_FIGURES}:mixing_figure")
morton_figure = lazily(f"{_FIGURES}:morton_figure")
places_figure = lazily(f"{_FIGURES}:places_figure")
row_spans = lazily(f"{_FIGURES}:row_spans")

TRACED_LIMIT = 16 << 20
"""Size in bytes, stored and uncompressed, up to which a trace reads and hashes values."""


class NeuroglancerLookup:
    def __init__(self, file: NeuroglancerFile, objects: NeuroglancerObjects) -> None:
        self._file = file
        self._objects = objects

    def parse(self, text: str) -> KeyLocation:
        return self._file.spec.place(parse_key(text))

    def find(self, key: KeyLocation, recorder: LookupRecorder) -> ObjectRef:
        """Return the first entry of a key.

        Raises:
            KeyAbsent: The key belongs in another shard, or its minishard does not list it.
            FormatError: The minishard is damaged, or the value is outside the file.
        """
        file = self._file
        if not key.routed:
            describe_route(key, file.origin, recorder)
        self._check_shard(key)
        source = recorder.meter(file.source)
        start, stop = _pair(file, key, source, recorder)
        entries, size = file.levels.minishard(key.minishard, source, (start, stop))
        gzipped = file.spec.minishard_index_encoding == "gzip"
        text = _decompressed(stop - start, size) if gzipped else plural(size, "byte")
        rows = row_spans(len(entries), start, stop, gzipped=gzipped)
        recorder.step(
            "Minishard index",
            f"{text}: {plural(len(entries), 'key')}.",
            Span("", start, stop),
            why="Each minishard lists its own keys, so a lookup reads a short list, not one for the whole file.",
            encoding=file.spec.minishard_index_encoding,
            decoded_size=size,
            keys=len(entries),
        )
        at = _position(file, entries, key, rows, recorder)
        ref = self._objects.of_entry(entries, at)
        _describe_location(entries, at, rows, file.base, recorder)
        if ref.error:
            raise FormatError(f"key {ref.key}: {ref.error}", span=Span("", start, stop))
        if recorder.recording:
            _describe_value(file, ref, source, recorder)
        return ref

    def find_all(self, key: KeyLocation) -> tuple[ObjectRef, ...]:
        """Return all entries of a key, in index order; values outside the file are omitted."""
        try:
            self._check_shard(key)
        except KeyAbsent:
            return ()
        entries, _ = self._file.levels.minishard(key.minishard, self._file.source)
        found = np.flatnonzero(entries.ids == np.uint64(key.key)).tolist()
        refs = (self._objects.of_entry(entries, at) for at in found)
        return tuple(ref for ref in refs if not ref.error)

    def find_many(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row per key, -1 if not found; reads all minishard indices."""
        entries = self._file.levels.table().entries
        minishards, shards = self._file.spec.place_many(entries.ids)
        rows = np.flatnonzero(minishards == entries.minishards.astype(np.uint64))
        if self._file.number is not None:
            rows = rows[shards[rows] == np.uint64(self._file.number)]
        # Stable, so that the first of several equal ids stays first, as in `find`.
        rows = rows[np.argsort(entries.ids[rows], kind="stable")]
        ids = entries.ids[rows]
        at = np.searchsorted(ids, keys)
        found = at < len(ids)
        found[found] = ids[at[found]] == keys[found]
        out = np.full(len(keys), -1, np.int64)
        out[found] = rows[at[found]]
        return out

    def _check_shard(self, key: KeyLocation) -> None:
        if self._file.number is not None and key.shard != self._file.number:
            name = self._file.spec.shard_name(key.shard)
            raise KeyAbsent(str(key), f"key {key} belongs in {name}, not in {self._file.source.name}")


_VALUE_WHY = "The value is contiguous, so one range request reads it, whatever the size of the file."
_MEANING_WHY = "A shard stores bytes by key; only the info describes their meaning."


def describe_route(place: KeyLocation, origin: Origin, recorder: LookupRecorder) -> None:
    if not recorder.recording:
        return
    spec = origin.spec
    spans = (origin.place,) if origin.place is not None else ()
    recorder.step(
        "Specification",
        f"{origin.why}: {spec_text(spec)}.",
        *spans,
        why="A shard does not contain its sharding parameters, without which keys cannot be found.",
        shown=(key_figure(spec, place, spans),),
        **spec.to_json(),
    )
    shift = spec.preshift_bits
    dropped = "The lowest bit is" if shift == 1 else f"The lowest {shift} bits are"
    text = f"{dropped} dropped: {place.key} // 2^{shift} = {place.shifted}, without the remainder."
    if not shift:
        text = f"preshift_bits is 0, so no bits are dropped: the key remains {place.key}."
    recorder.step(
        "Drop low bits",
        text,
        why="Neighbouring keys differ in their low bits; dropping these keeps neighbours together, under one index."
        if shift
        else "Dropping low bits would keep neighbouring keys in one minishard; this writer chose not to.",
        inputs=origin.fields_at("preshift_bits"),
        key=str(place.key),
        shifted=str(place.shifted),
        shown=(key_figure(spec, place),),
    )
    same = spec.hash == IDENTITY
    which = "shifted key" if shift else "key"
    hashed = f"The hash is identity: the {which} itself is" if same else f"MurmurHash3 of the {which}'s 8 bytes gives"
    recorder.step(
        "Hash",
        f"{hashed} the hash: {place.hashed:#018x}.",
        why="Without a hash, neighbouring keys stay together, so reading many neighbours opens few minishards."
        if same
        else "Keys often form clusters; a hash distributes them evenly over the minishards.",
        inputs=origin.fields_at("hash"),
        input=place.shifted.to_bytes(8, "little").hex(),
        hash=f"{place.hashed:#018x}",
        bits=f"{place.hashed:064b}",
        minishard_field=[0, spec.minishard_bits],
        shard_field=[spec.minishard_bits, spec.minishard_bits + spec.shard_bits],
        shown=(hash_figure(spec, place),) if same else (mixing_figure(place), hash_figure(spec, place)),
    )
    name = spec.shard_name(place.shard)
    recorder.step(
        "Split",
        f"{_says('lowest', spec.minishard_bits, 'minishard', place.minishard)}, "
        f"{_says('next', spec.shard_bits, 'shard', place.shard)}: the file {name}.",
        why="Two bit fields replace a directory, so every reader can compute the location without a server.",
        inputs=origin.fields_at("minishard_bits", "shard_bits"),
        minishard=place.minishard,
        shard=place.shard,
        file=name,
        shown=(hash_figure(spec, place),),
    )


def _says(which: str, count: int, what: str, number: int) -> str:
    start = {"lowest": "The lowest", "next": "the next"}[which]
    if not count:
        text = f"no bits for the {what}, which is always {number}"
        return text[0].upper() + text[1:] if which == "lowest" else text
    end = " of the hash" if which == "lowest" else ""
    bits = f"bit{end} gives" if count == 1 else f"{count} bits{end} give"
    return f"{start} {bits} {what} {number}"


def spec_text(spec: ShardingSpec) -> str:
    return (
        f"{spec.hash}, {plural(spec.preshift_bits, 'low bit')} dropped, "
        f"{plural(spec.minishard_bits, 'minishard bit')}, {plural(spec.shard_bits, 'shard bit')}; "
        f"indices {spec.minishard_index_encoding}, values {spec.data_encoding}"
    )


def _pair(file: NeuroglancerFile, place: KeyLocation, source: Source, recorder: LookupRecorder) -> tuple[int, int]:
    span = pair_span(place.minishard)
    start, stop = file.levels.pair(place.minishard, source)
    base = file.base
    offsets: dict[str, Any] = {"start_offset": start - base, "end_offset": stop - base}
    fields = Fields(SHARD_INDEX_ENTRY, span.start, offsets, relative=True)
    if start == stop:
        hint = _elsewhere(file, place)
        recorder.step(
            "Shard index entry",
            f"Minishard {place.minishard} is empty, so the key is not in it{hint}.",
            span,
            why="A key can only be in one minishard; if that is empty, nothing more is read.",
            shown=(fields,),
        )
        message = f"minishard {place.minishard} is empty: no key {place.key}{hint}"
        raise KeyAbsent(str(place.key), message, span=span)
    recorder.step(
        "Shard index entry",
        f"The index of minishard {place.minishard} is at {start - base:#x} to {stop - base:#x}, relative to the "
        f"end of the shard index at {base:#x}: bytes {ends_text(start, stop)} of the file.",
        span,
        why="The file starts with one pair of offsets (16 bytes) per minishard, so its location can be computed.",
        **offsets,
        start=start,
        stop=stop,
        shown=(fields,),
    )
    return start, stop


def _elsewhere(file: NeuroglancerFile, place: KeyLocation) -> str:
    table = file.levels.known_table
    if table is None:
        return ""
    entries = table.entries
    found = np.flatnonzero(entries.ids == np.uint64(place.key))
    if not len(found):
        return ""
    return f", but minishard {int(entries.minishards[found[0]])} lists it: hash or preshift_bits are wrong"


def _position(
    file: NeuroglancerFile,
    entries: MinishardEntries,
    place: KeyLocation,
    rows: tuple[Span, Span, Span],
    recorder: LookupRecorder,
) -> int:
    found = np.flatnonzero(entries.ids == np.uint64(place.key))
    if not len(found):
        hint = _elsewhere(file, place)
        near = int(np.searchsorted(entries.ids, np.uint64(place.key)))
        recorder.step(
            "Keys",
            f"Each key is stored as the difference from the one before; summed up, {_none_of(len(entries))} "
            f"{'is not' if len(entries) == 1 else 'is'} {place.key}: the key is not here{hint}.",
            rows[0],
            why="A key can only be in this minishard; comparing all its keys proves that the key is not stored.",
            shown=(keys_figure(entries, rows, near, found=False),) if recorder.recording else (),
        )
        message = f"minishard {place.minishard} does not list the key {place.key}{hint}"
        raise KeyAbsent(str(place.key), message, span=rows[0])
    at = int(found[0])
    more = f"; {plural(len(found) - 1, 'more has', 'more have')} the same key" if len(found) > 1 else ""
    recorder.step(
        "Keys",
        f"Each key is stored as the difference from the one before; summed up, number {at} "
        f"of {plural(len(entries), 'key')} is {place.key}{more}.",
        rows[0],
        why="Differences of sorted keys are small numbers, which compress well; readers add them up again.",
        position=at,
        equal=len(found),
        shown=(keys_figure(entries, rows, at, found=True),) if recorder.recording else (),
    )
    return at


def _none_of(count: int) -> str:
    return "the only key" if count == 1 else f"none of the {count:,} keys"


def _describe_location(
    entries: MinishardEntries, at: int, rows: tuple[Span, Span, Span], base: int, recorder: LookupRecorder
) -> None:
    start, size = int(entries.starts[at]), int(entries.sizes[at])
    used = tuple(Span(row.source, row.start, row.start + WORD * (at + 1)) for row in rows[1:])
    text = f"Gaps and sizes are added up to number {at}: the value has {plural(size, 'byte')} and starts at {start:#x}."
    recorder.step(
        "Locate the value",
        text,
        *used,
        why="Values mostly follow each other without gaps, so gaps and sizes compress better than offsets.",
        start=str(start),
        size=str(size),
        shown=(places_figure(entries, rows, base, at),) if recorder.recording else (),
    )


def _describe_value(file: NeuroglancerFile, ref: ObjectRef, source: Source, recorder: LookupRecorder) -> None:
    span = ref.spans[0]
    if span.size > TRACED_LIMIT:
        text = f"{plural(span.size, 'stored byte')}: too many to read in a trace."
        recorder.step("Value", text, span, why=_VALUE_WHY, stored_size=span.size)
        return
    stored = source.read(span.start, span.stop)
    digest, size, head = hashlib.sha256(), 0, list[bytes]()
    try:
        for piece in decompress_stream(ref.codec, [stored], span=span):
            digest.update(piece)
            size += len(piece)
            head.append(piece)
            if size > TRACED_LIMIT:
                text = f"{_decompressed(span.size, TRACED_LIMIT, 'more than ')}: too many to read in a trace."
                recorder.step("Value", text, span, why=_VALUE_WHY, stored_size=span.size)
                return
    except ShardError as error:
        if source_lost(error):
            raise
        recorder.step(
            "Value",
            f"{plural(span.size, 'stored byte')} cannot be decompressed: {error.message}.",
            span,
            why=_VALUE_WHY,
            error=error.message,
        )
        return
    text = f"{_decompressed(span.size, size)}." if ref.codec == "gzip" else f"{plural(size, 'byte')}, not compressed."
    recorder.step(
        "Value",
        text,
        span,
        why=_VALUE_WHY,
        stored_size=span.size,
        size=size,
        sha256=digest.hexdigest(),
    )
    _describe_meaning(file, ref, b"".join(head), recorder)


def _decompressed(stored: int, plain: int, more: str = "") -> str:
    return f"{plural(stored, 'gzip byte decompresses', 'gzip bytes decompress')} to {more}{plain:,}"


def _describe_meaning(file: NeuroglancerFile, ref: ObjectRef, data: bytes, recorder: LookupRecorder) -> None:
    space = file.origin.space
    span = ref.spans[0]
    try:
        if space.kind is SpaceKind.MESH:
            manifest = read_manifest(data, span)
            fragments = fragments_span(manifest, span.start, file.base)
            lods, count = len(manifest.lod_scales), manifest.fragments
            text = (
                f"A manifest of {plural(lods, 'level')} of detail; directly before it are its "
                f"{plural(count, 'fragment')}, {plural(fragments.size, 'byte')} in all."
            )
            recorder.step(
                "Meaning",
                text,
                fragments,
                why="A viewer reads the short manifest first, then only the fragments of the required level of detail.",
                lods=lods,
                fragments=count,
                fragments_size=fragments.size,
            )
            return
        cell = cell_of(space, int(ref.key or 0))
    except FormatError as error:
        recorder.step("Meaning", f"{error.message}.", span, why=_MEANING_WHY, error=error.message)
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
    key, grid = int(ref.key or 0), space.grid
    shown: list[Figure] = []
    if cell is not None and grid is not None:
        curve = curve_figure(cell, grid)
        shown = [morton_figure(key, grid), cell_figure(cell, grid), *([curve] if curve is not None else [])]
    recorder.step("Meaning", text, span, why=_MEANING_WHY, shown=shown, **values)


def locate(key: str, *, info: Any = None, spec: Any = None, folder: object = "") -> dict[str, Any]:
    """Return the shard file and minishard of a key.

    Args:
        key: The key in decimal.
        info: The info of a data set: JSON text, a mapping, or the path of the file or its folder.
        spec: The sharding specification, in the same forms; give either `info` or `spec`.
        folder: Folder of the key space, if the info has several.
    """
    if (info is None) == (spec is None):
        raise UsageError("to locate a neuroglancer key, pass either info or spec")
    origin = given_origin(spec if info is None else info, str(folder))
    place = origin.spec.place(parse_key(key))
    name, inside = origin.spec.shard_name(place.shard), origin.space.folder
    return {
        "key": str(place.key),
        "space": origin.space.name,
        "shard": f"{inside}/{name}" if inside else name,
        "shard_number": place.shard,
        "minishard": place.minishard,
        "shifted": str(place.shifted),
        "hash": f"{place.hashed:#018x}",
    }
