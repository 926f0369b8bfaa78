"""Drawings of DES shards: the files, the steps of a lookup, and charts of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.errors import UsageError
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import CODECS, FOOTER, HEADER
from shardcore.formats.des.lookup import Found, NoEntry, Opened, Routed
from shardcore.formats.des.routing import ShardName
from shardcore.formats.des.shard import DesShard
from shardcore.model.drawing import Bits, Drawing, Item, Sketch, Tone
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, counts_of, share_of
from shardcore.progress import Progress
from shardcore.shards.trace import Fields, Shown, Trace
from shardcore.teaching.des.address import AddressSketch, bits_figure, last_walked, walk_strip

if TYPE_CHECKING:
    from shardcore.formats.des.folder import DesDataSet


def shares(file: DesFile) -> tuple[Share, ...]:
    parts = file.data_map
    deleted = "Deleted according to the sidecar; the bytes remain until the shard is rewritten."
    gone = np.isin(parts.rows, file.tombstoned)
    gap, live = parts.rows < 0, (parts.rows >= 0) & ~gone
    inside = [
        share_of(Use.DATA, "data", parts.starts[live], parts.stops[live], "The objects, as they are stored."),
        share_of(Use.DEAD, "tombstoned data", parts.starts[gone], parts.stops[gone], deleted),
        share_of(Use.DEAD, "unreferenced bytes", parts.starts[gap], parts.stops[gap], "No entry refers to these."),
    ]
    return budget(file.sections, {"data": inside})


def number_load(data_set: DesDataSet, reads: int) -> LoadSource:
    """Return the number of objects per shard number, over all dates and parts."""

    def load(progress: Progress) -> Load:
        data_set.load_index(progress)
        if (n_bits := data_set.n_bits) is None:
            raise UsageError("n_bits is unknown: it follows neither from the file names nor from a zones file")
        parsed = ((ShardName.parse(one.name.rpartition("/")[2]), one.name) for one in data_set.members)
        named = [(name.number, path) for name, path in parsed if name is not None and name.number < 1 << n_bits]
        places = np.array([number for number, _ in named], np.int64)
        weights = np.array([data_set.objects_in(path) or 0 for _, path in named], np.int64)
        counts = counts_of(np.repeat(places, weights), 1 << n_bits)
        return Load(
            "Objects per shard number",
            "shard number",
            "object",
            counts,
            "The shard number is the uid, if it is a number, or its CRC-32, modulo 2^n_bits: "
            "both should spread evenly.",
            int(counts.sum()) / len(counts),
            by_chance=True,
            names=tuple(f"{number:X}" for number in range(len(counts))) if len(counts) <= 4096 else (),
        )

    return LoadSource("numbers", "Objects per shard number", reads, load)


def sketches(shard: DesShard, trace: Trace | None) -> tuple[Sketch, ...]:
    if trace is None and not len(shard.file.entries):
        return ()
    return (AddressSketch(lambda: shard.file, trace),)


def folder_sketches(data_set: DesDataSet, trace: Trace | None) -> tuple[Sketch, ...]:
    member = data_set.first_member if trace is None else last_walked(trace)

    def names() -> Sequence[str]:
        return [one.name for one in data_set.members] if data_set.listed else ()

    def file() -> DesFile | None:
        shard = data_set.member(member) if member else None
        return shard.file if isinstance(shard, DesShard) else None

    if not data_set.is_open(member) and member not in names():
        member = ""
    n_bits = [step.values["n_bits"] for step in trace.steps if "n_bits" in step.values] if trace is not None else []
    ready, bits = partial(data_set.is_open, member), n_bits[0] if n_bits else data_set.known_bits
    return (AddressSketch(file, trace, member=member, names=names, ready=ready, n_bits=bits),)


def step_figures(fact: Any, title: str) -> Drawing | tuple[Shown, ...]:
    if isinstance(fact, NoEntry):
        return _walk_drawing(fact.file, None)
    if isinstance(fact, Found) and title == "Walk":
        return _walk_drawing(fact.file, fact.row)
    if isinstance(fact, Opened) and title == "Footer":
        return (Fields(FOOTER, fact.file.source.size - FOOTER.size, fact.file.footer),)
    if isinstance(fact, Opened) and title == "Header":
        return (Fields(HEADER, 0, fact.file.header),)
    if isinstance(fact, Routed) and fact.route is not None:
        return (bits_figure(fact.uid.text, fact.route),)
    if isinstance(fact, Found) and title == "Flags":
        return (_flags_figure(fact),)
    if isinstance(fact, Found) and title == "Place" and not fact.file.entries.columns.big[fact.row]:
        return (_place_fields(fact),)
    return ()


def _place_fields(fact: Found) -> Fields:
    entries, row, c = fact.file.entries, fact.row, fact.file.entries.columns
    code = int(c.codec[row])
    values: dict[str, Any] = {
        "offset": int(c.offset[row]),
        "length": int(c.length[row]),
        "codec": CODECS[code] if code < len(CODECS) else f"number {code}",
        "compressed_size": int(c.compressed[row]),
        "uncompressed_size": int(c.size[row]),
    }
    return Fields(entries.shape.place, entries.part_span(row, "uid").stop, values)


def _flags_figure(fact: Found) -> Bits:
    flags = int(fact.file.entries.columns.flags[fact.row])
    spans = (fact.file.entries.part_span(fact.row, "flags"),)
    low = Item("BigFile" if flags & 1 else "inline", spans, 0, 1, Tone.KEY, "Bit 0: BigFile or inline.", here=True)
    return Bits("One byte", 8, flags, (low, Item("not used", spans, 1, 7, Tone.FAINT, "Readers ignore these bits.")))


def _walk_drawing(file: DesFile, row: int | None) -> Drawing:
    figure, links, more = walk_strip(file, row)
    caption = "Entries differ in length, so they are walked: the end of each is the start of the next."
    if row is None:
        caption = "Entries are unordered, so only a walk over all of them shows that a uid is missing."
    return Drawing("The walk", (figure,), links, caption, more)
