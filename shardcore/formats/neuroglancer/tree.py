"""The nodes of a shard: what every byte is. Built from the index levels; rows become nodes when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import (
    MANIFEST_HEAD,
    MINISHARD_INDEX,
    SHARD_INDEX_ENTRY,
    manifest_arrays,
    read_manifest,
)
from shardcore.formats.neuroglancer.meshes import Meshes, decode_manifest
from shardcore.formats.neuroglancer.minishard import entries_of
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.formats.neuroglancer.table import Index
from shardcore.formats.neuroglancer.table import Table as EntryTable
from shardcore.formats.neuroglancer.things import SHARD_INDEX, WORD, Thing, Things, paint, things_of
from shardcore.formats.neuroglancer.volume import box_of, cell_of
from shardcore.nodes.children import Deferred, Extents, Table, field_nodes, grouped
from shardcore.nodes.node import Children, Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.record import FieldRole
from shardcore.sources.base import Source
from shardcore.span import Span, decoded_name


class Tree:
    """Makes the nodes of one shard.

    Args:
        name: What the root is called.
        source: The shard.
        index: Its index levels.
        origin: Its key space and how that became known.
    """

    def __init__(self, name: str, source: Source, index: Index, origin: Origin) -> None:
        self.name = name
        self.source = source
        self.index = index
        self.origin = origin
        self.spec = origin.spec
        self.mesh = origin.space.kind is SpaceKind.MESH

    def root(self, sections: Sequence[Section], table: EntryTable | None, meshes: Meshes | None) -> Node:
        """The root: the specification, then one node for each section."""
        size = self.source.size
        things = things_of(table, meshes, self.index.base, size) if table is not None else self._known_indices()
        kids = [spec_node(self.origin)]
        for section in sections:
            kids.append(self._section(section, things, table, meshes))
        return Node(self.name, Span("", 0, size), text=self.origin.space.name, children=tuple(kids))

    def _known_indices(self) -> Things:
        """The minishard indices alone, as far as the shard index is in memory."""
        pairs = self.index.known_pairs()
        if pairs is None:
            pairs = np.zeros((0, 2), np.uint64)
        empty = EntryTable(pairs, entries_of([], [], self.index.base, self.source.size), {})
        return things_of(empty, None, self.index.base, self.source.size, gaps=False)

    def _section(self, section: Section, things: Things, table: EntryTable | None, meshes: Meshes | None) -> Node:
        span = Span("", section.start, section.stop)
        if section.name == SHARD_INDEX:
            return Node(section.name, span, doc=section.doc, children=grouped(self._shard_index()))
        if section.role is SectionRole.UNKNOWN:
            return Node(section.name, span, role=FieldRole.UNKNOWN, doc=section.doc)
        part = things.between(section.start, section.stop)
        describe = _Describer(self, part, table)
        plain = self.spec.minishard_index_encoding != "gzip"

        def runs(first: int, last: int) -> Runs:
            return paint(part, first, last, plain=plain)

        # Manifests have fields of their own: mesh shards are painted node by node.
        kids = grouped(Extents(part.starts, part.stops, describe, paint=None if self.mesh else runs))
        role = FieldRole.GROUP if table is None else FieldRole.DATA
        return Node(section.name, span, role=role, doc=section.doc, children=kids)

    def _shard_index(self) -> Table:
        return Table(
            SHARD_INDEX_ENTRY,
            0,
            self.spec.minishards,
            self.index.rows,
            describe=self._pair_node,
            paint=_pair_roles,
        )

    def _pair_node(self, number: int, row: Any) -> Node:
        start, end = int(row["start_offset"]), int(row["end_offset"])
        at = number * SHARD_INDEX_ENTRY.size
        base, size = self.index.base, self.source.size
        error, target = "", None
        if start > end:
            error = "the end lies before the start"
        elif start == end:
            pass
        elif base + end > size:
            error = f"the index would end at {base + end}, the file ends at {size}"
        else:
            target = Span("", base + start, base + end)
        text = "empty" if start == end else str(target) if target else ""
        roles = _pair_roles(np.array([row], SHARD_INDEX_ENTRY.dtype))[0]
        fields = field_nodes(SHARD_INDEX_ENTRY, row, at, roles=roles.tolist())
        span = Span("", at, at + SHARD_INDEX_ENTRY.size)
        return Node(f"minishard {number}", span, text=text, error=error, children=fields, target=target)

    def index_node(self, number: int, start: int, stop: int, table: EntryTable | None) -> Node:
        """The node of one minishard index."""
        span = Span("", start, stop)
        error = table.damage[number].message if table is not None and number in table.damage else ""
        doc = "Keys, places and sizes of the values of this minishard."
        name = f"minishard index {number}"
        if self.spec.minishard_index_encoding == "gzip":
            decoded = "" if error else decoded_name(start, stop)
            return Node(name, span, text="gzip", role=FieldRole.OFFSET, doc=doc, error=error, decoded=decoded)
        count = (stop - start) // MINISHARD_INDEX.row_size
        if (stop - start) % MINISHARD_INDEX.row_size:
            return Node(name, span, role=FieldRole.UNKNOWN, doc=doc, error=error)
        kids = column_nodes(lambda: self.source.read(start, stop), "", start, count, self.index.base)
        return Node(name, span, text=f"{count} keys", doc=doc, error=error, children=kids)

    def value_node(self, row: int, start: int, stop: int, table: EntryTable) -> Node:
        """The node of one value."""
        key = int(table.entries.ids[row])
        span = Span("", start, stop)
        name = f"{self.origin.space.kind.object_kind} {key}"
        text, error = self.meaning(key)
        if self.spec.data_encoding == "gzip":
            decoded = decoded_name(start, stop)
            return Node(name, span, text=text or "gzip", role=FieldRole.DATA, error=error, decoded=decoded)
        if self.mesh:
            kids = Deferred(lambda: manifest_nodes(self.source.read(start, stop), "", start))
            return Node(name, span, text="manifest", role=FieldRole.DATA, children=kids)
        return Node(name, span, text=text or f"{stop - start} bytes", role=FieldRole.DATA, error=error)

    def fragments_node(self, row: int, start: int, stop: int, table: EntryTable) -> Node:
        """The node of the fragments in front of a manifest."""
        key = int(table.entries.ids[row])
        at, size = int(table.entries.starts[row]), int(table.entries.sizes[row])
        return Node(
            f"fragments of {key}",
            Span("", start, stop),
            text=f"{stop - start} bytes",
            role=FieldRole.DATA,
            doc="Draco meshes that no index lists: the manifest behind them tells their sizes.",
            children=Deferred(lambda: self._fragments(Span("", at, at + size), start)),
        )

    def _fragments(self, place: Span, start: int) -> list[Node]:
        stored = self.source.read(place.start, place.stop)
        manifest = read_manifest(decode_manifest(self.spec, stored, place), place)
        nodes = []
        for lod, (positions, sizes) in enumerate(zip(manifest.positions, manifest.sizes, strict=True)):
            for number, (size, cell) in enumerate(zip(sizes.tolist(), positions.T.tolist(), strict=True)):
                span = Span("", start, start + size)
                where = ", ".join(map(str, cell))
                name = f"lod {lod} fragment {number}"
                nodes.append(Node(name, span, text=f"cell {where}", role=FieldRole.DATA, doc="A Draco mesh."))
                start += size
        return nodes

    def meaning(self, key: int) -> tuple[str, str]:
        """What a key stands for in space, as text, and what is wrong with it."""
        try:
            cell = cell_of(self.origin.space, key)
        except FormatError as error:
            return "", error.message
        if cell is None:
            return "", ""
        scale = self.origin.space.scale
        where = f"cell {', '.join(map(str, cell))}"
        return (f"{where}: voxels {box_of(scale, cell)}" if scale is not None else where), ""


class _Describer:
    """Makes the nodes of things from their numbers."""

    def __init__(self, tree: Tree, things: Things, table: EntryTable | None) -> None:
        self._tree = tree
        self._things = things
        self._table = table

    def __call__(self, first: int, last: int) -> list[Node]:
        return [self._node(at) for at in range(first, last)]

    def _node(self, at: int) -> Node:
        things, tree = self._things, self._tree
        start, stop, number = int(things.starts[at]), int(things.stops[at]), int(things.numbers[at])
        kind = Thing(int(things.kinds[at]))
        if kind is Thing.INDEX or self._table is None:
            return tree.index_node(number, start, stop, self._table)
        if kind is Thing.VALUE:
            return tree.value_node(number, start, stop, self._table)
        if kind is Thing.FRAGMENTS:
            return tree.fragments_node(number, start, stop, self._table)
        doc = "No index lists these bytes."
        return Node("unlisted bytes", Span("", start, stop), f"{stop - start} bytes", role=FieldRole.UNKNOWN, doc=doc)


def _pair_roles(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Offsets, or nothing where a minishard is empty; shape `(rows, 2)`."""
    empty = rows["start_offset"] == rows["end_offset"]
    roles = np.where(empty, FieldRole.UNUSED, FieldRole.OFFSET).astype(np.uint8)
    return np.repeat(roles[:, None], 2, axis=1)


class ColumnCells(Children):
    """The numbers of one column of a minishard index.

    Args:
        start: First byte of the column.
        role: What the numbers are for.
        values: Gives the stored numbers and their texts.
        rows: How many.
        source: Where they lie.
        doc: One sentence for each of them.
    """

    def __init__(
        self,
        start: int,
        role: FieldRole,
        values: Callable[[], tuple[Sequence[int], Sequence[str]]],
        rows: int,
        source: str,
        doc: str,
    ) -> None:
        self.start = start
        self.role = role
        self.values = values
        self.rows = rows
        self.source = source
        self.doc = doc

    def __len__(self) -> int:
        return self.rows

    def make(self, start: int, stop: int) -> list[Node]:
        """See `Children.make`."""
        stored, texts = self.values()
        return [
            Node(
                f"[{number}]",
                Span(self.source, self.start + WORD * number, self.start + WORD * (number + 1)),
                value=stored[number],
                text=texts[number],
                role=self.role,
                doc=self.doc,
            )
            for number in range(start, stop)
        ]

    def overlap(self, start: int, stop: int) -> range:
        """See `Children.overlap`."""
        first, last = max(start - self.start, 0) // WORD, -(-max(stop - self.start, 0) // WORD)
        return range(min(first, self.rows), min(last, self.rows))

    def runs(self, start: int, stop: int) -> Runs | None:
        """One run for each number."""
        inside = self.overlap(start, stop)
        numbers = np.arange(inside.start, inside.stop, dtype=np.int64)
        at = self.start + WORD * numbers
        return Runs.of(at, at + WORD, self.role, numbers & 1).clip(start, stop)


def column_nodes(read: Callable[[], bytes], source: str, start: int, count: int, base: int) -> tuple[Node, ...]:
    """The three columns of a decoded minishard index; the numbers are shown summed up, as a reader uses them.

    Args:
        read: Gives the decoded index.
        source: Which source its bytes lie in.
        start: Where in that source.
        count: Number of keys.
        base: Bytes of the shard index.
    """

    def texts(column: str) -> tuple[list[int], list[str]]:
        data = read()
        entries = entries_of([data], [0], base, 0)
        stored: list[int] = MINISHARD_INDEX.read(data, count)[column].tolist()
        shown = {"chunk_ids": ("key", entries.ids), "offsets": ("at", entries.starts), "sizes": ("", entries.sizes)}
        word, numbers = shown[column]
        return stored, [f"{word} {number}".strip() for number in numbers.tolist()]

    nodes = []
    for field, at in zip(MINISHARD_INDEX.fields, MINISHARD_INDEX.starts(count).values(), strict=True):
        span = Span(source, start + at, start + at + WORD * count)

        def values(column: str = field.name) -> tuple[list[int], list[str]]:
            return texts(column)

        cells = ColumnCells(start + at, field.role, values, count, source, field.doc)
        text = f"{count} numbers"
        nodes.append(Node(field.name, span, text=text, role=field.role, doc=field.doc, children=grouped(cells)))
    return tuple(nodes)


def manifest_nodes(data: bytes, source: str, start: int) -> list[Node]:
    """The fields of a mesh manifest; a damaged one is one node with the error."""
    place = Span(source, start, start + len(data))
    try:
        arrays = manifest_arrays(data, place)
    except (FormatError, LimitExceeded) as error:
        return [Node("manifest", place, role=FieldRole.DATA, error=error.message)]
    nodes = list(field_nodes(MANIFEST_HEAD, MANIFEST_HEAD.read(data)[0], start, source))
    for array in arrays:
        shown = ", ".join(f"{number:g}" for number in array.values[:12].tolist())
        text = shown + (", …" if len(array.values) > 12 else "")
        span = Span(source, start + array.start, start + array.stop)
        nodes.append(Node(array.name, span, text=text, role=array.role, doc=array.doc))
    return nodes


def spec_node(origin: Origin) -> Node:
    """The sharding specification and where it comes from; its bytes lie in the info, if anywhere."""
    place = origin.place or Span("", 0, 0)
    nothing = Span(place.source, place.start, place.start)
    kids = [
        Node(name, nothing, value=value, text=str(value), role=FieldRole.NUMBER, doc=_SPEC_DOCS[name])
        for name, value in origin.spec.to_json().items()
    ]
    if origin.inference is not None:
        lines = [("evidence", line) for line in origin.inference.evidence()]
        best = origin.inference.best
        lines += [("open", line) for line in (best.ambiguity() if best is not None else ())]
        kids += [Node(name, nothing, text=line, role=FieldRole.TEXT) for name, line in lines]
    doc = "How a key becomes the number of a shard and a minishard."
    return Node("sharding specification", place, text=origin.why, role=FieldRole.TEXT, doc=doc, children=tuple(kids))


_SPEC_DOCS = {
    "@type": "The name of the sharded format; its older split form has the same.",
    "preshift_bits": "Low bits of a key that do not take part in the hash.",
    "hash": "What is done with the shifted key: nothing, or MurmurHash3_x86_128.",
    "minishard_bits": "The lowest bits of the hash: the number of the minishard.",
    "shard_bits": "The next bits of the hash: the number of the shard, and so the name of its file.",
    "minishard_index_encoding": "Whether minishard indices are gzip members.",
    "data_encoding": "Whether values are gzip members; fragments of meshes never are.",
}
