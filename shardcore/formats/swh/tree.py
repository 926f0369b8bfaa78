"""The node tree of a Read Shard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.swh.layout import (
    DIRECTORY_ENTRY,
    HASH_HEAD,
    HASH_TAIL,
    HEADER,
    NO_OBJECT,
    OBJECT,
    SLOT,
    VARIABLE_PARTS,
    HashParts,
)
from shardcore.formats.swh.objects import Geometry, Order, read_slots, read_slots_at
from shardcore.nodes.children import BitFields, Deferred, Extents, Table, field_nodes, grouped
from shardcore.nodes.node import Children, Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.objects import State
from shardcore.record import FieldRole
from shardcore.span import Span

if TYPE_CHECKING:
    from shardcore.formats.swh.reader import SwhShard

SENTENCES = {
    "header": "Says where the parts of the shard lie.",
    "padding": "Zeros up to the first object; nobody checks them.",
    "objects": "Every object: its length in 8 bytes, then its content; in the order of writing.",
    "index": "One slot for each value of the hash function: the key and the place of its object.",
    "hash function": "Gives every key a slot of its own, and every other key in the world some slot.",
    "trailing": "Bytes after the end of the shard, as on a larger block device; `truncate` removes them.",
}


def header_section() -> Section:
    """The header."""
    return Section("header", SectionRole.HEADER, 0, HEADER.size, SENTENCES["header"])


def sections_of(header: dict[str, Any], hash_stop: int, size: int) -> list[Section]:
    """All sections, from the fields of the header and the end of the hash function."""
    objects, index, hashes = (header[f"{name}_position"] for name in ("objects", "index", "hash"))
    claims = [
        header_section(),
        Section("padding", SectionRole.PADDING, HEADER.size, objects, SENTENCES["padding"]),
        Section("objects", SectionRole.DATA, objects, index, SENTENCES["objects"]),
        Section("index", SectionRole.INDEX, index, hashes, SENTENCES["index"]),
        Section("hash function", SectionRole.LOOKUP, hashes, hash_stop, SENTENCES["hash function"]),
        Section("trailing", SectionRole.TRAILING, hash_stop, size, SENTENCES["trailing"]),
    ]
    return [claim for claim in claims if claim.size or claim.name == "objects"]


def cut_sections(header: dict[str, Any], size: int) -> Iterator[tuple[Section, Node]]:
    """What is left behind the header of the parts of a file that was cut to `size` bytes, with their nodes."""
    roles = {"padding": FieldRole.PADDING, "objects": FieldRole.DATA}
    for whole in sections_of(header, max(header["hash_position"], size), size)[1:]:
        section = Section(whole.name, whole.role, whole.start, min(whole.stop, size), whole.doc)
        if section.size <= 0:
            continue
        text = f"{section.size} bytes" if section.stop == whole.stop else f"{section.size} of {whole.size} bytes"
        if whole.name == "hash function":
            text = f"its first {section.size} bytes"
        span = Span("", section.start, section.stop)
        role = roles.get(section.name, FieldRole.UNKNOWN)
        yield section, Node(section.name, span, role=role, text=text, doc=section.doc)


def header_node(header: dict[str, Any]) -> Node:
    """The header and its fields; positions point to what they name."""
    targets = {}
    for name, size in (("objects_position", "objects_size"), ("index_position", "index_size")):
        start = header[name]
        targets[name] = Span("", start, start + header[size])
    targets["hash_position"] = Span("", header["hash_position"], header["hash_position"] + HASH_HEAD.size)
    return header_node_unchecked(header, targets)


def header_node_unchecked(header: dict[str, Any], targets: dict[str, Span] | None = None) -> Node:
    """The header and its fields, whatever they say."""
    magic = {"magic": "SWHShard"} if header["magic"].startswith(b"SWHShard\0") else {}
    fields = field_nodes(HEADER, header, 0, targets=targets, texts=magic)
    return Node("header", Span("", 0, HEADER.size), children=fields, doc=SENTENCES["header"])


def tree(shard: SwhShard, name: str, size: int) -> Node:
    """The root, with one child for each section."""
    makers = {
        "header": lambda s: header_node(shard.header),
        "objects": lambda s: _objects_node(shard, s),
        "index": lambda s: _index_node(shard, s),
        "hash function": lambda s: _hash_node(shard, s),
        "padding": lambda s: _leaf(s, FieldRole.PADDING),
        "trailing": lambda s: _leaf(s, FieldRole.UNUSED),
    }
    kids = tuple(makers.get(s.name, lambda s: _leaf(s, FieldRole.UNKNOWN))(s) for s in shard.sections)
    return Node(name, Span("", 0, size), text="Software Heritage Read Shard", children=kids)


def _leaf(section: Section, role: FieldRole) -> Node:
    span = Span("", section.start, section.stop)
    return Node(section.name, span, role=role, text=f"{section.size} bytes", doc=section.doc)


# --- objects ------------------------------------------------------------------------------------------------------


def _objects_node(shard: SwhShard, section: Section) -> Node:
    span = Span("", section.start, section.stop)
    order = shard.objects.by_offset
    if order is None:
        text = f"{shard.geometry.declared} objects; load the index to see each"
        return Node("objects", span, role=FieldRole.DATA, text=text, doc=section.doc)
    kids = ObjectExtents(shard, order)
    text = f"{len(order.slots)} objects" + (f", {kids.gaps} deleted stretches" if kids.gaps else "")
    role = FieldRole.GROUP if section.size else FieldRole.DATA
    return Node("objects", span, role=role, text=text, doc=section.doc, children=grouped(kids))


class ObjectExtents(Extents):
    """The live objects and the gaps that deletions left, in the order of their bytes."""

    def __init__(self, shard: SwhShard, order: Order) -> None:
        self._shard = shard
        self._order = order
        starts, stops = order.offsets, order.stops
        edges = np.append(starts, shard.geometry.index_start)
        reach = np.maximum.accumulate(np.append(shard.geometry.objects_start, stops))
        where = np.flatnonzero(reach < edges)
        self.gaps = len(where)
        all_starts = np.concatenate([starts, reach[where]])
        by_start = np.argsort(all_starts, kind="stable")
        # Number of the live object at each place of the list, or -1 for a gap.
        self._live = np.concatenate([np.arange(len(starts)), np.full(len(where), -1)])[by_start]
        super().__init__(
            all_starts[by_start], np.concatenate([stops, edges[where]])[by_start], self._nodes, paint=self._runs
        )

    def _nodes(self, first: int, last: int) -> list[Node]:
        live = self._live[first:last]
        slots = self._order.slots[live[live >= 0]]
        keys = iter(read_slots_at(self._shard.source, self._shard.geometry, slots)["key"])
        return [
            self._object(int(number), next(keys).tobytes().hex()) if number >= 0 else self._gap(first + at)
            for at, number in enumerate(live.tolist())
        ]

    def _object(self, number: int, key: str) -> Node:
        start, size = int(self._order.offsets[number]), int(self._order.sizes[number])
        length = OBJECT.size
        slot = int(self._order.slots[number])
        slot_start = self._shard.geometry.slot_start(slot)
        kids = (
            *field_nodes(OBJECT, {"size": size}, start),
            Node(
                "content",
                Span("", start + length, start + length + size),
                text=f"{size} bytes",
                role=FieldRole.DATA,
                doc="The object as it was given to the writer; nothing is compressed.",
            ),
        )
        return Node(
            key,
            Span("", start, start + length + size),
            text=f"{size} bytes, slot {slot}",
            doc="One object: its length, then its content.",
            children=kids,
            target=Span("", slot_start, slot_start + SLOT.size),
        )

    def _gap(self, number: int) -> Node:
        start, stop = int(self.starts[number]), int(self.stops[number])
        return Node(
            "deleted",
            Span("", start, stop),
            text=f"{stop - start} bytes: one object of {max(stop - start - 8, 0)}, or several",
            role=FieldRole.UNUSED,
            doc="Deleting overwrites length and content with zeros; neighbours can no longer be told apart.",
        )

    def _runs(self, first: int, last: int) -> Runs:
        starts, stops = self.starts[first:last], self.stops[first:last]
        parity = np.arange(first, last, dtype=np.int64) & 1
        gap = self._live[first:last] < 0
        edge = np.minimum(np.where(gap, stops, starts + OBJECT.size), stops)
        roles = np.where(gap, FieldRole.UNUSED, FieldRole.SIZE)
        both_starts = np.stack([starts, edge], axis=1)
        both_stops = np.stack([edge, stops], axis=1)
        both_roles = np.stack([roles, np.full(len(roles), FieldRole.DATA)], axis=1)
        return Runs.of(both_starts, both_stops, both_roles, np.repeat(parity, 2))


# --- index --------------------------------------------------------------------------------------------------------


def _index_node(shard: SwhShard, section: Section) -> Node:
    geometry = shard.geometry
    span = Span("", section.start, section.stop)
    table = Table(
        SLOT,
        section.start,
        geometry.slots,
        lambda first, last: read_slots(shard.source, geometry, first, last),
        describe=lambda number, row: _slot_node(geometry, number, row),
        paint=lambda rows: _slot_roles(geometry, rows),
    )
    return Node("index", span, text=f"{geometry.slots} slots", doc=section.doc, children=grouped(table))


def _slot_roles(geometry: Geometry, rows: NDArray[Any]) -> NDArray[np.uint8]:
    roles = np.empty((len(rows), 2), np.uint8)
    roles[:] = (FieldRole.KEY, FieldRole.OFFSET)
    roles[geometry.states(rows["offset"]) == State.UNUSED] = FieldRole.UNUSED
    return roles


def _slot_node(geometry: Geometry, number: int, row: Any) -> Node:
    values = SLOT.values(row)
    start = geometry.slot_start(number)
    state = State(int(geometry.states(np.array([values["offset"]], np.uint64))[0]))
    texts: dict[str, str] = {}
    errors: dict[str, str] = {}
    targets: dict[str, Span] = {}
    if state is State.LIVE:
        text = values["key"].hex()
        targets["offset"] = Span("", values["offset"], values["offset"] + OBJECT.size)
    elif state is State.UNUSED:
        text = "no object: unused, or deleted"
        if values["offset"] == NO_OBJECT:
            texts["offset"] = "2^64 - 1: no object"
    else:
        text = "points outside the objects"
        errors["offset"] = f"{values['offset']} is outside the objects"
    roles = _slot_roles(geometry, np.asarray(row).reshape(1))[0].tolist()
    fields = field_nodes(SLOT, values, start, texts=texts, targets=targets, errors=errors, roles=roles)
    span = Span("", start, start + SLOT.size)
    doc = "One slot: a key, and where its object begins."
    return Node(f"slot {number}", span, text=text, doc=doc, children=fields, error=errors.get("offset", ""))


# --- hash function ------------------------------------------------------------------------------------------------


def _hash_node(shard: SwhShard, section: Section) -> Node:
    span = Span("", section.start, section.stop)
    parts = shard.parts
    if parts is None:
        error = str(shard.damage) if shard.damage else ""
        return Node("hash function", span, role=FieldRole.UNKNOWN, doc=section.doc, error=error)
    head = field_nodes(HASH_HEAD, parts.values, parts.start, texts={"algorithm": "chd_ph", "hash_name": "jenkins"})
    kids = [*head, *(_part_node(shard, parts, name) for name in VARIABLE_PARTS)]
    end = Span("", parts.stop - HASH_TAIL.size, parts.stop)
    fields = Deferred(lambda: field_nodes(HASH_TAIL, shard.hash_tail(), end.start))
    kids.append(Node("end", end, doc="The two counts once more.", children=fields))
    text = f"CHD, {parts.slots} slots, {parts.buckets} buckets, seed {parts.seed}"
    return Node("hash function", span, text=text, doc=section.doc, children=tuple(kids))


def _part_node(shard: SwhShard, parts: HashParts, name: str) -> Node:
    span = parts.part(name)
    kids: Children
    if name == "select directory":
        kids = Table(
            DIRECTORY_ENTRY,
            span.start,
            span.size // DIRECTORY_ENTRY.size,
            lambda first, last: DIRECTORY_ENTRY.read(
                shard.source.read(span.start + 4 * first, span.start + 4 * last), count=last - first
            ),
            describe=lambda number, row: _directory_node(parts, number, row),
        )
        text = "1 entry" if len(kids) == 1 else f"{len(kids)} entries"
        return Node(name, span, text=text, doc=VARIABLE_PARTS[name], children=grouped(kids))
    kids = BitFields(span, parts.buckets, lambda first, last: _bit_nodes(shard, name, span, first, last))
    text = f"{8 * span.size} bits for {parts.buckets} buckets"
    return Node(name, span, role=FieldRole.BITS, text=text, doc=VARIABLE_PARTS[name], children=grouped(kids))


def _directory_node(parts: HashParts, number: int, row: Any) -> Node:
    start = parts.part("select directory").start + DIRECTORY_ENTRY.size * number
    position = int(row["position"])
    byte = parts.part("unary bits").start + position // 8
    node = field_nodes(DIRECTORY_ENTRY, row, start)[0]
    return Node(
        f"entry {number}",
        node.span,
        value=position,
        text=f"one-bit {128 * number} at bit {position}",
        role=node.role,
        doc=node.doc,
        target=Span("", byte, byte + 1) if byte < parts.part("unary bits").stop else None,
    )


def _bit_nodes(shard: SwhShard, name: str, span: Span, first: int, last: int) -> list[Node]:
    """The values of some buckets in one of the bit-packed parts."""
    try:
        decoded = shard.function().decoded
    except FormatError as error:
        return [Node(f"bucket {n}", span, error=str(error), bits=(0, 0)) for n in range(first, last)]
    parts = shard.hash_parts()
    nodes = []
    for bucket in range(first, last):
        end, length = int(decoded.ends[bucket]), int(decoded.lengths[bucket])
        if name == "unary bits":
            at = int(decoded.positions[bucket])
            bits, value, text = (at, at + 1), at, f"bit {at}: high part {at - bucket}"
        elif name == "low bits":
            bits = (bucket * parts.low_width, (bucket + 1) * parts.low_width)
            value = end & ((1 << parts.low_width) - 1)
            text = f"{value}: the value ends at bit {end}"
        else:
            bits, value = (end - length, end), int(decoded.displacements[bucket])
            text = f"displacement {value}, {length} bits"
        nodes.append(Node(f"bucket {bucket}", span, value=value, text=text, role=FieldRole.BITS, bits=bits))
    return nodes
