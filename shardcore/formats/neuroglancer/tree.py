"""Node tree of a shard: shard index, minishard indices and values; nodes of rows are created on access."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, UsageError
from shardcore.formats.neuroglancer.file import REGION_SECTIONS, SHARD_INDEX, NeuroglancerFile, RegionKind, Regions
from shardcore.formats.neuroglancer.index import MinishardTable
from shardcore.formats.neuroglancer.layout import (
    ENTRY_SIZE,
    MANIFEST_HEAD,
    MINISHARD_INDEX,
    WORDS,
    MinishardEntries,
    entries_of,
    entry_count,
    manifest_arrays,
)
from shardcore.formats.neuroglancer.origin import INFO_NAME, Origin
from shardcore.model.computed_children import Deferred, Extents, RecordTable, field_nodes, grouped, section_nodes
from shardcore.model.node import Node, Runs
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span, decoded_name
from shardcore.model.text import number_text, plural, short
from shardcore.shards.cache import Once, OnceEach
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource

SHOWN_NUMBERS = 12


class NeuroglancerTree:
    def __init__(self, file: NeuroglancerFile) -> None:
        self._file = file
        self._roots: OnceEach[tuple[bool, bool], Node] = OnceEach()

    def root(self) -> Node:
        """Return the root node; values are in the tree once all minishard indices are loaded."""
        table, meshes = self._file.levels.known_table, self._file.known_meshes
        return self._roots.get((table is not None, meshes is not None), lambda: self._root(table))

    def part(self, name: SourceName) -> SourcePart:
        file = self._file
        if name == SourceName(INFO_NAME) and file.origin.text:
            return info_part(file.origin)
        if name.path or len(name.stretches) != 1:
            raise UsageError(f"unknown source {short(str(name))}")
        start, stop = name.stretches[0]
        data = file.decoded(start, stop)
        source, span = BytesSource(data, str(name)), Span(str(name), 0, len(data))
        if (number := file.levels.lister(start, stop)) is not None:
            columns = MINISHARD_INDEX.starts(entry_count(span.size))
            stops = [*columns.values(), span.size][1:]
            sections = tuple(
                Section(field.name, SectionRole.INDEX, columns[field.name], end, field.doc)
                for field, end in zip(MINISHARD_INDEX.fields, stops, strict=True)
            )
            kids = self._columns(lambda: data, span, number, file.levels.known_table)
            return SourcePart(source, sections, lambda: Node(span.source, span, children=kids))
        section = Section("value", SectionRole.DATA, 0, len(data), "The value of a key, decompressed.")
        value = Node("value", span, text=plural(span.size, "byte"), role=FieldRole.DATA)
        nodes = tuple(manifest_nodes(data, span.source, 0)) if file.is_mesh else (value,)
        root = Node(span.source, span, children=nodes, row=file.row_at(start, stop))
        return SourcePart(source, (section,), lambda: root)

    def _root(self, table: MinishardTable | None) -> Node:
        file = self._file
        regions, index = file.regions(), grouped(file.levels.shard_index)
        makers: dict[str, Callable[[Section], Node]] = {
            SHARD_INDEX: lambda one: Node(one.name, Span("", one.start, one.stop), doc=one.doc, children=index),
            **dict.fromkeys(REGION_SECTIONS, lambda section: self._section(section, regions, table)),
        }
        return Node(
            file.source.name,
            Span("", 0, file.source.size),
            text=f"Neuroglancer precomputed shard, {file.space.name}",
            children=(spec_node(file.origin), *section_nodes(file.sections, makers)),
        )

    def _section(self, section: Section, regions: Regions, table: MinishardTable | None) -> Node:
        part = regions.between(section.start, section.stop)
        plain = self._file.spec.minishard_index_encoding != "gzip"

        def nodes(first: int, last: int) -> list[Node]:
            return [self._region(part, at, table) for at in range(first, last)]

        # Manifests have fields, so the colours of mesh shards are computed node by node.
        runs = None if self._file.is_mesh else partial(paint, part, plain=plain)
        return Node(
            section.name,
            Span("", section.start, section.stop),
            role=FieldRole.GROUP if table is None else FieldRole.DATA,
            doc=section.doc,
            children=grouped(Extents(part.starts, part.stops, nodes, paint=runs)),
        )

    def _region(self, regions: Regions, at: int, table: MinishardTable | None) -> Node:
        span, number = Span("", int(regions.starts[at]), int(regions.stops[at])), int(regions.numbers[at])
        kind = RegionKind(int(regions.kinds[at]))
        if kind is RegionKind.INDEX or table is None:
            return self._index(number, span, table)
        if kind is RegionKind.VALUE:
            return self._value(number, span, int(table.entries.ids[number]))
        if kind is RegionKind.FRAGMENTS:
            return self._fragments(number, span, table.entries)
        doc = "No minishard index lists these bytes, so no lookup reads them."
        return Node("unlisted bytes", span, text=plural(span.size, "byte"), role=FieldRole.UNKNOWN, doc=doc)

    def _index(self, number: int, span: Span, table: MinishardTable | None) -> Node:
        error = table.damage[number].message if table is not None and number in table.damage else ""
        name, doc = f"minishard index {number}", "Keys, offsets and sizes of the values of this minishard."
        if self._file.spec.minishard_index_encoding == "gzip":
            decoded = "" if error else decoded_name(span.start, span.stop)
            return Node(name, span, text="gzip", role=FieldRole.OFFSET, doc=doc, error=error, decoded=decoded)
        if span.size % ENTRY_SIZE:
            return Node(name, span, role=FieldRole.UNKNOWN, doc=doc, error=error)
        kids = self._columns(lambda: self._file.source.read(span.start, span.stop), span, number, table)
        text = plural(span.size // ENTRY_SIZE, "key")
        return Node(name, span, text=text, doc=doc, error=error, children=kids)

    def _columns(
        self, read: Callable[[], bytes], span: Span, number: int, table: MinishardTable | None
    ) -> tuple[Node, ...]:
        """Return the columns of a decoded minishard index; their texts show the running sums that readers use."""
        count, base = entry_count(span.size), self._file.base
        first_row = None if table is None or number in table.damage else table.rows_of(number).start
        # Summed up once, because each group of rows requests its first and last number.
        summed: Once[MinishardEntries] = Once()

        def entries() -> MinishardEntries:
            return summed.get(lambda: entries_of([read()], [0], base, 0))

        shown: dict[str, Callable[[int], str]] = {
            "chunk_ids": lambda at: f"key {entries().ids[at]}",
            "offsets": lambda at: f"at {int(entries().starts[at]):#x}",
            "sizes": lambda at: str(entries().sizes[at]),
        }
        nodes = []
        for field, at in zip(MINISHARD_INDEX.fields, MINISHARD_INDEX.starts(count).values(), strict=True):
            start = span.start + at
            cells = _Column(field, start, count, read, shown[field.name], span.source, first_row)
            node = Node(
                field.name,
                Span(span.source, start, start + WORDS.itemsize * count),
                text=plural(count, "number"),
                role=field.role,
                doc=field.doc,
                children=grouped(cells),
                spec=MINISHARD_INDEX.source,
                differs=field.differs,
            )
            nodes.append(node)
        return tuple(nodes)

    def _value(self, row: int, span: Span, key: int) -> Node:
        name, text, error = f"{self._file.space.kind.object_kind} {key}", "", ""
        try:
            if (cell := self._file.space.cell_of(key)) is not None:
                scale = self._file.space.scale
                text = f"cell {', '.join(map(str, cell))}"
                text += f": voxels {scale.box_of(cell)}" if scale is not None else ""
        except FormatError as fault:
            error = fault.message
        if self._file.codec == "gzip":
            decoded = decoded_name(span.start, span.stop)
            return Node(name, span, text=text or "gzip", role=FieldRole.DATA, error=error, decoded=decoded, row=row)
        if self._file.is_mesh:
            read = self._file.source.read
            kids = Deferred(lambda: manifest_nodes(read(span.start, span.stop), "", span.start))
            return Node(name, span, text="manifest", role=FieldRole.DATA, children=kids, row=row)
        return Node(name, span, text=text or plural(span.size, "byte"), role=FieldRole.DATA, error=error, row=row)

    def _fragments(self, row: int, span: Span, entries: MinishardEntries) -> Node:
        at = int(entries.starts[row])
        place = Span("", at, at + int(entries.sizes[row]))

        def fragments() -> list[Node]:
            manifest, start, nodes = self._file.manifest(place), span.start, []
            for lod, (positions, sizes) in enumerate(zip(manifest.positions, manifest.sizes, strict=True)):
                for number, (size, cell) in enumerate(zip(sizes.tolist(), positions.T.tolist(), strict=True)):
                    name, text = f"lod {lod} fragment {number}", f"cell {', '.join(map(str, cell))}"
                    doc = "A Draco mesh, one cell of one level of detail."
                    nodes.append(Node(name, Span("", start, start + size), text=text, role=FieldRole.DATA, doc=doc))
                    start += size
            return nodes

        return Node(
            f"fragments of {entries.ids[row]}",
            span,
            text=plural(span.size, "byte"),
            role=FieldRole.DATA,
            doc="Draco meshes; the manifest after them has their sizes, and no index lists them.",
            children=Deferred(fragments),
            row=row,
        )


class _Column(RecordTable):
    """The numbers of one column of a minishard index; `first_row` is the row of its first key, None if unknown."""

    def __init__(
        self,
        field: Field,
        start: int,
        count: int,
        read: Callable[[], bytes],
        text: Callable[[int], str],
        source: str,
        first_row: int | None,
    ) -> None:
        self._field, self._text, self._first_row = field, text, first_row

        def cells(first: int, last: int) -> NDArray[Any]:
            return MINISHARD_INDEX.read(read(), count)[field.name][first:last]

        record = Record(field.name, source=MINISHARD_INDEX.source, fields=(field,))
        super().__init__(record, start, count, cells, source=source)

    def row_node(self, number: int, row: Any) -> Node:
        return Node(
            f"[{number}]",
            self.span_of(number),
            value=int(row),
            text=self._text(number),
            role=self._field.role,
            doc=self._field.doc,
            row=None if self._first_row is None else self._first_row + number,
        )


_KIND_ROLES = np.array([FieldRole.UNKNOWN, FieldRole.DATA, FieldRole.DATA, FieldRole.OFFSET], np.uint8)
_COLUMN_ROLES = np.array([field.role for field in MINISHARD_INDEX.fields], np.uint8)


def paint(regions: Regions, first: int, last: int, *, plain: bool) -> Runs:
    """Return the colour runs of the regions `[first, last)`, each cut at the next; `plain`: indices are not gzip."""
    part = slice(first, last)
    starts, lengths = regions.starts[part], (regions.stops - regions.starts)[part]
    bounds = np.append(regions.starts[first + 1 : last + 1], np.iinfo(np.int64).max)[: last - first]
    stops = np.minimum(regions.stops[part], bounds)
    listed = (regions.kinds[part] == RegionKind.INDEX) & plain
    whole = listed & (lengths % ENTRY_SIZE == 0)
    roles = np.where(listed, FieldRole.UNKNOWN, _KIND_ROLES[regions.kinds[part]]).astype(np.uint8)
    parity = np.arange(first, last) & 1
    runs = Runs.of(starts[~whole], stops[~whole], roles[~whole], parity[~whole])
    # The numbers of raw indices are painted one by one, by their columns.
    words = lengths[whole] // WORDS.itemsize
    inside = np.arange(int(words.sum()), dtype=np.int64) - np.repeat(np.cumsum(words) - words, words)
    counts = np.maximum(np.repeat(words // len(MINISHARD_INDEX.fields), words), 1)
    at = np.repeat(starts[whole], words) + WORDS.itemsize * inside
    ends = np.minimum(at + WORDS.itemsize, np.repeat(stops[whole], words))
    numbers = Runs.of(at, ends, _COLUMN_ROLES[inside // counts], (inside % counts) & 1)
    return Runs.join([runs, numbers]).sorted()


def manifest_nodes(data: bytes, source: str, start: int) -> list[Node]:
    place = Span(source, start, start + len(data))
    try:
        arrays = manifest_arrays(data, place)
    except (FormatError, LimitExceeded) as error:
        return [Node("manifest", place, role=FieldRole.DATA, error=error.message)]
    nodes = list(field_nodes(MANIFEST_HEAD, MANIFEST_HEAD.read(data)[0], start, source))
    for array in arrays:
        text = ", ".join(map(number_text, array.values[:SHOWN_NUMBERS]))
        text += ", …" if len(array.values) > SHOWN_NUMBERS else ""
        span = Span(source, start + array.start, start + array.stop)
        nodes.append(Node(array.name, span, text=text, role=array.role, doc=array.doc))
    return nodes


# --- the info ---------------------------------------------------------------------------------------------------


def info_part(origin: Origin) -> SourcePart:
    span = Span(INFO_NAME, 0, len(origin.text))
    section = Section(INFO_NAME, SectionRole.METADATA, 0, span.size, "The description of the data set, JSON.")
    root = Node(INFO_NAME, span, role=FieldRole.TEXT, children=(spec_node(origin),))
    return SourcePart(BytesSource(origin.text, INFO_NAME), (section,), lambda: root)


def spec_node(origin: Origin) -> Node:
    place = origin.place or Span("", 0, 0)
    nothing = Span(place.source, place.start, place.start)
    kids = []
    for name, value in origin.spec.to_json().items():
        noun = {"minishard_bits": "minishard", "shard_bits": "shard"}.get(name)
        power = f"2^{value} = {plural(1 << value, noun)}" if noun else ""
        doc = _SPEC_DOCS[name]
        kids.append(Node(name, nothing, value=value, text=str(value), role=FieldRole.NUMBER, doc=doc, sum=power))
    lines = [*(("evidence", line) for line in origin.evidence), *(("open", line) for line in origin.ambiguity)]
    kids += [Node(name, nothing, text=line, role=FieldRole.TEXT) for name, line in lines]
    doc = "Parameters that map a key to its shard and minishard."
    return Node("sharding specification", place, text=origin.why, role=FieldRole.TEXT, doc=doc, children=tuple(kids))


_SPEC_DOCS = {
    "@type": "Name of the sharded format, also used by its older split form.",
    "preshift_bits": "Number of low key bits dropped before hashing, so that neighbouring keys stay together.",
    "hash": "Hash function applied to the shifted key: identity or MurmurHash3_x86_128.",
    "minishard_bits": "Number of lowest bits of the hash that are the minishard number.",
    "shard_bits": "Number of next bits of the hash that are the shard number, and so the file name.",
    "minishard_index_encoding": "Encoding of minishard indices: raw or gzip.",
    "data_encoding": "Encoding of values: raw or gzip; fragments of meshes are always raw.",
}
