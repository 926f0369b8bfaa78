"""Drawings of any node of the tree: *Record* (fields and targets of offsets), *Number* (sum of its bytes), *Binary*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shardcore.errors import UsageError
from shardcore.model.drawing import MOST_ITEMS, SECTION, Cells, Control, Drawing, Item, Link, Ruler, Table, Tone, window
from shardcore.model.node import Children, Node, fields_of
from shardcore.model.record import FieldRole
from shardcore.model.span import Span
from shardcore.model.text import plural, visible
from shardcore.teaching import SceneSketch, item_of, switch, text_line
from shardcore.teaching.lessons.placeholders import LessonScene, NotHereError
from shardcore.teaching.step_drawing import ROLE_TONES, SECTION_TONES, cut, sections_near

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard

_ROWS = 13
_CELLS = 52
"""Maximum number of cells of a table."""
_FIELDS = 3
"""Maximum number of columns with fields in a table of records."""
_ARROWS = 6
_WORD = 8
_NONE = "–"
_SEARCHED = 20
_MOST_BYTES = 7
_BITS_IN_ROW = 16


def drawings_of_nodes(shard: Shard) -> tuple[RecordSketch, NumberSketch, BinarySketch]:
    scene = LessonScene(shard)
    return RecordSketch(scene), NumberSketch(scene), BinarySketch(scene)


class _NodeSketch(SceneSketch[LessonScene]):
    more: tuple[Control, ...] = ()

    @property
    def controls(self) -> tuple[Control, ...]:
        doc = "Path of a node in the structure: names from the root on, separated by `/`."
        return text_line("node", "Node", "", doc, "node"), *self.more

    def _node(self, path: str) -> tuple[Node, ...]:
        try:
            return self._scene.node(path) if path else (self._scene.shard.tree,)
        except NotHereError as error:
            raise UsageError(error.message) from error


class RecordSketch(_NodeSketch):
    """The fields of a record, or the rows of a table, above a ruler of the file. Arrows lead to targets of offsets."""

    name, title = "record", "Record"
    more = (switch("table", "Table", False, "Draw the table in which the record is a row."),)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        now = self.chosen(values)
        path = self._node(now["node"])
        above = next((at for at in range(len(path) - 1, 0, -1) if _is_table(path[at - 1])), 0) if now["table"] else 0
        inside = above or (len(path) - 1 if not path[-1].expandable else 0)
        record = path[inside - 1] if inside else path[-1]
        kids = self._scene.children(record)
        count = len(kids)
        row = _number_of(kids, path[inside]) if inside else 0
        of_rows = above or _is_table(record) or count > _CELLS // 3
        columns = 2 + min(len(_parts(kids[0])) or 1, _FIELDS) if count and of_rows else 3
        rows = window(count, row, min(_ROWS, _CELLS // columns) if of_rows else count)
        children = list(kids[rows.start : rows.stop])
        at = row - rows.start if above else -1
        if not of_rows:
            at = next((number for number, kid in enumerate(children) if kid is path[-1]), -1)
        table, starts = _table(record, children, at, of_rows=bool(of_rows))
        points = [(name, part.target) for name, part in starts.items() if part.target is not None][:_ARROWS]
        here = path[above].span if above else record.span
        ruler, ends = self._file(here, dict(points), MOST_ITEMS - len(table.items))
        doc = "Arrows lead to what an offset points to."
        links = tuple(Link(start, end, tone=Tone.POINTER, stage=1, doc=doc) for start, end in ends.items())
        return Drawing(_title(record), (table, *ruler), links, more=count - len(rows), legend=_HERE)

    def _file(self, here: Span, points: dict[str, Span], room: int) -> tuple[tuple[Ruler, ...], dict[str, str]]:
        """Return the ruler of the file (none without sections), and for the start item of each arrow the end item."""
        points = {name: target for name, target in points.items() if target.source == here.source}
        sections = sections_near(self._scene.shard.sections_of(here.source), [here, *points.values()])
        if not sections:
            return (), {}
        items, ends = [], {}
        for section, name in zip(sections, _distinct([one.name for one in sections]), strict=True):
            span, tone = Span(here.source, section.start, section.stop), SECTION_TONES.get(section.role, Tone.FAINT)
            ends[span.start] = f"{SECTION}{name}"
            items.append(item_of(section.name, span, tone, section.doc, ends[span.start]))
        if 0 < here.size < sections[-1].stop and all(item.spans != (here,) for item in items):
            items.append(item_of("", here, Tone.HIT, f"{here}.", "here", here=True))
        for target in points.values():
            if target.start not in ends and len(items) < room:
                ends[target.start] = f"target {target.start}"
                items.append(item_of("", target, Tone.POINTER, f"{target}.", ends[target.start]))
        stop = max(item.spans[0].stop for item in items)
        links = {name: ends[target.start] for name, target in points.items() if target.start in ends}
        return (Ruler("The file", 0, stop, tuple(items[:room]), "bytes"),), links


def _parts(node: Node) -> Sequence[Node]:
    return [] if isinstance(node.children, Children) else node.children


def _is_table(record: Node) -> bool:
    """Return True if the children have equal fields, as rows of a table do, unlike sections or fields of a record."""
    first = [[part.name for part in _parts(child)] for child in record.children[:2]]
    return first[:1] == first[-1:] != [[]] and (len(first) > 1 or isinstance(record.children, Children))


def _number_of(kids: Sequence[Node], row: Node) -> int:
    some = kids.overlap(row.span.start, row.span.stop) if isinstance(kids, Children) else range(len(kids))
    return next(number for number in some if kids[number].span == row.span)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return unique names of items: a name that occurs twice, as in a damaged file, gets its index in brackets."""
    return [name if names.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(names)]


def _table(record: Node, rows: Sequence[Node], here: int, *, of_rows: bool) -> tuple[Table, dict[str, Node]]:
    """Return the table, and by item name the nodes where arrows may start: all fields, or fields of the row `here`."""
    names = [part.name for part in _parts(rows[0])[:_FIELDS]] if of_rows and rows else []
    headings = ("byte", "name", *(names or ["value"]))
    lines: list[tuple[Item, ...]] = []
    starts: dict[str, Node] = {}
    for number, (row, name) in enumerate(zip(rows, _distinct([row.name for row in rows]), strict=True)):
        parts = ((_parts(row) if of_rows else ()) or (row,))[: len(headings) - 2]
        values = {f"{name}#{column}": part for column, part in enumerate(parts, 2)}
        line = [
            _item(row, f"{row.span.start:#x}", f"{name}#1"),
            _item(row, visible(row.name), name, here=number == here),
        ]
        line += [_item(part, _text(part), item, tone=_tone(part)) for item, part in values.items()]
        lines.append((*line, *[Item(_NONE)] * (len(headings) - len(line))))
        if number == here or not of_rows:
            starts |= {name: row, **values} if of_rows else values
    if of_rows:
        return Table(f"{visible(record.name)}: {plural(len(record.children), 'row')}", headings, tuple(lines)), starts
    if not record.span.size:
        # A data set has no offsets, because each of its files has its own bytes.
        return Table(_title(record), headings[1:], tuple(line[1:] for line in lines)), starts
    return Table(f"{_title(record)}, {plural(record.span.size, 'byte')}", headings, tuple(lines)), starts


def _title(record: Node) -> str:
    """Return the name of a node; for a data set, without its folder."""
    return visible(record.name if record.span.size else record.name.rpartition("/")[2])


def _text(part: Node) -> str:
    return cut(visible(part.text)) or plural(part.span.size, "byte")


def _tone(part: Node) -> Tone:
    return Tone.PLAIN if part.role is FieldRole.GROUP else ROLE_TONES.get(part.role, Tone.HEADER)


def _item(node: Node, text: str, name: str, *, tone: Tone = Tone.PLAIN, here: bool = False) -> Item:
    return Item(text, (node.span,) if node.span.size else (), tone=tone, doc=node.doc, name=name, here=here)


class NumberSketch(_NodeSketch):
    """The bytes of a number in file order, the same bytes with the highest first, and the sum that is the number."""

    name, title = "number", "Number"

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        path = self._node(self.chosen(values)["node"])
        node = _number_in(path)
        if node is None:
            return _nothing(path[-1], f"No number of at most {_WORD} bytes is here")
        raw = self._scene.shard.bytes_of(node.span.source).read(node.span.start, node.span.stop)
        big = node.type.endswith("BE")
        count = len(raw)
        order = range(count) if big else range(count - 1, -1, -1)
        spans = [Span(node.span.source, node.span.start + at, node.span.start + at + 1) for at in range(count)]
        stored = [Item(f"{raw[at]:02x}", (spans[at],), at, tone=Tone.POINTER, name=f"byte {at}") for at in range(count)]
        places = [
            Item(f"{raw[at]:02x}", (spans[at],), place, tone=Tone.SIZE, name=f"place {count - 1 - place}")
            for place, at in enumerate(order)
        ]
        offsets, name = tuple(str(span.start) for span in spans), visible(node.name)
        figures = (
            Cells(f"{name} in the file", count, tuple(stored), count, numbered=False, column_names=offsets),
            Cells("Highest byte first", count, tuple(places), count, numbered=False),
            _sum(raw if big else raw[::-1]),
        )
        links = tuple(Link(f"byte {at}", f"place {count - 1 - place}") for place, at in enumerate(order) if raw[at])
        return Drawing(name, figures, links, legend=_LEGEND)


def _sum(digits: bytes) -> Table:
    rows = []
    for power, byte in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if byte or not power:
            product = Item(f"{byte * 256**power:,}", stage=1, doc="Each byte counts for its place.")
            text = f"{byte} · {256**power:,}" if power else str(byte)
            rows.append((Item(f"hex {byte:02x} = {byte}"), Item(text), product))
    total = Item(f"{int.from_bytes(digits, 'big'):,}", tone=Tone.HIT, stage=2, doc="The number is their sum.")
    return Table("The number", ("byte", "at its place", "gives"), (*rows, (Item("sum"), Item("of all"), total)))


_HERE = MappingProxyType({Tone.HIT: "this record"})
_BITS = MappingProxyType({Tone.HEADER: "1", Tone.EMPTY: "0"})
_BIT_TONES = (Tone.EMPTY, Tone.HEADER)
_LEGEND = MappingProxyType({Tone.HIT: "the number", Tone.POINTER: "as stored", Tone.SIZE: "by weight"})


class BinarySketch(_NodeSketch):
    """The bits of the first `_MOST_BYTES` bytes of a node. Bit 0, at the right end, is the lowest of the first byte."""

    name, title = "binary", "Binary"

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        node = self._node(self.chosen(values)["node"])[-1]
        start = node.span.start
        if not node.span.size:
            return _nothing(node, "No bytes of a file are here")
        raw = self._scene.shard.bytes_of(node.span.source).read(start, min(node.span.stop, start + _MOST_BYTES))
        width, rows = 8 * len(raw), -(-len(raw) // 2)
        number, whole = int.from_bytes(raw, "little"), _BITS_IN_ROW * rows
        items = []
        for bit in range(width):
            digit, at = number >> bit & 1, start + bit // 8
            byte = (Span(node.span.source, at, at + 1),)
            doc = f"Bit {bit}: bit {bit % 8} of byte {bit // 8}."
            items.append(Item(str(digit), byte, whole - 1 - bit, tone=_BIT_TONES[digit], doc=doc, name=f"bit {bit}"))
        names = tuple(f"{low + _BITS_IN_ROW - 1} to {low}" for low in range(whole - _BITS_IN_ROW, -1, -_BITS_IN_ROW))
        title = f"{visible(node.name)}: bit 0, at the right end, is the lowest of the first byte"
        cells = Cells(title, whole, tuple(items), _BITS_IN_ROW, numbered=False, row_names=names)
        return Drawing(visible(node.name), (cells,), more=8 * (node.span.size - len(raw)), legend=_BITS)


def _nothing(node: Node, why: str) -> Drawing:
    return Drawing(visible(node.name), (Table(why, ("node",), ((Item(visible(node.name)),),)),))


def _number_in(path: Sequence[Node]) -> Node | None:
    """Return the node if it is a number of whole bytes, or the first such number among the fields in it."""
    node = path[-1]
    inside = (found[-1] for found in fields_of(node, node.span.start, node.span.stop, _SEARCHED))
    return next((one for one in (node, *inside) if _value_of(one) is not None), None)


def _value_of(node: Node) -> int | None:
    value = node.value if isinstance(node.value, int) else int(node.text) if node.text.isdecimal() else None
    return value if node.bits is None and 0 < node.span.size <= _WORD else None
