"""JSON as a tree; each value is linked to its bytes."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QTreeView, QVBoxLayout, QWidget

from shardcore import JsonContent, ObjectRef, Shard
from shardcore.codecs.json_text import JsonSpans, JsonValue
from shardcore.dataclasses import dataclass, field
from shardcore.model.text import plural, shown
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, ItemLinks, Preview, single_bytes
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import Index

GROUP = 1000
"""Maximum number of items per level; more are grouped."""

_SHALLOW = 40
"""Maximum number of rows expanded at first."""

_COLOURS = {"string": "ok", "number": "note", "boolean": "accent", "null": "accent"}
_CONTAINERS = ("object", "array")


@dataclass(eq=False, slots=True)
class _Item:
    """Item of the tree: a JSON value, or a group of its members `[first, last)`."""

    parent: _Item | None
    row: int
    value: JsonValue
    key: str
    first: int
    last: int
    group: bool = False
    items: list[_Item] | None = field(default=None, repr=False)


class JsonTree(QAbstractItemModel):
    def __init__(self, view: QWidget) -> None:
        super().__init__(view)
        self._view = view
        self.show_json(JsonSpans(b"0"))

    def show_json(self, spans: JsonSpans) -> None:
        self.beginResetModel()
        self.spans = spans
        self._root = _Item(None, 0, spans.root, "", 0, spans.root.count)
        self.endResetModel()

    def _items(self, item: _Item) -> list[_Item]:
        if item.items is not None:
            return item.items
        value = item.value
        if item.last - item.first > GROUP:
            ends = [(at, min(at + GROUP, item.last)) for at in range(item.first, item.last, GROUP)]
            item.items = [
                _Item(item, row, value, f"{first:,} … {last - 1:,}", first, last, group=True)
                for row, (first, last) in enumerate(ends)
            ]
        else:
            item.items = [
                _Item(item, row, one, one.key if value.kind == "object" else str(item.first + row), 0, one.count)
                for row, one in enumerate(self.spans.members(value, item.first, item.last))
            ]
        return item.items

    def of(self, index: Index) -> _Item:
        found = index.internalPointer() if index.isValid() else self._root
        assert isinstance(found, _Item)
        return found

    def bytes_of(self, index: Index) -> tuple[int, int]:
        """Return the half-open range of a value and its name, or of all members of a group."""
        item = self.of(index)
        if item.group:
            inner = [next(self.spans.members(item.value, at, at + 1)) for at in (item.first, item.last - 1)]
            return inner[0].key_start, inner[-1].stop
        return item.value.key_start, item.value.stop

    def value_bytes(self, index: Index) -> tuple[int, int]:
        item = self.of(index)
        return (item.value.start, item.value.stop) if not item.group else self.bytes_of(index)

    def index_at(self, offset: int) -> QModelIndex:
        found = QModelIndex()
        if not self._root.value.count:
            return self.index(0, 0) if self.rowCount() else found
        for number in self.spans.path(offset):
            item = self.of(found)
            if item.last - item.first > GROUP:
                found = self.index(number // GROUP, 0, found)
                number %= GROUP
            found = self.index(number, 0, found)
        return found

    def path_of(self, index: Index) -> str:
        parts: list[str] = []
        item: _Item | None = self.of(index)
        while item is not None and item.parent is not None:
            above = item.parent
            if not item.group:
                plain = item.key.isidentifier()
                in_array = above.value.kind == "array"
                key = f"[{item.key}]" if in_array else f".{item.key}" if plain else f"[{json.dumps(item.key)}]"
                parts.append(key)
            item = above
        return "".join(reversed(parts)).lstrip(".")

    # --- Qt ---

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        items = self._items(self.of(parent)) if not (parent.isValid() and parent.column()) else []
        if not parent.isValid() and not self._root.value.count:
            # The text is a single value.
            return self.createIndex(row, column, self._root) if row == 0 and 0 <= column < 2 else QModelIndex()
        return self.createIndex(row, column, items[row]) if 0 <= row < len(items) and 0 <= column < 2 else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        above = self.of(index).parent if index.isValid() else None
        return QModelIndex() if above is None or above is self._root else self.createIndex(above.row, 0, above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if parent.isValid() and parent.column():
            return 0
        if not parent.isValid() and not self._root.value.count:
            return 1
        return len(self._items(self.of(parent))) if self.of(parent).value.count else 0

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return not parent.isValid() or (parent.column() == 0 and self.of(parent).value.count > 0)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 2

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return (self.tr("Name"), self.tr("Value"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item = self.of(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(item.key if index.column() == 0 else self.value_text(item))
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.path_of(index) if index.column() == 0 else self.value_text(item)) or None
        if role == Qt.ItemDataRole.ForegroundRole:
            colours = theme.of(self._view)
            in_array = item.parent is not None and item.parent.value.kind == "array"
            quiet = item.group or (in_array if index.column() == 0 else item.value.kind in _CONTAINERS)
            name = "muted" if quiet else "text" if index.column() == 0 else _COLOURS.get(item.value.kind, "text")
            return QColor(getattr(colours, name))
        return None

    def value_text(self, item: _Item) -> str:
        value = item.value
        if item.group:
            return ""
        if value.kind == "object":
            return f"{{{plural(value.count, 'member')}}}" if value.count else "{}"
        if value.kind == "array":
            return f"[{plural(value.count, 'item')}]" if value.count else "[]"
        return self.spans.text(value.start, value.stop)


class TreeView(ContentView):
    label = "Tree"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.tree = JsonTree(self)
        self.keys = self.view = QTreeView()
        made(self.view, "previewJson", accessibleName=self.tr("JSON of the object"), uniformRowHeights=True)
        self.view.setModel(self.tree)
        lay(QVBoxLayout(self), self.view)
        self._links = ItemLinks(self, self.view, self._bytes)
        self._exact = True

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: JsonContent) -> tuple[JsonSpans, bool]:
        data, encoding = single_bytes(content)
        return JsonSpans(data, encoding), data is content.data

    def show_preview(self, preview: Preview) -> None:
        spans, self._exact = preview.prepared
        self.tree.show_json(spans)
        self._unfold(QModelIndex(), _SHALLOW)
        width = self.view.sizeHintForColumn(0)
        self.view.setColumnWidth(0, min(max(width + 12, 90), max(self.width() // 2, 140)))

    def _unfold(self, parent: QModelIndex, room: int) -> int:
        rows = [self.tree.index(row, 0, parent) for row in range(self.tree.rowCount(parent))]
        room -= len(rows)
        for index in rows:
            item = self.tree.of(index)
            if item.value.kind == "object" and not item.group and 0 < item.value.count <= room:
                self.view.expand(index)
                room = self._unfold(index, room)
        return room

    def mark(self, start: int, stop: int) -> None:
        index = self.tree.index_at(start) if self._exact else QModelIndex()
        # Find the smallest value that contains all bytes.
        while index.isValid() and self.tree.bytes_of(index)[1] < stop:
            index = index.parent()
        if index.isValid():
            self._links.mark(index)

    def copy(self) -> None:
        index = self.view.currentIndex()
        item = self.tree.of(index)
        leaf = index.isValid() and item.value.kind not in _CONTAINERS
        copy_lines(self.tree.value_text(item) if leaf else self.tree.spans.raw(item.value.start, item.value.stop))

    def _bytes(self, index: QModelIndex) -> tuple[int, int]:
        if not index.isValid() or not self._exact:
            return 0, 0
        return self.tree.bytes_of(index) if index.column() == 0 else self.tree.value_bytes(index)
