"""Texts and values of the steps of a trace, per kind of lookup result; titles as in `docs/formats/neuroglancer.md`."""

from __future__ import annotations

from functools import partial
from typing import Any

from shardcore.dataclasses import replace
from shardcore.formats.neuroglancer.layout import WORDS
from shardcore.formats.neuroglancer.lookup import (
    TRACED_LIMIT,
    FileNamed,
    FileRead,
    KeyRouted,
    KeySearched,
    ManifestRead,
    MeaningFound,
    MinishardLocated,
    MinishardRead,
    ShardMissing,
    ValueRead,
    ValueSkipped,
)
from shardcore.formats.neuroglancer.origin import INFO_NAME
from shardcore.formats.neuroglancer.sharding import IDENTITY, SHARDING_TYPE
from shardcore.model.span import Span
from shardcore.model.text import ends_text, plural, short
from shardcore.shards.trace import Row, Rows, Value


def _spec(fact: KeyRouted) -> str:
    spec = fact.spec
    return (
        f"{spec.hash}, {plural(spec.preshift_bits, 'low bit')} dropped, "
        f"{plural(spec.minishard_bits, 'minishard bit')}, {plural(spec.shard_bits, 'shard bit')}; "
        f"indices {spec.minishard_index_encoding}, values {spec.data_encoding}"
    )


def _fields(*names: str) -> Any:
    return lambda fact: fact.origin.fields_at(*names)


def _shifts(fact: KeyRouted) -> bool:
    return fact.spec.preshift_bits > 0


def _dropped(fact: KeyRouted) -> str:
    shift = fact.spec.preshift_bits
    return "The lowest bit is" if shift == 1 else f"The lowest {shift} bits are"


def _shard_field(fact: KeyRouted) -> list[int]:
    return [fact.spec.minishard_bits, fact.spec.minishard_bits + fact.spec.shard_bits]


def _bit_field(what: str, none: str, start: str, end: str, fact: KeyRouted) -> str:
    count, number = getattr(fact.spec, f"{what}_bits"), getattr(fact.place, what)
    if not count:
        return f"{none} bits for the {what}, which is always {number}"
    bits = f"bit{end} gives" if count == 1 else f"{count} bits{end} give"
    return f"{start} {bits} {what} {number}"


def _decompressed(stored: int, size: int, more: str = "") -> str:
    return f"{plural(stored, 'gzip byte decompresses', 'gzip bytes decompress')} to {more}{size:,}"


def _index_read(fact: MinishardRead) -> str:
    gzipped = fact.encoding == "gzip"
    return _decompressed(fact.located.index.size, fact.size) if gzipped else plural(fact.size, "byte")


def _is_found(fact: KeySearched) -> bool:
    return len(fact.found) > 0


def _more(fact: KeySearched) -> str:
    others = len(fact.found) - 1
    return f"; {plural(others, 'more has', 'more have')} the same key" if others else ""


def _none(fact: KeySearched) -> str:
    count = len(fact.read.entries)
    return "the only key is not" if count == 1 else f"none of the {count:,} keys is"


def _start(fact: KeySearched) -> int:
    return int(fact.read.entries.starts[fact.at])


def _size(fact: KeySearched) -> int:
    return int(fact.read.entries.sizes[fact.at])


def _summed(fact: KeySearched) -> tuple[Span, ...]:
    """Return the spans of the numbers in the columns of offsets and of sizes that give the offset of the value."""
    size = WORDS.itemsize * (fact.at + 1)
    return tuple(Span(column.source, column.start, column.start + size) for column in fact.read.columns[1:])


def _value_read(fact: ValueRead) -> str:
    if fact.ref.codec == "gzip":
        return f"{_decompressed(fact.ref.stored_size, fact.size)}."
    return f"{plural(fact.size, 'byte')}, not compressed."


def _cell(fact: MeaningFound) -> str:
    text = f"The Morton code of cell {', '.join(map(str, fact.cell or ()))}"
    if fact.space.scale is not None and fact.cell is not None:
        text += f": voxels {fact.space.scale.box_of(fact.cell)}"
    return f"{text}."


def _voxel(edge: str, fact: MeaningFound) -> list[int]:
    assert fact.space.scale is not None
    return list(getattr(fact.space.scale.box_of(fact.cell or ()), edge))


def _info(fact: FileNamed) -> Span:
    return Span(INFO_NAME, 0, len(fact.origin.text))


_VALUE_WHY = "The value is contiguous, so one range request reads it, whatever the size of the file."
_FILE_WHY = "The folder serves as the index: the key is the name of a file."

_DROP = Row(
    "Drop low bits",
    "{dropped} dropped: {place.key} // 2^{spec.preshift_bits} = {place.shifted}, without the remainder.",
    "Neighbouring keys differ in their low bits; dropping these keeps neighbours together, under one index.",
    (
        Value("key", lambda fact: str(fact.place.key), "the key that was looked up"),
        Value("shifted", lambda fact: str(fact.place.shifted), "the key without its low bits"),
    ),
    inputs=_fields("preshift_bits"),
    words={"dropped": _dropped},
    only=_shifts,
)
_PRESHIFT = "low bits of a key that are dropped before hashing"
_MINISHARD_BITS = "number of low bits of the hash, which select the minishard"
_SHARD_BITS = "number of next bits of the hash, which select the shard"
_INDEX_ENCODING = "encoding of minishard indices: raw or gzip"
_START_OFFSET = "start of the minishard index, from the end of the shard index"
_END_OFFSET = "end of the minishard index, from the end of the shard index"
_INPUT = "the 8 bytes that are hashed, little-endian"
_MINISHARD_FIELD = "bits of the hash that are the minishard number: first, and last plus one"
_SHARD_FIELD = "bits of the hash that are the shard number: first, and last plus one"
_HASH = Row(
    "Hash",
    "The hash is identity: the {which} itself is the hash: {place.hashed:#018x}.",
    "Without a hash, neighbouring keys stay together, so reading many neighbours opens few minishards.",
    (
        Value("input", lambda fact: fact.place.shifted.to_bytes(8, "little").hex(), _INPUT),
        Value("hash", lambda fact: f"{fact.place.hashed:#018x}", "result of the hash function"),
        Value("bits", lambda fact: f"{fact.place.hashed:064b}", "the hash in binary, the highest bit first"),
        Value("minishard_field", lambda fact: [0, fact.spec.minishard_bits], _MINISHARD_FIELD),
        Value("shard_field", _shard_field, _SHARD_FIELD),
    ),
    inputs=_fields("hash"),
    words={"which": lambda fact: "shifted key" if _shifts(fact) else "key"},
    only=lambda fact: fact.spec.hash == IDENTITY,
)
_FILE = Value("file", lambda fact: fact.origin.spec.shard_name(fact.place.shard), "file name of the shard")
_ERROR = Value("error", "error", "the error")
_STORED_SIZE = Value("stored_size", "ref.stored_size", "size of the stored value", "bytes")
_CELL = Value("cell", lambda fact: list(fact.cell), "cell of the grid with this Morton code: x, y, z")
_MEANING = Row(
    "Meaning",
    "{cell_text}",
    "A shard stores bytes by key; only the info describes their meaning.",
    (Value("kind", "space.kind.value", "kind of the key space"),),
    spans="ref.spans[0]",
    words={"cell_text": _cell},
)

STEPS: Rows = {
    KeyRouted: (
        Row(
            "Specification",
            "{origin.why}: {spec_text}.",
            "A shard does not contain its sharding parameters, without which keys cannot be found.",
            (
                Value("@type", lambda _: SHARDING_TYPE, "type of the sharding object"),
                Value("preshift_bits", "spec.preshift_bits", _PRESHIFT, "bits"),
                Value("hash", "spec.hash", "the hash function: identity, or MurmurHash3"),
                Value("minishard_bits", "spec.minishard_bits", _MINISHARD_BITS, "bits"),
                Value("shard_bits", "spec.shard_bits", _SHARD_BITS, "bits"),
                Value("minishard_index_encoding", "spec.minishard_index_encoding", _INDEX_ENCODING),
                Value("data_encoding", "spec.data_encoding", "encoding of values: raw or gzip"),
            ),
            spans=lambda fact: fact.origin.place or (),
            words={"spec_text": _spec},
        ),
        _DROP,
        replace(
            _DROP,
            text="preshift_bits is 0, so no bits are dropped: the key remains {place.key}.",
            why="Dropping low bits would keep neighbouring keys in one minishard; this writer chose not to.",
            only=lambda fact: not _shifts(fact),
        ),
        _HASH,
        replace(
            _HASH,
            text="MurmurHash3 of the {which}'s 8 bytes gives the hash: {place.hashed:#018x}.",
            why="Keys often form clusters; a hash distributes them evenly over the minishards.",
            only=lambda fact: fact.spec.hash != IDENTITY,
        ),
        Row(
            "Split",
            "{lowest}, {next}: the file {file}.",
            "Two bit fields replace a directory, so every reader can compute the location without a server.",
            (
                Value("minishard", "place.minishard", "number of the minishard"),
                Value("shard", "place.shard", "number of the shard"),
                _FILE,
            ),
            inputs=_fields("minishard_bits", "shard_bits"),
            words={
                "lowest": partial(_bit_field, "minishard", "No", "The lowest", " of the hash"),
                "next": partial(_bit_field, "shard", "no", "the next", ""),
            },
        ),
    ),
    ShardMissing: (
        Row(
            "Shard not found",
            "{file} does not exist: writers omit shards without keys, so the key does not exist.",
            "The shard of a key is computed, so no other file can have the key.",
            (_FILE,),
            inputs=_fields("minishard_bits", "shard_bits"),
        ),
    ),
    MinishardLocated: (
        Row(
            "Shard index entry",
            "Minishard {place.minishard} is empty, so the key is not in it{hint}.",
            "A key can only be in one minishard; if that is empty, nothing more is read.",
            spans="entry",
            only=lambda fact: fact.start == fact.stop,
        ),
        Row(
            "Shard index entry",
            "The index of minishard {place.minishard} is at {start_offset:#x} to {end_offset:#x}, relative to the end "
            "of the shard index at {base:#x}: bytes {range} of the file.",
            "The file starts with one pair of offsets (16 bytes) per minishard, so its location can be computed.",
            (
                Value("start_offset", lambda fact: fact.start - fact.base, _START_OFFSET, "byte", relative=True),
                Value("end_offset", lambda fact: fact.stop - fact.base, _END_OFFSET, "byte", relative=True),
                Value("start", "start", "start of the minishard index in the file", "byte"),
                Value("stop", "stop", "end of the minishard index in the file", "byte"),
            ),
            spans="entry",
            words={"range": lambda fact: ends_text(fact.start, fact.stop)},
            only=lambda fact: fact.start != fact.stop,
        ),
    ),
    MinishardRead: (
        Row(
            "Minishard index",
            "{index_read}: {keys:key}.",
            "Each minishard lists its own keys, so a lookup reads a short list, not one for the whole file.",
            (
                Value("encoding", "encoding", "encoding of the index: raw or gzip"),
                Value("decoded_size", "size", "uncompressed size of the index: 24 bytes per key", "bytes"),
                Value("keys", lambda fact: len(fact.entries), "number of keys in the minishard", "keys"),
            ),
            spans="located.index",
            words={"index_read": _index_read},
        ),
    ),
    KeySearched: (
        Row(
            "Keys",
            "Each key is stored as the difference from the one before; summed up, {none} {place.key}: the key is not "
            "here{hint}.",
            "A key can only be in this minishard; comparing all its keys proves that the key is not stored.",
            spans="read.columns[0]",
            words={"none": _none},
            only=lambda fact: not _is_found(fact),
        ),
        Row(
            "Keys",
            "Each key is stored as the difference from the one before; summed up, number {position} of {count:key} is "
            "{place.key}{more}.",
            "Differences of sorted keys are small numbers, which compress well; readers add them up again.",
            (
                Value("position", "at", "position in the minishard, from 0"),
                Value("equal", lambda fact: len(fact.found), "number of entries with this key", "keys"),
            ),
            spans="read.columns[0]",
            words={"count": lambda fact: len(fact.read.entries), "more": _more},
            only=_is_found,
        ),
        Row(
            "Locate the value",
            "Gaps and sizes are added up to number {at}: the value has {bytes:byte} and starts at {offset:#x}.",
            "Values mostly follow each other without gaps, so gaps and sizes compress better than offsets.",
            (
                Value("start", lambda fact: str(_start(fact)), "start of the value in the file", "byte"),
                Value("size", lambda fact: str(_size(fact)), "size of the stored value", "bytes"),
            ),
            spans=_summed,
            words={"bytes": _size, "offset": _start},
            only=_is_found,
        ),
    ),
    ValueSkipped: (
        Row(
            "Value",
            "{skipped}: too many to read in a trace.",
            _VALUE_WHY,
            (_STORED_SIZE,),
            spans="ref.spans[0]",
            words={
                "skipped": lambda fact: (
                    _decompressed(fact.ref.stored_size, TRACED_LIMIT, "more than ")
                    if fact.more
                    else plural(fact.ref.stored_size, "stored byte")
                )
            },
        ),
    ),
    ValueRead: (
        Row(
            "Value",
            "{ref.stored_size:stored byte} cannot be decompressed: {error}.",
            _VALUE_WHY,
            (_ERROR,),
            spans="ref.spans[0]",
            only=lambda fact: fact.error != "",
        ),
        Row(
            "Value",
            "{value_read}",
            _VALUE_WHY,
            (
                _STORED_SIZE,
                Value("size", "size", "uncompressed size of the value", "bytes"),
                Value("sha256", "sha256", "SHA-256 of the uncompressed value"),
            ),
            spans="ref.spans[0]",
            words={"value_read": _value_read},
            only=lambda fact: not fact.error,
        ),
    ),
    ManifestRead: (
        Row(
            "Meaning",
            "A manifest of {lods:level} of detail; directly before it are its {fragments:fragment}, "
            "{fragments_size:byte} in all.",
            "A viewer reads the short manifest first, then only the fragments of the required level of detail.",
            (
                Value("lods", lambda fact: len(fact.manifest.lod_scales), "levels of detail of the mesh", "levels"),
                Value(
                    "fragments", "manifest.fragments", "number of fragments of the mesh, over all levels", "fragments"
                ),
                Value("fragments_size", "fragments.size", "size of all fragments", "bytes"),
            ),
            spans="fragments",
        ),
    ),
    MeaningFound: (
        replace(_MEANING, text="{error}.", values=(_ERROR,), only=lambda fact: fact.error != ""),
        replace(
            _MEANING,
            text="The value of one {space.kind.object_kind}.",
            only=lambda fact: not fact.error and fact.cell is None,
        ),
        replace(
            _MEANING,
            values=(*_MEANING.values, _CELL),
            only=lambda fact: fact.cell is not None and fact.space.scale is None,
        ),
        replace(
            _MEANING,
            values=(
                *_MEANING.values,
                _CELL,
                Value("voxel_begin", partial(_voxel, "begin"), "the first voxel of the chunk: x, y, z", "voxels"),
                Value("voxel_end", partial(_voxel, "end"), "the last voxel of the chunk plus one: x, y, z", "voxels"),
            ),
            only=lambda fact: fact.cell is not None and fact.space.scale is not None,
        ),
    ),
    FileNamed: (
        Row(
            "Which file",
            "There is no file {name_of_key}{missing}",
            _FILE_WHY,
            spans=_info,
            words={
                "name_of_key": lambda fact: short(fact.key),
                "missing": lambda fact: ": its voxels are 0." if fact.origin.space.scale is not None else ".",
            },
            only=lambda fact: fact.name is None,
        ),
        Row(
            "Which file",
            "The key is the name of the file: {short_name}.",
            _FILE_WHY,
            (Value("file", "name", _FILE.text),),
            spans=_info,
            words={"short_name": lambda fact: short(fact.name)},
            only=lambda fact: fact.name is not None,
        ),
    ),
    FileRead: (
        Row(
            "{title}",
            "{span.size:stored byte}: the whole file is the {kind}.",
            "A separate file requires no index; one request reads it.",
            spans="span",
            words={"title": lambda fact: fact.kind.capitalize()},
        ),
    ),
}
