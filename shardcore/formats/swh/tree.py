"""Node tree of a Read Shard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.swh.file import SwhFile, check_length
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.layout import (
    DIRECTORY_ENTRY,
    HASH_HEAD,
    HASH_TAIL,
    HEADER,
    OBJECT,
    SENTENCES,
    SLOT,
    VARIABLE_PARTS,
    WHOLE_MAGIC,
    cut_sections,
    length_span,
)
from shardcore.formats.swh.slots import SlotOrder, read_slots_at
from shardcore.model.children import BitFields, Deferred, Extents, RecordTable, field_nodes, grouped
from shardcore.model.node import Children, Node
from shardcore.model.number_words import grouped_digits, plural, product_text
from shardcore.model.record import FieldRole
from shardcore.model.runs import Runs
from shardcore.model.section import Section
from shardcore.model.span import Span
from shardcore.shards.cache import Once

_LEAVES = {"padding": FieldRole.PADDING, "trailing": FieldRole.UNUSED}
"""Roles of sections without parts."""


def header_node(
    values: dict[str, Any],
    targets: dict[str, Span] | None = None,
    size: int = HEADER.size,
    sums: dict[str, str] | None = None,
) -> Node:
    texts = {"magic": "SWHShard"} if values["magic"].startswith(WHOLE_MAGIC) else {}
    whole = {field.name: values.get(field.name) for field in HEADER.fields}
    fields = field_nodes(HEADER, whole, 0, targets=targets, texts=texts, sums=sums)
    return Node("header", Span("", 0, size), children=fields[: len(values)], doc=SENTENCES["header"])


def cut_nodes(header: dict[str, Any], size: int) -> list[tuple[Section, Node]]:
    roles = {"padding": FieldRole.PADDING, "objects": FieldRole.DATA}
    nodes = []
    for section, whole in cut_sections(header, size):
        text = plural(section.size, "byte")
        if not whole:
            text = f"the first {text}; the file ends here"
        elif section.size < whole:
            text = f"the first {grouped_digits(section.size)} of {plural(whole, 'byte')}; the file ends here"
        nodes.append((section, _leaf(section, roles.get(section.name, FieldRole.UNKNOWN), text)))
    return nodes


def _leaf(section: Section, role: FieldRole, text: str) -> Node:
    return Node(section.name, Span("", section.start, section.stop), role=role, text=text, doc=section.doc)


class SwhTree:
    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._geometry = file.geometry
        self._extents: Once[ObjectExtents] = Once()

    def root(self) -> Node:
        makers = {
            "header": lambda section: self._header_node(),
            "objects": self._objects_node,
            "index": self._index_node,
            "hash function": self._hash_node,
        }
        kids = tuple(makers.get(section.name, _rest_node)(section) for section in self._file.sections)
        source = self._file.source
        return Node(source.name, Span("", 0, source.size), text="Software Heritage Read Shard", children=kids)

    def _header_node(self) -> Node:
        header = self._file.header
        targets = {}
        for name, size in (("objects_position", "objects_size"), ("index_position", "index_size")):
            start = header[name]
            targets[name] = Span("", start, start + header[size])
        start = header["hash_position"]
        targets["hash_position"] = Span("", start, start + HASH_HEAD.size)
        index = product_text(self._geometry.slots, "slot", SLOT.size, header["index_size"])
        return header_node(header, targets, sums={"index_size": index})

    def _objects_node(self, section: Section) -> Node:
        order = self._file.order
        if order is None:
            return _leaf(
                section, FieldRole.DATA, f"{plural(self._geometry.declared, 'object')}; load the index to list them"
            )
        # Large arrays, so they are built once.
        kids = self._extents.get(lambda: ObjectExtents(self._file, order))
        text = plural(len(order), "object") + (f", {plural(kids.gaps, 'deleted stretch')}" if kids.gaps else "")
        role = FieldRole.GROUP if section.size else FieldRole.DATA
        span = Span("", section.start, section.stop)
        return Node("objects", span, role=role, text=text, doc=section.doc, children=grouped(kids))

    def _index_node(self, section: Section) -> Node:
        table = self._file.table
        span = Span("", section.start, section.stop)
        return Node("index", span, text=plural(table.rows, "slot"), doc=section.doc, children=grouped(table))

    def _hash_node(self, section: Section) -> Node:
        span = Span("", section.start, section.stop)
        parts = self._file.parts
        if parts is None:
            error = str(self._file.damage) if self._file.damage else ""
            return Node("hash function", span, role=FieldRole.UNKNOWN, doc=section.doc, error=error)
        head = field_nodes(HASH_HEAD, parts.values, parts.start)
        end = Span("", parts.stop - HASH_TAIL.size, parts.stop)
        fields = Deferred(lambda: field_nodes(HASH_TAIL, self._file.hash_tail(), end.start))
        kids = (
            *head,
            *(self._part_node(parts, name) for name in VARIABLE_PARTS),
            Node(
                "end",
                end,
                doc="The numbers of slots and buckets again; they must equal the first ones.",
                children=fields,
            ),
        )
        text = f"CHD, {plural(parts.slots, 'slot')}, {plural(parts.buckets, 'bucket')}, seed {parts.seed}"
        return Node("hash function", span, text=text, doc=section.doc, children=kids)

    def _part_node(self, parts: HashParts, name: str) -> Node:
        span = parts.part(name)
        kids: Children
        if name == "select directory":
            kids = RecordTable(
                DIRECTORY_ENTRY,
                span.start,
                span.size // DIRECTORY_ENTRY.size,
                lambda first, last: self._read_entries(span, first, last),
                describe=lambda number, row: _directory_node(parts, number, row),
            )
            return Node(name, span, text=plural(len(kids), "entry"), doc=VARIABLE_PARTS[name], children=grouped(kids))
        kids = BitFields(span, parts.buckets, lambda first, last: self._bit_nodes(parts, name, first, last))
        text = f"{plural(8 * span.size, 'bit')} for {plural(parts.buckets, 'bucket')}"
        return Node(name, span, role=FieldRole.BITS, text=text, doc=VARIABLE_PARTS[name], children=grouped(kids))

    def _read_entries(self, span: Span, first: int, last: int) -> NDArray[Any]:
        size = DIRECTORY_ENTRY.size
        data = self._file.source.read(span.start + size * first, span.start + size * last)
        return DIRECTORY_ENTRY.read(data, count=last - first)

    def _bit_nodes(self, parts: HashParts, name: str, first: int, last: int) -> list[Node]:
        span = parts.part(name)
        try:
            decoded = self._file.function().decoded
        except FormatError as error:
            return [Node(f"bucket {n}", span, error=str(error), bits=(0, 0)) for n in range(first, last)]
        nodes = []
        for bucket in range(first, last):
            end, length = int(decoded.ends[bucket]), int(decoded.lengths[bucket])
            if name == "unary bits":
                at = int(decoded.positions[bucket])
                bits, value, text = (at, at + 1), at, f"one-bit {bucket} is at bit {at}: high part {at - bucket}"
            elif name == "low bits":
                bits = (bucket * parts.low_width, (bucket + 1) * parts.low_width)
                value = end & ((1 << parts.low_width) - 1)
                text = f"low part {value}: the value ends at store bit {end}"
            else:
                bits, value = (end - length, end), int(decoded.displacements[bucket])
                text = f"displacement {value} in {plural(length, 'bit')}"
            nodes.append(Node(f"bucket {bucket}", span, value=value, text=text, role=FieldRole.BITS, bits=bits))
        return nodes


def _rest_node(section: Section) -> Node:
    return _leaf(section, _LEAVES.get(section.name, FieldRole.UNKNOWN), plural(section.size, "byte"))


class ObjectExtents(Extents):
    def __init__(self, file: SwhFile, order: SlotOrder) -> None:
        self._file = file
        self._slots, self._offsets, self._sizes = order.slots, order.offsets, order.sizes
        starts, stops = self._offsets, self._offsets + OBJECT.size + self._sizes
        edges = np.append(starts, file.geometry.index_start)
        reach = np.maximum.accumulate(np.append(file.geometry.objects_start, stops))
        where = np.flatnonzero(reach < edges)
        self.gaps = len(where)
        # Number of the live object per row, -1 for a gap; None without gaps.
        self._live: NDArray[np.int64] | None = None
        if len(where):
            starts = np.concatenate([starts, reach[where]])
            by_start = np.argsort(starts, kind="stable")
            self._live = np.concatenate([np.arange(len(order)), np.full(len(where), -1)])[by_start]
            starts, stops = starts[by_start], np.concatenate([stops, edges[where]])[by_start]
        super().__init__(starts, stops, self._nodes, paint=self._runs)

    def _live_at(self, first: int, last: int) -> NDArray[np.int64]:
        return np.arange(first, last) if self._live is None else self._live[first:last]

    def _nodes(self, first: int, last: int) -> list[Node]:
        live = self._live_at(first, last)
        slots = self._slots[live[live >= 0]]
        keys = iter(read_slots_at(self._file.source, self._file.geometry, slots)["key"])
        return [
            self._object(int(number), next(keys).tobytes().hex()) if number >= 0 else self._gap(first + at)
            for at, number in enumerate(live.tolist())
        ]

    def _object(self, number: int, key: str) -> Node:
        slot, size = int(self._slots[number]), int(self._sizes[number])
        length = length_span(int(self._offsets[number]))
        content = Span("", length.stop, length.stop + size)
        return Node(
            key,
            Span("", length.start, content.stop),
            text=f"{plural(size, 'byte')}, slot {slot}",
            doc="One object: its length, then its content.",
            children=Deferred(lambda: self._parts(length, content)),
            row=slot,
        )

    def _parts(self, length: Span, content: Span) -> list[Node]:
        """Return length and content of an object; the length as stored only if it is already loaded."""
        source, stored, error = self._file.source, content.size, ""
        if source.loaded(length.start, length.stop) == ((length.start, length.stop),):
            piece = source.read(length.start, length.stop)
            stored = int(OBJECT.read_one(piece, place=length)["size"])
            try:
                check_length(piece, content)
            except FormatError as fault:
                error = fault.message
        return [
            *(replace(node, error=error) for node in field_nodes(OBJECT, {"size": stored}, length.start)),
            Node(
                "content",
                content,
                text=plural(content.size, "byte"),
                role=FieldRole.DATA,
                doc="The content of the object, uncompressed.",
            ),
        ]

    def _gap(self, number: int) -> Node:
        start, stop = int(self.starts[number]), int(self.stops[number])
        content = max(stop - start - OBJECT.size, 0)
        return Node(
            "deleted",
            Span("", start, stop),
            text=f"{plural(stop - start, 'byte')}: one object of {plural(content, 'byte')}, or several",
            role=FieldRole.UNUSED,
            doc="Deleting overwrites length and content with zeros; adjacent deleted objects cannot be distinguished.",
        )

    def _runs(self, first: int, last: int) -> Runs:
        starts, stops = self.starts[first:last], self.stops[first:last]
        parity = np.arange(first, last, dtype=np.int64) & 1
        gap = self._live_at(first, last) < 0
        edge = np.minimum(np.where(gap, stops, starts + OBJECT.size), stops)
        roles = np.where(gap, FieldRole.UNUSED, FieldRole.SIZE)
        both_starts = np.stack([starts, edge], axis=1)
        both_stops = np.stack([edge, stops], axis=1)
        both_roles = np.stack([roles, np.full(len(roles), FieldRole.DATA)], axis=1)
        return Runs.of(both_starts, both_stops, both_roles, np.repeat(parity, 2))


def _directory_node(parts: HashParts, number: int, row: Any) -> Node:
    start = parts.part("select directory").start + DIRECTORY_ENTRY.size * number
    position = int(row["position"])
    byte = parts.part("unary bits").start + position // 8
    node = field_nodes(DIRECTORY_ENTRY, row, start)[0]
    text = f"one-bit {128 * number} is at bit {position}"
    if 128 * number >= parts.buckets:
        text = f"unused: there are only {plural(parts.buckets, 'one-bit')}"
    return Node(
        f"entry {number}",
        node.span,
        value=position,
        text=text,
        role=node.role,
        doc=node.doc,
        target=Span("", byte, byte + 1) if byte < parts.part("unary bits").stop else None,
    )
