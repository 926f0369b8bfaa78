"""safetensors files: a length, a JSON header that lists the tensors, then their elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shardcore.codecs.array_headers import DTYPES, METADATA, MOST_HEADER, tensor_entry
from shardcore.codecs.json_text import JsonSpans, parse_json
from shardcore.containers.container_shard import (
    ContainerFile,
    ContainerPart,
    ContainerShard,
    Fault,
    PartObjects,
    listed_node,
    section_node,
)
from shardcore.errors import FormatError, Truncated
from shardcore.model.budget import charge_items
from shardcore.model.computed_children import field_nodes, grouped
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.node import Node
from shardcore.model.objects import ObjectRef, Objects, object_extents
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Arrays
from shardcore.sources.prefetched_source import PrefetchedSource

PAGE = "safetensors, Format"
LENGTH = Record(
    "length",
    source=PAGE,
    fields=(Field("header_size", "<u8", FieldRole.SIZE, "Size of the JSON header in bytes, including padding."),),
)


class SafetensorsFile(ContainerFile):
    title = "safetensors"
    list_title = "JSON header"
    kind = "tensor"

    def __init__(self, probe: PrefetchedSource, context: OpenContext) -> None:
        super().__init__(probe.base)
        head = probe.head(LENGTH.size)
        fields = LENGTH.read_one(head, place=Span("", 0, len(head)))
        length_span, size = Span("", 0, LENGTH.size), fields["header_size"]
        context.draft.add(
            Section("length", SectionRole.HEADER, 0, LENGTH.size),
            Node("length", length_span, children=field_nodes(LENGTH, fields, 0)),
            fields,
        )
        self.base = LENGTH.size + size
        if size > min(probe.size - LENGTH.size, MOST_HEADER):
            there = f"the file has {probe.size:,}, and the limit is {MOST_HEADER:,}"
            raise Truncated(f"the JSON header has {plural(size, 'byte')}; {there}", span=length_span)
        text = probe.read(LENGTH.size, self.base)
        self.header = dict(fields)
        self._entries = self._entries_of(text)
        self.metadata: dict[str, Any] = {}
        self.parts = [part for entry in self._entries if (part := self._part_of(*entry, probe.size)) is not None]
        claims = [
            Section("length", SectionRole.HEADER, 0, LENGTH.size, "Size of the JSON header."),
            Section("header", SectionRole.INDEX, LENGTH.size, self.base, "Type, shape and byte range of each tensor."),
            Section("tensors", SectionRole.DATA, self.base, probe.size, "The elements of the tensors."),
        ]
        self.sections, _ = tile(claims, probe.size)
        self._check_order(probe.size)
        self.objects: Objects = PartObjects(self.parts, self.kind)
        self.first_step = (
            "Length",
            f"The JSON header has {plural(size, 'byte')}.",
            length_span,
            "The length gives the end of the header, to which the offsets of tensors are relative.",
        )

    def _entries_of(self, text: bytes) -> list[tuple[str, Any, int, int]]:
        """Return the entries of the header: (name, value, start, stop); bytes `[start, stop)` of the file have both."""
        place, text = Span("", LENGTH.size, self.base), text.rstrip(b" ")
        if not isinstance(parse_json(text, "the header", span=place), dict):
            raise FormatError("the header is not a JSON object", span=place)
        spans, found = JsonSpans(text), list[tuple[str, Any, int, int]]()
        charge_items(spans.root.count)
        for one in spans.members(spans.root):
            value = parse_json(text[one.start : one.stop], "an entry of the header", span=place)
            found.append((one.key, value, LENGTH.size + one.key_start, LENGTH.size + one.stop))
        return found

    def _part_of(self, name: str, entry: Any, start: int, stop: int, size: int) -> ContainerPart | None:
        record = Span("", start, stop)
        if name == METADATA:
            self.metadata = entry if isinstance(entry, dict) else {}
            self.header |= {f"metadata.{key}": str(value) for key, value in list(self.metadata.items())[:64]}
            return None
        try:
            dtype, shape, first, last = tensor_entry(name, entry)
        except FormatError as fault:
            return ContainerPart(name, 0, 0, -1, record=record, error=fault.message)
        first, last = self.base + first, self.base + last
        error = f"{short(name)} is outside the file: it ends at {last:#x}" if last > size else ""
        extras = {"dtype": dtype, "shape": list(shape)}
        layout = layout_of(dtype, shape)
        if not error and layout is not None and layout.nbytes != last - first:
            error = f"{short(name)} has {plural(last - first, 'byte')}; its type and shape require {layout.nbytes:,}"
        if error:
            return ContainerPart(name, 0, 0, last - first, record=record, error=error, extras=extras)
        return ContainerPart(name, first, last, last - first, record=record, extras=extras)

    def _check_order(self, size: int) -> None:
        """Add faults for gaps and overlaps between tensors, which the specification forbids."""
        at = self.base
        for part in sorted((one for one in self.parts if not one.error), key=lambda one: (one.start, one.stop)):
            if part.start != at:
                what = "overlaps the tensor before it" if part.start < at else "begins after a gap"
                self.faults.append(Fault("order", f"{short(part.key)} {what}", part.record, is_error=part.start < at))
            at = max(at, part.stop)
        if at < size:
            span = Span("", at, size)
            self.faults.append(Fault("trailing", "trailing bytes after the last tensor", span, is_error=False))

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {
            "length": lambda section: section_node(section, children=field_nodes(LENGTH, self.header, 0)),
            "header": self._header_node,
            "tensors": self._tensors_node,
        }

    def _header_node(self, section: Section) -> Node:
        rows = {part.record.start: row for row, part in enumerate(self.parts) if part.record is not None}

        def node(number: int) -> Node:
            entry = self._entries[number]
            return self._entry_node(entry, rows.get(entry[2]))

        extents = [entry[2:] for entry in self._entries]
        return listed_node(section, plural(len(self.parts), "tensor"), FieldRole.TEXT, extents, node)

    def _entry_node(self, entry: tuple[str, Any, int, int], row: int | None) -> Node:
        name, value, start, stop = entry
        part = self.parts[row] if row is not None else None
        target = Span("", part.start, part.stop) if part is not None and not part.error else None
        described = short(value) if part is None else f"{part.extras.get('dtype', '')} {part.extras.get('shape', '')}"
        return Node(
            name or '""',
            Span("", start, stop),
            text=described,
            role=FieldRole.TEXT,
            doc="Type, shape and byte range of a tensor." if part is not None else "Text metadata of the writer.",
            error=part.error if part is not None else "",
            target=target,
            row=row,
        )

    def _tensors_node(self, section: Section) -> Node:
        kids = grouped(object_extents(self.objects, section))
        return section_node(section, role=FieldRole.PADDING, children=kids)


def layout_of(dtype: str, shape: Sequence[int]) -> ArrayLayout | None:
    """Return the layout of a tensor; None if NumPy does not support its type."""
    return ArrayLayout(np.dtype(DTYPES[dtype]), tuple(shape), "C") if dtype in DTYPES else None


class SafetensorsShard(ContainerShard, Arrays):
    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        return layout_of(str(ref.extras.get("dtype")), ref.extras.get("shape", []))


def open_shard(probe: PrefetchedSource, context: OpenContext) -> SafetensorsShard:
    file = SafetensorsFile(probe, context)
    return SafetensorsShard("safetensors", file, file.objects)
