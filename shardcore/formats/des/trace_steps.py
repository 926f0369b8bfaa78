"""Titles, sentences and values of the steps of a lookup, for a trace; titles as in `docs/formats/des.md`."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from shardcore.dataclasses import replace
from shardcore.errors import FormatError
from shardcore.formats.des.layout import CODECS, FOOTER, HEADER, INDEX_HEAD
from shardcore.formats.des.lookup import (
    BigFileMissing,
    ContentSkipped,
    Copied,
    Found,
    NoEntry,
    Opened,
    PayloadRead,
    Routed,
    SidecarRead,
)
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, sentence
from shardcore.shards.trace import Row, Rows, Value


def _routed(fact: Routed) -> str:
    route = fact.route
    assert route is not None
    read = "read as a number" if route.rule == "digits" else f"hashed with CRC-32 ({zlib.crc32(fact.uid.raw)})"
    text = (
        f"Shard numbers have {route.n_bits} bits, as {fact.origin}. The uid, {read}, modulo 2^{route.n_bits} = "
        f"{1 << route.n_bits} is {route.number}, in hexadecimal {route.hex}"
    )
    text += f", of zone {fact.zone}" if fact.zone else "" if fact.zone is None else ", which no zone has"
    text += f"; the date is {fact.date}" if fact.date else ""
    found = len(fact.candidates)
    some = f"{found:,} of {plural(fact.files, 'file')}" if fact.files else plural(found, "file")
    return f"{text}: {'the one file' if some == '1 of 1 file' else some} may contain it."


def _holders(fact: Routed) -> str:
    return "the one file" if len(fact.candidates) == 1 else plural(len(fact.candidates), "file")


def _part(name: str) -> Callable[[Found], Span]:
    return lambda fact: fact.file.entries.part_span(fact.row, name)


def _column(name: str) -> Callable[[Found], int]:
    return lambda fact: int(getattr(fact.file.entries.entry(fact.row), name))


def _is_big(fact: Found) -> bool:
    return bool(fact.file.entries.entry(fact.row).big)


def _is_v2(fact: Found) -> bool:
    return fact.file.entries.shape.bigfile is not None


def _kind(fact: Found) -> str:
    return f"bit 0 is {'set: the content is a BigFile' if _is_big(fact) else 'not set: the content is in this file'}"


def _walked(fact: Found) -> str:
    text = f"Entries differ in length, so they are walked one by one up to entry {fact.row}, which has this uid."
    if fact.count > 1:
        text += f" {plural(fact.count, 'entry has', 'entries have')} it, and the last one counts."
    return text


def _inline(fact: Found) -> Span:
    stop = _part("meta_length")(fact).start if _is_v2(fact) else fact.file.entries.span(fact.row).stop
    return Span("", _part("offset")(fact).start, stop)


def _codec(fact: Found) -> str:
    code = fact.file.entries.entry(fact.row).codec
    return CODECS[code] if code < len(CODECS) else f"number {code}"


def _meta(fact: Found) -> dict[str, Any]:
    with suppress(FormatError):
        return fact.file.entries.meta(fact.row)
    return {}


def _tombstone_span(fact: SidecarRead) -> Span | tuple[()]:
    sidecar, folder = fact.file.sidecar, fact.file.source.folder
    return sidecar.tombstone_span(folder, fact.tombstone) if sidecar and fact.tombstone else ()


def _tombstone(fact: SidecarRead) -> str:
    if fact.tombstone is None:
        return "The sidecar has no tombstone for the object."
    return f"A tombstone marks the object as deleted: {fact.tombstone}."


def _count_span(fact: Opened) -> Span:
    return INDEX_HEAD.span("", fact.file.entries.data_stop)


_CANDIDATES = Value("candidates", lambda fact: fact.candidates[:100], "the files that may contain the uid")
_SIDECAR_WHY = "A shard is never changed after it is written: later deletions are recorded in a separate file."
_PAYLOAD = "One read at the offset returns the content, and the codec gives its decompression."


def _content(fact: PayloadRead) -> str:
    if fact.bigfile:
        return "The external file has the size and the sha256 of the entry."
    codec = fact.ref.codec
    return "It is stored uncompressed." if codec == "none" else f"The {codec} frame is decompressed."


_ROUTED = (
    Row(
        "Route",
        "n_bits is unknown: {holders} may contain the uid.",
        "Without n_bits the shard number is unknown, so every file must be searched.",
        (Value("n_bits", lambda _: None, "bits of a shard number", "bits"), _CANDIDATES),
        words={"holders": _holders},
        only=lambda fact: fact.route is None,
    ),
    Row(
        "Route",
        "{routed}",
        "The shard number follows from the uid, so a reader needs neither a server nor a list of uids.",
        (
            Value("n_bits", "route.n_bits", "bits of a shard number", "bits"),
            Value("rule", "route.rule", "digits: the uid is a number; crc32: its CRC-32 is used"),
            Value("number", "route.number", "the shard number"),
            Value("hex", "route.hex", "the shard number as printed in file names"),
            _CANDIDATES,
        ),
        words={"routed": _routed},
        only=lambda fact: fact.route is not None,
    ),
)

_OPENED = (
    Row(
        "Footer",
        f"The last {FOOTER.size} bytes give the index size, {{index_size:byte}}: it begins at {{index_start:#x}}.",
        "The index is written last, so a reader finds it from the end of the file.",
        (
            Value("index_size", lambda fact: fact.file.footer["index_size"], "size of the index", "bytes"),
            Value("index_start", "file.entries.data_stop", "offset of the index", "byte"),
        ),
        spans=lambda fact: FOOTER.span("", fact.file.source.size - FOOTER.size),
    ),
    Row(
        "Header",
        f"The first {HEADER.size} bytes are DES2, version {{version}}.",
        "Magic and version identify the format and the layout of the entries.",
        (Value("version", lambda fact: fact.file.header["version"], "the version of the format"),),
        spans=lambda _: HEADER.span(""),
    ),
    Row(
        "Count",
        "The index has {entry_count:entry}.",
        "The count shows when the walk ends, and whether entries are missing.",
        (Value("entry_count", "file.entries.declared", "number of entries in the index", "entries", _count_span),),
        spans=_count_span,
    ),
)

_FOUND = (
    Row(
        "Walk",
        "{walked}",
        "Entries differ in length, so they are walked: the end of each is the start of the next.",
        (
            Value("entry", "row", "the number of the entry, from 0"),
            Value("start", lambda fact: fact.file.entries.span(fact.row).start, "offset of the entry", "byte"),
            Value("stop", lambda fact: fact.file.entries.span(fact.row).stop, "end of the entry", "byte"),
        ),
        spans=lambda fact: (fact.file.entries.span(fact.row), _part("uid")(fact)),
        words={"walked": _walked},
    ),
    Row(
        "Flags",
        "The flags are {flags}: {kind}.",
        "Bit 0 gives the layout of the rest of the entry: offset and sizes, or the hash of an external file.",
        (Value("flags", _column("flags"), "bit 0: the content is a BigFile"),),
        spans=_part("flags"),
        words={"kind": _kind},
        only=_is_v2,
    ),
    Row(
        "Place",
        "The content is the external file {hash}, {size:byte}.",
        "Very large contents are separate files, named by their hash, so that shards stay small.",
        (
            Value(
                "hash",
                lambda fact: fact.file.entries.hash(fact.row).decode("ascii", "backslashreplace"),
                "the sha256 of the BigFile, which is also its name",
                at=_part("hash"),
            ),
            Value("size", _column("size"), "size of the content", "bytes", _part("size")),
        ),
        spans=lambda fact: Span("", _part("flags")(fact).stop, _part("meta")(fact).start),
        only=_is_big,
    ),
    Row(
        "Place",
        "{uncompressed_size:uncompressed byte} stored in {length:byte} from {offset:#x} on, with codec {codec}.",
        "With offset and length, one range request returns the content, however large the shard is.",
        (
            Value("offset", _column("offset"), "offset of the payload", "byte"),
            Value("length", _column("length"), "size of the payload", "bytes"),
            Value("codec", _codec, "the codec of the payload"),
            Value("compressed_size", _column("compressed"), "the stored size in the entry", "bytes"),
            Value("uncompressed_size", _column("size"), "size of the uncompressed content", "bytes"),
        ),
        spans=_inline,
        only=lambda fact: not _is_big(fact),
    ),
    Row(
        "Metadata",
        "The entry ends with metadata, a JSON object.",
        "The metadata of an object is in the index, so it can be read without the content.",
        (Value("meta", _meta, "the metadata of the object", at=_part("meta")),),
        spans=_part("meta"),
        only=lambda fact: _column("meta_length")(fact) > 0,
    ),
)

_SIDECAR = (
    Row(
        "Sidecar",
        "The sidecar cannot be read, so deletions are unknown: {file.sidecar_error.message}.",
        _SIDECAR_WHY,
        spans=lambda fact: Span(str(SourceName(fact.file.sidecar_name)), 0, 0),
        only=lambda fact: fact.file.sidecar_error is not None,
    ),
    Row(
        "Sidecar",
        "The shard has no sidecar, so no object is deleted.",
        _SIDECAR_WHY,
        (Value("sidecar", lambda _: False, "true if there is a sidecar"),),
        inputs=lambda fact: fact.file.entries.span(fact.ref.row),
        only=lambda fact: fact.file.sidecar_error is None and fact.file.sidecar is None,
    ),
    Row(
        "Sidecar",
        "{text}",
        _SIDECAR_WHY,
        (
            Value(
                "tombstone",
                lambda fact: fact.tombstone is not None,
                "true if the object has a tombstone",
                at=_tombstone_span,
            ),
            Value(
                "checksum", lambda fact: fact.ref.extras.get("checksum", ""), "the sha256 of the content in the sidecar"
            ),
        ),
        spans=lambda fact: _tombstone_span(fact) or fact.file.sidecar.span,
        words={"text": _tombstone},
        only=lambda fact: fact.file.sidecar_error is None and fact.file.sidecar is not None,
    ),
)

_SKIPPED = (
    Row(
        "Payload",
        "The content is not read, because the object is or may be deleted.",
        "A deleted object must not be returned, although its bytes are still stored.",
        spans=lambda fact: fact.ref.spans[:1],
        only=lambda fact: fact.deleted,
    ),
    Row(
        "Payload",
        "The content has {ref.size:byte}, too many to be read for a trace.",
        _PAYLOAD,
        spans=lambda fact: fact.ref.spans[:1],
        only=lambda fact: not fact.deleted,
    ),
)

_PAYLOAD_READ = Row(
    "Payload",
    "{content}",
    _PAYLOAD,
    (
        Value("size", "size", "size of the content", "bytes"),
        Value("sha256", "sha256", "the sha256 of the uncompressed content"),
    ),
    spans=lambda fact: fact.ref.spans[:1],
    words={"content": _content},
    only=lambda fact: not fact.bigfile,
)

_READ = (
    _PAYLOAD_READ,
    replace(
        _PAYLOAD_READ,
        why="The content is a separate file, and the sha256 in its name proves that it is intact.",
        only=lambda fact: fact.bigfile,
    ),
)

STEPS: Rows = {
    Routed: _ROUTED,
    Opened: _OPENED,
    NoEntry: (
        Row(
            "Walk",
            "No entry has this uid; {walked} walked.",
            "Entries are unordered, so only a walk over all of them shows that a uid is missing.",
            (
                Value("entries", lambda fact: len(fact.file.entries), "number of entries walked", "entries"),
                Value("uid_bytes", lambda fact: len(fact.uid.raw), "size of the uid as UTF-8", "bytes"),
            ),
            spans="file.index",
            words={"walked": lambda fact: plural(len(fact.file.entries), "entry was", "entries were")},
        ),
    ),
    Found: _FOUND,
    SidecarRead: _SIDECAR,
    ContentSkipped: _SKIPPED,
    BigFileMissing: (
        Row(
            "Payload",
            "{text}",
            "The entry has only the hash; without the external file the content is not available.",
            spans=lambda fact: fact.ref.spans[:1],
            words={"text": lambda fact: sentence(fact.error.message)},
        ),
    ),
    PayloadRead: _READ,
    Copied: (
        Row(
            "Retention",
            "The uid has {many}, which the reference reads first.",
            "A retention copy is kept even when its shard is deleted, so readers also search the copies.",
            (Value("copies", lambda fact: [copy.name for copy in fact.copies], "the files with retention copies"),),
            spans=lambda fact: [copy.span for copy in fact.copies],
            words={"many": lambda fact: plural(len(fact.copies), "retention copy", "retention copies")},
        ),
    ),
}
