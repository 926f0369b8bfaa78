"""NumPy `.npy` files: a header with type and shape, then the elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shardcore.codecs.array_headers import NPY_MAGIC, npy_layout
from shardcore.containers.container_shard import (
    ContainerFile,
    ContainerPart,
    ContainerShard,
    Fault,
    PartObjects,
    section_node,
)
from shardcore.errors import BadMagic, Truncated
from shardcore.model.computed_children import field_nodes
from shardcore.model.node import Node
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Arrays
from shardcore.sources.prefetched_source import PrefetchedSource

if TYPE_CHECKING:
    from shardcore.model.content_layout import ArrayLayout
    from shardcore.model.objects import ObjectRef

PAGE = "NEP 1, A Simple File Format for NumPy Arrays"
ALL = "all"
"""Key of the array, the only object."""

MOST_HEADER = 1 << 20

PREAMBLE = Record(
    "preamble",
    source=PAGE,
    fields=(
        Field("magic", ("u1", 6), FieldRole.MAGIC, "The byte 93 (hex) and the letters `NUMPY`.", NPY_MAGIC),
        Field("major", "u1", FieldRole.VERSION, "Version of the format: 1, 2 or 3."),
        Field("minor", "u1", FieldRole.VERSION, "Minor version: 0."),
    ),
)
LENGTH_1, LENGTH_2 = (
    Record(
        "length",
        source=PAGE,
        fields=(Field("header_len", kind, FieldRole.SIZE, "Size of the header text in bytes."),),
    )
    for kind in ("<u2", "<u4")
)


class NpyFile(ContainerFile):
    title = "NumPy array"
    kind = "array"

    def __init__(self, probe: PrefetchedSource, context: OpenContext) -> None:
        super().__init__(probe.base)
        head = probe.head(PREAMBLE.size + LENGTH_2.size)
        fields = PREAMBLE.read_one(head, place=Span("", 0, len(head)))
        if fields["magic"] != NPY_MAGIC:
            raise BadMagic("the file does not begin with the magic of .npy", span=Span("", 0, len(NPY_MAGIC)))
        context.draft.add(
            Section("preamble", SectionRole.HEADER, 0, PREAMBLE.size),
            Node("preamble", Span("", 0, PREAMBLE.size), children=field_nodes(PREAMBLE, fields, 0)),
            fields,
        )
        self.length = LENGTH_1 if fields["major"] == 1 else LENGTH_2
        size = self.length.read_one(head, PREAMBLE.size, place=Span("", 0, len(head)))["header_len"]
        self._text_start = PREAMBLE.size + self.length.size
        start = self._text_start + size
        place = Span("", PREAMBLE.size, self._text_start)
        if start > min(probe.size, MOST_HEADER):
            raise Truncated(f"the header has {size:,} bytes (file: {probe.size:,}, limit: {MOST_HEADER:,})", span=place)
        data = probe.head(start)
        self._text = data[self._text_start :]
        self.layout: ArrayLayout = npy_layout(data)
        self.version = f"{fields['major']}.{fields['minor']}"
        self.header = {**fields, "header_len": size, "header": self._text.decode("latin-1").strip()}
        stop = start + self.layout.nbytes
        end = min(stop, probe.size)
        if stop > probe.size:
            needed = f"the array has {plural(self.layout.nbytes, 'byte')}; only {probe.size - start:,} are in the file"
            self.faults.append(Fault("size", needed, Span("", start, probe.size)))
        elif stop < probe.size:
            self.faults.append(Fault("trailing", "trailing bytes", Span("", stop, probe.size), is_error=False))
        claims = [
            Section("header", SectionRole.HEADER, 0, start, "Type, order and shape of the array."),
            Section("elements", SectionRole.DATA, start, end, "The elements, one after the other."),
            Section("trailing", SectionRole.TRAILING, end, probe.size, "Bytes after the array."),
        ]
        self.sections, _ = tile([one for one in claims if one.stop > one.start or one.name != "trailing"], probe.size)
        error = needed if stop > probe.size else ""
        self._described = f"{self.layout.dtype.name} {list(self.layout.shape)}"
        self.part = ContainerPart(
            ALL,
            start,
            end,
            self.layout.nbytes,
            record=Span("", self._text_start, start),
            error=error,
            extras={"dtype": self.layout.dtype.str, "shape": list(self.layout.shape), "order": self.layout.order},
        )
        self.first_step = (
            "Preamble",
            f"Version {fields['major']}.{fields['minor']}: the header has {plural(size, 'byte')}.",
            Span("", 0, self._text_start),
            "The length of the header gives the start of the elements.",
        )

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {"header": self._header_node, "elements": self._elements_node}

    def _header_node(self, section: Section) -> Node:
        kids = (
            *field_nodes(PREAMBLE, self.header, 0),
            *field_nodes(self.length, self.header, PREAMBLE.size),
            Node(
                "header",
                Span("", self._text_start, section.stop),
                value=str(self.header["header"]),
                text=str(self.header["header"]),
                role=FieldRole.TEXT,
                doc="A Python dictionary with the type of the elements, the order of the axes and the shape.",
                row=0,
            ),
        )
        return section_node(section, text=self._described, children=kids)

    def _elements_node(self, section: Section) -> Node:
        text = f"{self._described}, {plural(section.size, 'byte')}"
        return section_node(section, text=text, role=FieldRole.DATA, row=0)


class NpyShard(ContainerShard, Arrays):
    file: NpyFile

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        from dataclasses import replace

        return replace(self.file.layout, start=0)

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        return {"": "elements.bin"}


def open_shard(probe: PrefetchedSource, context: OpenContext) -> NpyShard:
    file = NpyFile(probe, context)
    return NpyShard("npy", file, PartObjects([file.part], "array"), file.version)
