"""Item model of the node tree; jobs read the children of expanded nodes, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal

from shardcore import Node, SectionRole, Shard, ShardError
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.computed_children import GROUP_SIZE
from shardcore.model.details import sum_text
from shardcore.model.node import Children
from shardcore.model.text import bits_text, plural, shown, without_marks
from shardscope.session.byte_marks import section_at
from shardscope.session.display_text import (
    cut_end,
    grouped,
    grouped_value,
    node_name,
    offset_words,
    short_name,
    span_words,
)
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import LEFT, RIGHT, Index

MOST_VISITED = 4000
"""Maximum number of nodes examined for differences from the specification."""

FEW = 8
"""If there are more computed children than this, only the first is examined."""

MOST_DEEP = 12

PAGE = 128
"""Number of children loaded by one job."""

MAX_CHILDREN = 200_000
"""Maximum number of children shown; formats group long tables by 1,000."""

NODE_ROLE = int(Qt.ItemDataRole.UserRole)

_LONGEST_TIP = 400

COLUMNS = ("Name", "Type", "Value", "Offset", "Size")
VALUE, OFFSET = COLUMNS.index("Value"), COLUMNS.index("Offset")


_DISPLAY, _ALIGNMENT = Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.TextAlignmentRole
_TOOL_TIP, _SPOKEN = Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole
_ROLES = frozenset({_DISPLAY, _TOOL_TIP, _SPOKEN, NODE_ROLE})

Texts = tuple[str, str, str, str, str]


class ShownRow(NamedTuple):
    texts: Texts
    error: bool = False
    differs: bool = False
    section: SectionRole | None = None


NOT_LOADED = ShownRow(("…", "", "", "", ""))


T = TypeVar("T")


# --- reading nodes, in jobs ---


@dataclass(frozen=True)
class _Level:
    """One level of a path: the page of children that contains the next node of the path, and the row of that node."""

    count: int
    page: int
    nodes: Sequence[Node]
    sections: Sequence[SectionRole | None]
    row: int


def differing(root: Node) -> Node:
    """Return the tree with only fields that differ from the specification, and their parents; one row per table."""
    visited, reported = 0, set[tuple[str, str]]()

    def pruned(node: Node, depth: int) -> Node | None:
        nonlocal visited
        visited += 1
        if visited > MOST_VISITED or depth > MOST_DEEP:
            return None
        # The rows of a table have numbers for names.
        name = (node.spec, "" if node.name.startswith("[") else node.name)
        own = node.differs is not None and name not in reported
        if own:
            reported.add(name)
        children = node.children
        if isinstance(children, Children) and (count := len(children)):
            children = children.make(0, count if count <= FEW else 1)
        found = tuple(kid for child in children if (kid := pruned(child, depth + 1)) is not None)
        return replace(node, children=found, decoded="") if own or found else None

    return pruned(root, 0) or replace(root, children=())


def _children(shard: Shard, node: Node) -> Sequence[Node]:
    # The decoded content of a node comes first.
    return (shard.tree_of(node.decoded), *node.children) if node.decoded else node.children


def _level(shard: Shard, parent: Node, kids: Sequence[Node], page: int, row: int = -1) -> _Level:
    start, stop = page * PAGE, min((page + 1) * PAGE, len(kids))
    nodes = list(kids[start:stop]) if start < stop else []
    source = parent.span.source
    try:
        sections = shard.sections_of(source) if source or shard.source is not None else ()
    except ShardError:
        sections = ()
    roles: list[SectionRole | None] = []
    for node in nodes:
        section = section_at(sections, node.span.start) if sections and node.span.source == source else None
        roles.append(None if section is None else section.role)
    return _Level(min(len(kids), MAX_CHILDREN), page, nodes, roles, row)


def _levels(shard: Shard, path: tuple[Node, ...]) -> list[_Level] | None:
    """Return the page with each node of a path, as far as the tree contains the path; None if in another source."""
    if path[0].span.source != shard.tree.span.source:
        return None  # The path is in another file, such as a xorb beside its shard.
    levels: list[_Level] = []
    node = path[0]
    for wanted in path[1:]:
        kids = _children(shard, node)
        if (row := _row_of(kids, wanted)) is None:
            # Groups of a long table are not part of a path.
            break
        levels.append(_level(shard, node, kids, row // PAGE, row))
        node = levels[-1].nodes[row % PAGE]
    return levels


def _row_of(kids: Sequence[Node], wanted: Node) -> int | None:
    candidates = range(len(kids))
    if isinstance(kids, Children):
        # One byte more at both ends, to include empty nodes.
        candidates = kids.overlap(max(wanted.span.start - 1, 0), wanted.span.stop + 1)[:GROUP_SIZE]
    for row in candidates:
        kid = kids[row]
        if kid.name == wanted.name and kid.span == wanted.span:
            return row
    return None


# --- the model ---


@dataclass
class _Opened:
    """Expanded node with the loaded pages of its children; `parent` and `opened` are indices in `NodeModel._open`."""

    node: Node
    parent: int
    row: int
    count: int | None = None
    pages: dict[int, Sequence[Node]] = field(default_factory=dict)
    sections: dict[int, Sequence[SectionRole | None]] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    opened: dict[int, int] = field(default_factory=dict)
    shown: dict[int, ShownRow] = field(default_factory=dict)


def _first_entries(shard: Shard) -> list[_Opened]:
    root = shard.tree
    level = _level(shard, root, _children(shard, root), 0)
    top = _Opened(Node("", root.span), -1, 0, count=1, pages={0: [root]}, opened={0: 1})
    return [top, _Opened(root, 0, 0, count=level.count, pages={0: level.nodes}, sections={0: level.sections})]


def _all_entries(shard: Shard) -> list[_Opened]:
    root = differing(shard.tree)
    entries = [_Opened(Node("", root.span), -1, 0, count=1, pages={0: [root]})]

    def add(node: Node, parent: int, row: int) -> None:
        number, kids = len(entries), node.children
        entries[parent].opened[row] = number
        pages = {start // PAGE: kids[start : start + PAGE] for start in range(0, len(kids), PAGE)}
        entries.append(_Opened(node, parent, row, count=len(kids), pages=pages))
        for at, kid in enumerate(kids):
            add(kid, number, at)

    add(root, 0, 0)
    return entries


class NodeModel(QAbstractItemModel):
    """Tree of the open shard; the internal id of a model index is the index of its parent in `_open`."""

    revealed = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shard: Shard | None = None
        self._round = 0
        self._open: list[_Opened] = []
        self.only_differing = False
        session.notation_changed.connect(self._write_again)

    def _write_again(self) -> None:
        self.layoutAboutToBeChanged.emit()
        for entry in self._open:
            entry.shown.clear()
        self.layoutChanged.emit()

    # --- filling ---

    def show_differing(self, only: bool) -> None:
        if only != self.only_differing:
            self.only_differing = only
            self.load()

    def load(self) -> None:
        self.beginResetModel()
        self._shard = self._session.shard
        self._round += 1
        self._open = []
        self.endResetModel()

        def take(entries: list[_Opened]) -> None:
            self.beginResetModel()
            self._open = entries
            self.endResetModel()

        if self._shard is not None:
            read = _all_entries if self.only_differing else _first_entries
            self._ask(lambda shard, _: read(shard), take, key=("tree", self))

    def _ask(self, work: Callable[[Shard, Job], T], take: Callable[[T], None], *, key: object = None) -> None:
        """Run a job of the session; its result is dropped if the model was reloaded meanwhile."""
        current = self._round

        def taken(result: T) -> None:
            if current == self._round:
                take(result)

        self._session.ask(work, taken, failed="Cannot read the structure", key=key, priority=JobPriority.SCREEN)

    def _fetch(self, number: int, page: int) -> None:
        entry = self._open[number]
        if page in entry.asked or page in entry.pages:
            return
        entry.asked.add(page)
        node = entry.node
        self._ask(
            lambda shard, _: _level(shard, node, _children(shard, node), page), lambda level: self._take(number, level)
        )

    def _take(self, number: int, level: _Level) -> None:
        entry = self._open[number]
        entry.asked.discard(level.page)
        is_first = entry.count is None
        if is_first and level.count:
            index = QModelIndex() if entry.parent < 0 else self.createIndex(entry.row, 0, entry.parent)
            self.beginInsertRows(index, 0, level.count - 1)
        entry.count, entry.pages[level.page] = level.count, level.nodes
        entry.sections[level.page] = level.sections
        if is_first:
            if level.count:
                self.endInsertRows()
            return
        first = level.page * PAGE
        # Make the view check again which rows can be expanded.
        self.layoutAboutToBeChanged.emit()
        self.layoutChanged.emit()
        last = self.createIndex(first + len(level.nodes) - 1, len(COLUMNS) - 1, number)
        self.dataChanged.emit(self.createIndex(first, 0, number), last)

    def _entry(self, index: Index) -> int | None:
        if not index.isValid():
            return 0 if self._open else None
        return self._open[index.internalId()].opened.get(index.row())

    def _make_entry(self, index: Index) -> int | None:
        node = self.node(index)
        if node is None:
            return None
        parent, number = self._open[index.internalId()], len(self._open)
        self._open.append(_Opened(node, index.internalId(), index.row()))
        parent.opened[index.row()] = number
        return number

    # --- finding a path ---

    def reveal(self, path: tuple[Node, ...]) -> None:
        """Load all levels of a path in a job, then emit `revealed`."""
        if path and self._open and not self.only_differing:
            self._ask(lambda shard, _: _levels(shard, path), self._walk, key=("reveal", self))

    def _walk(self, levels: list[_Level] | None) -> None:
        index = self.index(0, 0) if levels is not None else QModelIndex()
        for level in levels or ():
            number = self._entry(index)
            number = self._make_entry(index) if number is None else number
            if number is None:
                break
            entry = self._open[number]
            if entry.count is None or level.page not in entry.pages:
                self._take(number, level)
            if level.row >= (entry.count or 0):
                break
            index = self.createIndex(level.row, 0, number)
        self.revealed.emit(index)

    def path(self, index: Index) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while index.isValid():
            if (node := self.node(index)) is not None:
                nodes.append(node)
            index = self.parent(index)
        return tuple(reversed(nodes))

    def node(self, index: Index) -> Node | None:
        """Return the node of an index; None until its page is loaded."""
        if not index.isValid():
            return None
        page = self._open[index.internalId()].pages.get(index.row() // PAGE)
        return page[index.row() % PAGE] if page is not None and index.row() % PAGE < len(page) else None

    def row(self, index: Index) -> ShownRow:
        """Return the texts and marks of a row; if its node is not loaded, load it in a job and return an ellipsis."""
        entry, row = self._open[index.internalId()], index.row()
        if (found := entry.shown.get(row)) is not None:
            return found
        node = self.node(index)
        if node is None:
            self._fetch(index.internalId(), row // PAGE)
            return NOT_LOADED
        page = entry.sections.get(row // PAGE, ())
        section = page[row % PAGE] if row % PAGE < len(page) else None
        kind = section.value if section is not None and entry.parent == 0 else ""
        found = ShownRow(self._texts(index, node, kind), bool(node.error), node.differs is not None, section)
        entry.shown[row] = found
        return found

    def depth(self, index: Index) -> int:
        found, number = 0, self._open[index.internalId()].parent
        while number >= 0:
            found, number = found + 1, self._open[number].parent
        return found

    def _texts(self, index: Index, node: Node, section: str) -> Texts:
        name, value = node_name(node) if index.internalId() else short_name(node.name), grouped_value(node)
        name, value = shown(name), shown(value)
        kind = node.type or ("bits" if node.bits is not None else "text" if isinstance(node.value, str) else "")
        if node.bits is not None:
            return name, kind, value, f"bit {node.bits[0]:,}", plural(node.bits[1] - node.bits[0], "bit")
        if not node.span.size and not node.span.source and self._shard is not None and self._shard.source is None:
            # Data sets and groups of their files have no bytes.
            return name, "", value, "", ""
        return name, kind or section, value, offset_words(node.span.start), f"{node.span.size:,}"

    # --- overrides ---

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        number = self._open[parent.internalId()].opened.get(parent.row()) if parent.isValid() else 0
        if not self._open or number is None or not 0 <= column < len(COLUMNS):
            return QModelIndex()
        return self.createIndex(row, column, number) if 0 <= row < (self._open[number].count or 0) else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        entry = self._open[index.internalId()] if index.isValid() else None
        return QModelIndex() if entry is None or entry.parent < 0 else self.createIndex(entry.row, 0, entry.parent)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if parent.isValid() and parent.column() > 0:
            return 0
        number = self._entry(parent)
        return 0 if number is None else self._open[number].count or 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(COLUMNS)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        if not parent.isValid():
            return bool(self._open)
        if parent.column() > 0:
            return False
        number = self._entry(parent)
        if number is not None and (count := self._open[number].count) is not None:
            return count > 0
        node = self.node(parent)
        return node is not None and (node.expandable or bool(node.decoded))

    def canFetchMore(self, parent: Index) -> bool:
        return parent.isValid() and self._entry(parent) is None and self.hasChildren(parent)

    def fetchMore(self, parent: Index) -> None:
        if (number := self._make_entry(parent)) is not None:
            self._fetch(number, 0)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> Any:
        if role == _DISPLAY and orientation is Qt.Orientation.Horizontal:
            return COLUMNS[section]
        return int(LEFT if section < OFFSET else RIGHT) if role == _ALIGNMENT else None

    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        if role not in _ROLES or not index.isValid():
            return None
        if role == _DISPLAY:
            return self.row(index).texts[index.column()]
        node = self.node(index)
        if role == NODE_ROLE or node is None:
            return node
        if role == _TOOL_TIP:
            return tip(_tip_of(node))
        differs = ", differs from the specification" if node.differs and not index.column() else ""
        return f"{self.row(index).texts[index.column()]}{', damaged' if node.error else ''}{differs}"


def _tip_of(node: Node) -> str:
    value, adds = grouped_value(node), sum_text(node)
    place = span_words(node.span)
    if node.bits is not None:
        place = f"{bits_text(*node.bits)} of {place}"
    lines = (
        cut_end(f"{node_name(node)}: {value}" if value else node_name(node), _LONGEST_TIP),
        grouped(without_marks(node.doc)),
        f"≠ {node.differs.sentence}" if node.differs is not None else "",
    )
    return "\n".join(text for text in (*lines, f"= {adds}" if adds else "", grouped(node.error), place) if text)
