"""Node tree of a shard, built from the index levels; rows become nodes on access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardcore.errors import FormatError, LimitExceeded, UsageError
from shardcore.formats.neuroglancer.byte_regions import (
    REGION_SECTIONS,
    SHARD_INDEX,
    WORD,
    RegionKind,
    Regions,
    paint,
    regions_of,
)
from shardcore.formats.neuroglancer.chunks import box_of, cell_of
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.find_spec import INFO_NAME, Origin
from shardcore.formats.neuroglancer.index_levels import MinishardTable
from shardcore.formats.neuroglancer.layout import (
    MANIFEST_HEAD,
    MINISHARD_INDEX,
    entry_count,
    is_whole,
    manifest_arrays,
    read_manifest,
)
from shardcore.formats.neuroglancer.meshes import Meshes, decode_manifest
from shardcore.formats.neuroglancer.minishard import MinishardEntries, entries_of
from shardcore.formats.neuroglancer.minishard_damage import MinishardDamage
from shardcore.model.computed_children import Deferred, Extents, field_nodes, grouped, section_nodes
from shardcore.model.node import Children, Node
from shardcore.model.number_text import number_text, plural
from shardcore.model.record import FieldRole
from shardcore.model.role_runs import Runs
from shardcore.model.safe_text import short
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName, decoded_name
from shardcore.model.span import Span
from shardcore.shards.cache import Once, OnceEach
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource


class ColumnCells(Children):
    """Cells of one column of a minishard index.

    `values` returns the stored numbers `[first, last)` and their texts; `first_row` is the row of the first object.
    """

    def __init__(
        self,
        start: int,
        role: FieldRole,
        values: Callable[[int, int], tuple[Sequence[int], Sequence[str]]],
        rows: int,
        source: str,
        doc: str,
        first_row: int | None = None,
    ) -> None:
        self.start = start
        self.role = role
        self.values = values
        self.rows = rows
        self.source = source
        self.doc = doc
        self.first_row = first_row

    def __len__(self) -> int:
        return self.rows

    def make(self, start: int, stop: int) -> list[Node]:
        stored, texts = self.values(start, stop)
        return [
            Node(
                f"[{number}]",
                self.span_of(number),
                value=stored[number - start],
                text=texts[number - start],
                role=self.role,
                doc=self.doc,
                row=None if self.first_row is None else self.first_row + number,
            )
            for number in range(start, stop)
        ]

    def span_of(self, number: int) -> Span:
        return Span(self.source, self.start + WORD * number, self.start + WORD * (number + 1))

    def overlap(self, start: int, stop: int) -> range:
        first, last = max(start - self.start, 0) // WORD, -(-max(stop - self.start, 0) // WORD)
        return range(min(first, self.rows), min(last, self.rows))

    def runs(self, start: int, stop: int) -> Runs | None:
        inside = self.overlap(start, stop)
        numbers = np.arange(inside.start, inside.stop, dtype=np.int64)
        at = self.start + WORD * numbers
        return Runs.of(at, at + WORD, self.role, numbers & 1).clip(start, stop)


def column_nodes(
    read: Callable[[], bytes], source: str, start: int, count: int, base: int, first_row: int | None
) -> tuple[Node, ...]:
    """Return the three columns of a decoded minishard index; texts show the running sums that readers use."""
    # Summed up once, because each group of rows requests its first and last number.
    summed: Once[MinishardEntries] = Once()

    def texts(column: str, first: int, last: int) -> tuple[list[int], list[str]]:
        data = read()
        entries = summed.get(lambda: entries_of([data], [0], base, 0))
        stored: list[int] = MINISHARD_INDEX.read(data, count)[column][first:last].tolist()
        shown = {"chunk_ids": ("key {}", entries.ids), "offsets": ("at {:#x}", entries.starts)}
        form, numbers = shown.get(column, ("{}", entries.sizes))
        return stored, [form.format(number) for number in numbers[first:last].tolist()]

    nodes = []
    for field, at in zip(MINISHARD_INDEX.fields, MINISHARD_INDEX.starts(count).values(), strict=True):
        span = Span(source, start + at, start + at + WORD * count)

        def values(first: int, last: int, column: str = field.name) -> tuple[list[int], list[str]]:
            return texts(column, first, last)

        cells = ColumnCells(start + at, field.role, values, count, source, field.doc, first_row)
        text = plural(count, "number")
        nodes.append(
            Node(
                field.name,
                span,
                text=text,
                role=field.role,
                doc=field.doc,
                children=grouped(cells),
                spec=MINISHARD_INDEX.source,
                differs=field.differs,
            )
        )
    return tuple(nodes)


class NeuroglancerTree:
    def __init__(self, file: NeuroglancerFile) -> None:
        self._file = file
        self._roots: OnceEach[tuple[bool, bool], Node] = OnceEach()

    def root(self) -> Node:
        """Return the root; values and indices appear once they are loaded."""
        table, meshes = self._file.levels.known_table, self._file.known_meshes
        return self._roots.get((table is not None, meshes is not None), lambda: self._root(table, meshes))

    def part(self, name: SourceName) -> SourcePart:
        if name == SourceName(INFO_NAME) and self._file.origin.text:
            return info_part(self._file.origin)
        if name.path or len(name.stretches) != 1:
            raise UsageError(f"unknown source {short(str(name))}")
        start, stop = name.stretches[0]
        data = self._file.decoded(start, stop)
        source, span = BytesSource(data, str(name)), Span(str(name), 0, len(data))
        if self._file.levels.lists(start, stop):
            return self._index_part(source, span, self._file.levels.lister(start, stop))
        section = Section("value", SectionRole.DATA, 0, len(data), "The value of a key, decompressed.")
        row = self._file.row_at(start, stop)
        root = Node(span.source, span, children=self._value_nodes(data, span), row=row)
        return SourcePart(source, (section,), lambda: root)

    def _index_part(self, source: BytesSource, span: Span, number: int | None) -> SourcePart:
        count = entry_count(span.size)
        starts = [*MINISHARD_INDEX.starts(count).values(), span.size]
        sections = tuple(
            Section(field.name, SectionRole.INDEX, first, last, field.doc)
            for field, first, last in zip(MINISHARD_INDEX.fields, starts, starts[1:], strict=False)
        )
        row = self._first_row(number, self._file.levels.known_table)
        kids = column_nodes(lambda: source.read(0, span.size), span.source, 0, count, self._file.base, row)
        return SourcePart(source, sections, lambda: Node(span.source, span, children=kids))

    def _value_nodes(self, data: bytes, span: Span) -> tuple[Node, ...]:
        if self._file.is_mesh:
            return tuple(manifest_nodes(data, span.source, 0))
        return (Node("value", span, text=plural(span.size, "byte"), role=FieldRole.DATA),)

    @staticmethod
    def _first_row(minishard: int | None, table: MinishardTable | None) -> int | None:
        """Return the row of the first entry of a minishard; None if it is damaged or not all indices are loaded."""
        if minishard is None or table is None or minishard in table.damage:
            return None
        return table.rows_of(minishard).start

    def _root(self, table: MinishardTable | None, meshes: Meshes | None) -> Node:
        size = self._file.source.size
        if table is not None:
            regions = regions_of(table, meshes, self._file.base, size)
        else:
            regions = self._known_indices()
        makers: dict[str, Callable[[Section], Node]] = {SHARD_INDEX: self._shard_index}
        makers |= dict.fromkeys(REGION_SECTIONS, lambda section: self._regions(section, regions, table))
        kids = (spec_node(self._file.origin), *section_nodes(self._file.sections, makers))
        name = self._file.source.name
        return Node(
            name,
            Span("", 0, size),
            text=f"Neuroglancer precomputed shard, {self._file.origin.space.name}",
            children=kids,
        )

    def _known_indices(self) -> Regions:
        pairs = self._file.levels.known_pairs()
        if pairs is None:
            pairs = np.zeros((0, 2), np.uint64)
        size = self._file.source.size
        none = MinishardDamage(pairs[:0], self._file.base, size)
        empty = MinishardTable(pairs, entries_of([], [], self._file.base, size), none)
        return regions_of(empty, None, self._file.base, size, unlisted=False)

    def _regions(self, section: Section, regions: Regions, table: MinishardTable | None) -> Node:
        span = Span("", section.start, section.stop)
        part = regions.between(section.start, section.stop)
        describe = _Describer(self, part, table)
        plain = self._file.spec.minishard_index_encoding != "gzip"

        def runs(first: int, last: int) -> Runs:
            return paint(part, first, last, plain=plain)

        # Manifests have fields, so the colours of mesh shards are computed node by node.
        kids = grouped(Extents(part.starts, part.stops, describe, paint=None if self._file.is_mesh else runs))
        role = FieldRole.GROUP if table is None else FieldRole.DATA
        return Node(section.name, span, role=role, doc=section.doc, children=kids)

    def _shard_index(self, section: Section) -> Node:
        span = Span("", section.start, section.stop)
        return Node(section.name, span, doc=section.doc, children=grouped(self._file.levels.shard_index))

    def index_node(self, number: int, start: int, stop: int, table: MinishardTable | None) -> Node:
        span = Span("", start, stop)
        error = table.damage[number].message if table is not None and number in table.damage else ""
        doc = "Keys, offsets and sizes of the values of this minishard."
        name = f"minishard index {number}"
        if self._file.spec.minishard_index_encoding == "gzip":
            decoded = "" if error else decoded_name(start, stop)
            return Node(name, span, text="gzip", role=FieldRole.OFFSET, doc=doc, error=error, decoded=decoded)
        if not is_whole(np.array([stop - start]))[0]:
            return Node(name, span, role=FieldRole.UNKNOWN, doc=doc, error=error)
        count, row = entry_count(stop - start), self._first_row(number, table)
        kids = column_nodes(lambda: self._file.source.read(start, stop), "", start, count, self._file.base, row)
        return Node(name, span, text=plural(count, "key"), doc=doc, error=error, children=kids)

    def value_node(self, row: int, start: int, stop: int, table: MinishardTable) -> Node:
        key = int(table.entries.ids[row])
        span = Span("", start, stop)
        name = f"{self._file.origin.space.kind.object_kind} {key}"
        text, error = self.meaning(key)
        if self._file.spec.data_encoding == "gzip":
            decoded = decoded_name(start, stop)
            return Node(name, span, text=text or "gzip", role=FieldRole.DATA, error=error, decoded=decoded, row=row)
        if self._file.is_mesh:
            kids = Deferred(lambda: manifest_nodes(self._file.source.read(start, stop), "", start))
            return Node(name, span, text="manifest", role=FieldRole.DATA, children=kids, row=row)
        return Node(name, span, text=text or plural(stop - start, "byte"), role=FieldRole.DATA, error=error, row=row)

    def fragments_node(self, row: int, start: int, stop: int, table: MinishardTable) -> Node:
        key = int(table.entries.ids[row])
        at, size = int(table.entries.starts[row]), int(table.entries.sizes[row])
        return Node(
            f"fragments of {key}",
            Span("", start, stop),
            text=plural(stop - start, "byte"),
            role=FieldRole.DATA,
            doc="Draco meshes; the manifest after them has their sizes, and no index lists them.",
            children=Deferred(lambda: self._fragments(Span("", at, at + size), start)),
            row=row,
        )

    def _fragments(self, place: Span, start: int) -> list[Node]:
        stored = self._file.source.read(place.start, place.stop)
        manifest = read_manifest(decode_manifest(self._file.spec, stored, place), place)
        nodes = []
        for lod, (positions, sizes) in enumerate(zip(manifest.positions, manifest.sizes, strict=True)):
            for number, (size, cell) in enumerate(zip(sizes.tolist(), positions.T.tolist(), strict=True)):
                span = Span("", start, start + size)
                where = ", ".join(map(str, cell))
                name = f"lod {lod} fragment {number}"
                nodes.append(
                    Node(
                        name,
                        span,
                        text=f"cell {where}",
                        role=FieldRole.DATA,
                        doc="A Draco mesh, one cell of one level of detail.",
                    )
                )
                start += size
        return nodes

    def meaning(self, key: int) -> tuple[str, str]:
        try:
            cell = cell_of(self._file.origin.space, key)
        except FormatError as error:
            return "", error.message
        if cell is None:
            return "", ""
        scale = self._file.origin.space.scale
        where = f"cell {', '.join(map(str, cell))}"
        return (f"{where}: voxels {box_of(scale, cell)}" if scale is not None else where), ""


class _Describer:
    def __init__(self, tree: NeuroglancerTree, regions: Regions, table: MinishardTable | None) -> None:
        self._tree = tree
        self._regions = regions
        self._table = table

    def __call__(self, first: int, last: int) -> list[Node]:
        return [self._node(at) for at in range(first, last)]

    def _node(self, at: int) -> Node:
        regions, tree = self._regions, self._tree
        start, stop, number = int(regions.starts[at]), int(regions.stops[at]), int(regions.numbers[at])
        kind = RegionKind(int(regions.kinds[at]))
        if kind is RegionKind.INDEX or self._table is None:
            return tree.index_node(number, start, stop, self._table)
        if kind is RegionKind.VALUE:
            return tree.value_node(number, start, stop, self._table)
        if kind is RegionKind.FRAGMENTS:
            return tree.fragments_node(number, start, stop, self._table)
        span, doc = Span("", start, stop), "No minishard index lists these bytes, so no lookup reads them."
        return Node("unlisted bytes", span, text=plural(span.size, "byte"), role=FieldRole.UNKNOWN, doc=doc)


def manifest_nodes(data: bytes, source: str, start: int) -> list[Node]:
    place = Span(source, start, start + len(data))
    try:
        arrays = manifest_arrays(data, place)
    except (FormatError, LimitExceeded) as error:
        return [Node("manifest", place, role=FieldRole.DATA, error=error.message)]
    nodes = list(field_nodes(MANIFEST_HEAD, MANIFEST_HEAD.read(data)[0], start, source))
    for array in arrays:
        shown = ", ".join(map(number_text, array.values[:12]))
        text = shown + (", …" if len(array.values) > 12 else "")
        span = Span(source, start + array.start, start + array.stop)
        nodes.append(Node(array.name, span, text=text, role=array.role, doc=array.doc))
    return nodes


def info_part(origin: Origin) -> SourcePart:
    span = Span(INFO_NAME, 0, len(origin.text))
    section = Section(INFO_NAME, SectionRole.METADATA, 0, span.size, "The description of the data set, JSON.")
    root = Node(INFO_NAME, span, role=FieldRole.TEXT, children=(spec_node(origin),))
    return SourcePart(BytesSource(origin.text, INFO_NAME), (section,), lambda: root)


def _power(name: str, value: object) -> str:
    nouns = {"minishard_bits": "minishard", "shard_bits": "shard"}
    if name not in nouns or not isinstance(value, int):
        return ""
    return f"2^{value} = {plural(1 << value, nouns[name])}"


def spec_node(origin: Origin) -> Node:
    place = origin.place or Span("", 0, 0)
    nothing = Span(place.source, place.start, place.start)
    kids = [
        Node(
            name,
            nothing,
            value=value,
            text=str(value),
            role=FieldRole.NUMBER,
            doc=_SPEC_DOCS[name],
            sum=_power(name, value),
        )
        for name, value in origin.spec.to_json().items()
    ]
    if origin.inference is not None:
        lines = [("evidence", line) for line in origin.inference.evidence()]
        best = origin.inference.best
        lines += [("open", line) for line in (best.ambiguity() if best is not None else ())]
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
