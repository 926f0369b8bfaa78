"""Node tree of a Read Shard."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import FormatError
from shardcore.formats.swh.file import SlotOrder, SwhFile, check_length
from shardcore.formats.swh.hash_section import ONES_PER_ENTRY, HashLayout
from shardcore.formats.swh.layout import (
    DIRECTORY_ENTRY,
    HASH_HEAD,
    HASH_TAIL,
    HEADER,
    OBJECT,
    PARTS,
    SLOT,
    VARIABLE_PARTS,
    WHOLE_MAGIC,
    sections_of,
)
from shardcore.model.computed_children import (
    BitFields,
    Deferred,
    Extents,
    RecordTable,
    field_nodes,
    grouped,
    section_leaf,
    section_nodes,
)
from shardcore.model.node import Children, Node, Runs
from shardcore.model.record import FieldRole
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural, product_text
from shardcore.shards.cache import Once


def header_node(
    values: dict[str, Any],
    targets: dict[str, Span] | None = None,
    size: int = HEADER.size,
    sums: dict[str, str] | None = None,
) -> Node:
    """Return the node of the header, or of the fields of a truncated one."""
    texts = {"magic": "SWHShard"} if values["magic"].startswith(WHOLE_MAGIC) else {}
    whole = {field.name: values.get(field.name) for field in HEADER.fields}
    fields = field_nodes(HEADER, whole, 0, targets=targets, texts=texts, sums=sums)
    return Node("header", Span("", 0, size), children=fields[: len(values)], doc=PARTS[0].doc)


def cut_nodes(header: dict[str, Any], size: int) -> list[tuple[Section, Node]]:
    """Return sections and nodes after the header of a truncated file, up to its end; the last one is incomplete."""
    nodes = []
    for whole in sections_of(header, max(header["hash_position"], size), size)[1:]:
        section = replace(whole, stop=min(whole.stop, size))
        if section.start >= section.stop:
            continue
        text = plural(section.size, "byte")
        if whole.name == "hash function":
            text = f"the first {text}; the file ends here"
        elif section.size < whole.size:
            text = f"the first {grouped_digits(section.size)} of {plural(whole.size, 'byte')}; the file ends here"
        role = FieldRole.UNKNOWN if section.role is SectionRole.TRAILING else None
        nodes.append((section, section_leaf(section, role, text)))
    return nodes


class SwhTree:
    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._layout = file.layout
        self._extents: Once[ObjectExtents] = Once()

    def root(self) -> Node:
        makers = {
            "header": self._header_node,
            "objects": self._objects_node,
            "index": self._index_node,
            "hash function": self._hash_node,
        }
        kids, source = section_nodes(self._file.sections, makers), self._file.source
        return Node(source.name, Span("", 0, source.size), text="Software Heritage Read Shard", children=kids)

    def _header_node(self, _: Section) -> Node:
        header = self._file.header
        starts = {name: header[f"{name}_position"] for name in ("objects", "index")}
        targets = {f"{name}_position": Span("", at, at + header[f"{name}_size"]) for name, at in starts.items()}
        targets["hash_position"] = HASH_HEAD.span("", header["hash_position"])
        index = product_text(self._layout.slots, "slot", SLOT.size, header["index_size"])
        return header_node(header, targets, sums={"index_size": index})

    def _objects_node(self, section: Section) -> Node:
        order = self._file.order
        if order is None:
            text = f"{plural(self._layout.declared, 'object')}; load the index to list them"
            return section_leaf(section, text=text)
        # Large arrays, so they are built once.
        kids = self._extents.get(lambda: ObjectExtents(self._file, order))
        gap = ("deleted stretch", "") if kids.deleted else ("stretch without a slot", "stretches without a slot")
        text = plural(len(order), "object") + (f", {plural(kids.gaps, *gap)}" if kids.gaps else "")
        role = FieldRole.GROUP if section.size else FieldRole.DATA
        return replace(section_leaf(section, role, text), children=grouped(kids))

    def _index_node(self, section: Section) -> Node:
        table = self._file.table
        return replace(section_leaf(section, FieldRole.GROUP, plural(table.rows, "slot")), children=grouped(table))

    def _hash_node(self, section: Section) -> Node:
        layout = self._file.hash_layout
        if layout is None:
            error = str(self._file.damage) if self._file.damage else ""
            return replace(section_leaf(section, FieldRole.UNKNOWN), text="", error=error)
        end = Node(
            "end",
            layout.tail,
            doc="The numbers of slots and buckets again; they must equal the first ones.",
            children=Deferred(lambda: field_nodes(HASH_TAIL, self._file.hash_tail(), layout.tail.start)),
        )
        head = field_nodes(HASH_HEAD, layout.values, layout.start)
        text = f"CHD, {plural(layout.slots, 'slot')}, {plural(layout.buckets, 'bucket')}, seed {layout.seed}"
        kids = (*head, *(self._part_node(layout, name) for name in VARIABLE_PARTS), end)
        return replace(section_leaf(section, FieldRole.GROUP, text), children=kids)

    def _part_node(self, layout: HashLayout, name: str) -> Node:
        span, doc = layout.parts[name], VARIABLE_PARTS[name]
        kids: Children
        if name == "select directory":
            kids = RecordTable(
                DIRECTORY_ENTRY,
                span.start,
                span.size // DIRECTORY_ENTRY.size,
                lambda first, last: self._read_entries(span, first, last),
                describe=lambda number, row: _directory_node(layout, number, row),
            )
            return Node(name, span, text=plural(len(kids), "entry"), doc=doc, children=grouped(kids))
        kids = BitFields(span, layout.buckets, lambda first, last: self._bit_nodes(layout, name, first, last))
        text = f"{plural(8 * span.size, 'bit')} for {plural(layout.buckets, 'bucket')}"
        return Node(name, span, role=FieldRole.BITS, text=text, doc=doc, children=grouped(kids))

    def _read_entries(self, span: Span, first: int, last: int) -> NDArray[Any]:
        size = DIRECTORY_ENTRY.size
        data = self._file.source.read(span.start + size * first, span.start + size * last)
        return DIRECTORY_ENTRY.read(data, count=last - first)

    def _bit_nodes(self, layout: HashLayout, name: str, first: int, last: int) -> list[Node]:
        span = layout.parts[name]
        try:
            _, decoded = self._file.function()
        except FormatError as error:
            return [Node(f"bucket {n}", span, error=str(error), bits=(0, 0)) for n in range(first, last)]
        nodes = []
        for bucket in range(first, last):
            end, length = int(decoded.ends[bucket]), int(decoded.lengths[bucket])
            if name == "unary bits":
                at = int(decoded.positions[bucket])
                bits, value, text = (at, at + 1), at, f"one-bit {bucket} is at bit {at}: high part {at - bucket}"
            elif name == "low bits":
                bits = (bucket * layout.low_width, (bucket + 1) * layout.low_width)
                value = end & ((1 << layout.low_width) - 1)
                text = f"low part {value}: the value ends at store bit {end}"
            else:
                bits, value = (end - length, end), int(decoded.displacements[bucket])
                text = f"displacement {value} in {plural(length, 'bit')}"
            nodes.append(Node(f"bucket {bucket}", span, value=value, text=text, role=FieldRole.BITS, bits=bits))
        return nodes


def _directory_node(layout: HashLayout, number: int, row: Any) -> Node:
    start = layout.parts["select directory"].start + DIRECTORY_ENTRY.size * number
    position, one = int(row["position"]), ONES_PER_ENTRY * number
    text = f"one-bit {one} is at bit {position}"
    if one >= layout.buckets:
        text = f"unused: there are only {plural(layout.buckets, 'one-bit')}"
    target, field = layout.where("unary bits", position // 8, position // 8 + 1), DIRECTORY_ENTRY.fields[0]
    inside = target.stop <= layout.parts["unary bits"].stop
    node = Node(f"entry {number}", DIRECTORY_ENTRY.span("", start), value=position, text=text, role=field.role)
    return replace(node, doc=field.doc, target=target if inside else None)


class ObjectExtents(Extents):
    def __init__(self, file: SwhFile, order: SlotOrder) -> None:
        self._file = file
        self.deleted = file.layout.deleted(len(order), order.damaged) > 0
        self._slots, self._offsets, self._sizes = order.slots, order.offsets, order.sizes
        starts, stops = self._offsets, self._offsets + OBJECT.size + self._sizes
        edges = np.append(starts, file.layout.index_start)
        reach = np.maximum.accumulate(np.append(file.layout.objects_start, stops))
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
        keys = iter(self._file.slots_at(slots)["key"])
        return [
            self._object(int(number), next(keys).tobytes().hex()) if number >= 0 else self._gap(first + at)
            for at, number in enumerate(live.tolist())
        ]

    def _object(self, number: int, key: str) -> Node:
        slot, size = int(self._slots[number]), int(self._sizes[number])
        length = OBJECT.span("size", int(self._offsets[number]))
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
        """Return the nodes of length and content. The length is from the index if its field is not loaded yet."""
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
        if not self.deleted:
            section = Section("no slot", SectionRole.UNKNOWN, start, stop, "No slot points to these bytes.")
            return section_leaf(section, FieldRole.UNUSED)
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
        both_roles = np.stack([roles, np.full(len(roles), FieldRole.DATA)], axis=1)
        return Runs.of(np.stack([starts, edge], 1), np.stack([edge, stops], 1), both_roles, np.repeat(parity, 2))
