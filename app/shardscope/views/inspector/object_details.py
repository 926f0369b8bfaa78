"""Details of an object for the inspector: key, state, size, offsets, and facts of its format. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from shardcore import ObjectRef, State
from shardcore.model.number_words import plural
from shardcore.model.objects import MEMBER_ROW
from shardcore.model.text import said
from shardscope.session.words import cut_middle, grouped, known_size
from shardscope.views.inspector.node_details import MOST_LETTERS, DetailRow, cut_row, place_row

MOST_EXTRAS = 24

MOST_SEGMENTS = 5
"""Parts of a file that are listed."""

_TONES = MappingProxyType(
    {State.DELETED: "warning", State.TOMBSTONED: "warning", State.DAMAGED: "error", State.UNUSED: "muted"}
)

_NO_CODEC = MappingProxyType({"none": "not compressed", "unread": "", "unknown": "unknown codec", "xorb": "in a xorb"})

_SAID_ALREADY = frozenset(
    {
        # Where a row leads, in the numbers of the program.
        *(MEMBER_ROW, "record"),
        # The rows *stored*, *size*, *content*, *kind* and *key* say these.
        *("compressed_size", "uncompressed_size", "offset", "index_size", "flags", "stop"),
    }
)

_NAMES = MappingProxyType(
    {
        "key_hex": "key in hex",
        "voxel_begin": "voxels",
        "verified": "range hashes",
        "eligible": "deduplication",
        "keyed": "hash stored",
        "chunk": "place in xorb",
        "start": "plain xorb from",
        "checksum": "digest",
        "data_type": "data type",
        "created_at": "created",
        "chunklen": "chunk length",
    }
)
"""Words for names that only a program would say; all others are names of the format."""


def object_rows(ref: ObjectRef) -> list[DetailRow]:
    """The passport of an object."""
    rows = [cut_row("key", ref.key, mono=True)] if ref.key is not None else [DetailRow("key", "none", tone="muted")]
    if ref.kind != "object":
        rows.append(DetailRow("kind", ref.kind))
    rows.append(DetailRow("state", ref.state.name.lower(), tone=_TONES.get(ref.state, "text")))
    if ref.state not in (State.UNUSED, State.DELETED) or ref.size >= 0:
        rows.append(DetailRow("size", known_size(ref.size)))
        stored = (known_size(ref.stored_size), _NO_CODEC.get(ref.codec, ref.codec))
        rows.append(DetailRow("stored", " · ".join(part for part in stored if part)))
    if ref.shard:
        rows.append(DetailRow("shard", ref.shard))
    rows += [place_row("content" if number == 0 else "also", span, link=True) for number, span in enumerate(ref.spans)]
    if ref.parts:
        rows.append(DetailRow("parts", ", ".join(ref.parts)))
    rows += _extra_rows(ref)
    if ref.error:
        rows.append(DetailRow("error", grouped(ref.error), tone="error"))
    return rows


def _extra_rows(ref: ObjectRef) -> list[DetailRow]:
    """Return what the format knows besides; what is said already, or is nothing, is left out."""
    facts = {name: value for name, value in ref.extras.items() if name not in _SAID_ALREADY and not _is_nothing(value)}
    if ref.key is not None and ref.key.endswith(str(facts.get("xorb"))):
        del facts["xorb"]
    if "checksum" in facts and (kind := facts.pop("checksum_algo", "")):
        facts["checksum"] = f"{kind} {facts['checksum']}"
    if "voxel_begin" in facts and "voxel_end" in facts:
        ends = zip(facts["voxel_begin"], facts.pop("voxel_end"), strict=False)
        facts["voxel_begin"] = " × ".join(f"{first}..{last}" for first, last in ends)
    rows = []
    for name, value in list(facts.items())[:MOST_EXTRAS]:
        text = (_SAYING.get(name) or _plain)(value)
        rows.append(cut_row(_NAMES.get(name, name.replace("_", " ")), text, mono=_is_raw(value)))
    return rows


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, (str, Mapping, Sequence)) and not len(value))


def _is_raw(value: object) -> bool:
    """Digests, keys and names out of the file are in the font of bytes."""
    return isinstance(value, (str, bytes, int)) and not isinstance(value, bool)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        # One line for each fact.
        return "\n".join(f"{name}: {said(one, MOST_LETTERS)}" for name, one in value.items())
    return said(value, MOST_LETTERS)


def _product(value: Any) -> str:
    return " × ".join(map(str, value)) if isinstance(value, (list, tuple)) else said(value, MOST_LETTERS)


def _segments(value: Any) -> str:
    """The parts of a file, in order: which chunks of which xorb."""
    lines = [
        f"chunks {part['start']:,}..{part['end']:,} of xorb {cut_middle(str(part['xorb']), 16)}, "
        f"{plural(part['bytes'], 'byte')}"
        for part in value[:MOST_SEGMENTS]
    ]
    if len(value) > MOST_SEGMENTS:
        lines.append(f"and {len(value) - MOST_SEGMENTS:,} more")
    return "\n".join(lines)


_SAYING: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "shape": _product,
        "segments": _segments,
        "verified": lambda there: "one for each segment" if there else "none",
        "eligible": lambda can: "global: eligible" if can else "global: not eligible",
        "keyed": lambda keyed: "under the HMAC key of the footer" if keyed else "as it is",
        "start": lambda start: f"byte {start:,}",
        "chunk": lambda number: f"chunk {number:,}",
        "order": lambda order: "Fortran: x varies fastest" if order == "F" else str(order),
        "typesize": lambda size: plural(size, "byte"),
    }
)
"""Texts of facts."""
