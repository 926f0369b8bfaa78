"""Structure of the file as a tree with values, offsets and sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QToolTip,
    QTreeView,
    QWidget,
)

from shardcore import Node, SectionRole, Shard, ShardError, Span
from shardcore.dataclasses import dataclass, field
from shardcore.model.details import explain_command, explain_line, node_json
from shardcore.model.node import ExternalBytes, named, nearest_row
from shardcore.model.text import shown_lines
from shardscope.session.display_text import headline
from shardscope.session.jobs import JobPriority
from shardscope.session.selection import Highlight, Selection
from shardscope.session.session import Session
from shardscope.views.structure.node_model import COLUMNS, OFFSET, VALUE, NodeModel
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.layouts import made
from shardscope.widgets.note_flag import BOOKMARK, FLAG, paint_flag
from shardscope.widgets.plain_text import tip
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.table import LEFT, RIGHT, ColumnWidth, Index, context_menu, share_width

_NodeId = tuple[str, Span]


@dataclass(frozen=True)
class HighlightedNodes:
    """Highlights by node: `ends` are the highlighted nodes; `ways` are their ancestors, marked while collapsed."""

    ends: dict[_NodeId, list[Highlight]] = field(default_factory=dict)
    ways: dict[_NodeId, list[Highlight]] = field(default_factory=dict)

    def at(self, node: object, *, expanded: bool) -> list[Highlight]:
        if not self.ends or not isinstance(node, Node):
            return []
        found = self.ends.get((node.name, node.span), [])
        found = found if expanded else [*found, *self.ways.get((node.name, node.span), ())]
        return sorted(found, key=lambda highlight: highlight.number)


def highlighted_nodes(shard: Shard, highlights: Iterable[Highlight]) -> HighlightedNodes:
    """Return the nodes of highlighted ranges; ranges that `explain` cannot resolve are left out. May read the file."""
    found = HighlightedNodes()
    for highlight in highlights:
        try:
            path = named(shard.whole_path(highlight.span.start, highlight.span.source), highlight.span)
        except ShardError:
            continue
        for node in path[:-1]:
            found.ways.setdefault((node.name, node.span), []).append(highlight)
        found.ends.setdefault((path[-1].name, path[-1].span), []).append(highlight)
    return found


# --- painting ---

BAR = 7
"""Width in pixels of the bar left of a name."""

_BESIDE = 16
"""Padding in pixels of a name's cell."""

FLAG_WIDTH = 14

_EDGE = 8
"""Padding of a cell in pixels."""


class NodeDelegate(QStyledItemDelegate):
    def __init__(self, tree: StructureTree) -> None:
        super().__init__(tree)
        self._tree = tree

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        # Without `super`, which requests ten roles of each cell.
        tree, column = self._tree, index.column()
        row = tree.nodes.row(index)
        text = row.texts[column]
        option.displayAlignment = LEFT if column < OFFSET else RIGHT
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDisplay
        colour = tree.colours.text if column in (0, VALUE) else tree.colours.muted
        if row.error:
            colour = tree.colours.error
            text = f"✖ {text}" if column == 0 else text
        option.palette.setColor(option.palette.ColorRole.Text, colour)
        room = option.rect.width() - _EDGE
        if column == 0:
            text = f"{text} ≠" if row.differs else text
            # Reserve room for the bar that `paint` draws.
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
            option.decorationSize = QSize(BAR, option.fontMetrics.height())
            room = option.rect.width() - BAR - _BESIDE
            if tree.lit.ends or tree.noted.ends:
                room -= tree.marks_width(index)
        if column in (0, VALUE) and option.fontMetrics.horizontalAdvance(text) > room:
            text = cut_text(option.fontMetrics, text, max(room, 0))
        option.text = text


class NameDelegate(NodeDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        tree = self._tree
        if tree.lit.ends or tree.noted.ends:
            self._paint_marks(painter, option, index)
        if (bar := tree.bars.get(tree.nodes.row(index).section)) is not None:
            height = option.fontMetrics.height()
            area = QRect(option.rect.left() + 3, option.rect.center().y() - height // 2 + 1, BAR, height)
            painter.fillRect(area, bar[0])
            painter.fillRect(area.adjusted(1, 1, -1, -1), bar[1])

    def _paint_marks(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tree, colours = self._tree, self._tree.colours
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        ground, ink = theme.selected(tree)
        right, middle = option.rect.right() - 2, option.rect.center().y()
        if tree.notes_at(index):
            right -= FLAG_WIDTH
            flag = QRectF(right + 4, middle - 5, 8, 12)
            paint_flag(painter, flag, *((ink, ground) if selected else (colours.note, colours.base)))
        highlights = tree.lit.at(tree.nodes.node(index), expanded=tree.isExpanded(index))
        if not highlights:
            return
        painter.save()
        painter.setFont(badge_font(option.font))
        sizes = [badge_size(highlight.number, painter.font()) for highlight in highlights]
        left = right - sum(size.width() + 1 for size in sizes)
        # Cover the end of the name.
        behind = QRectF(left - 4, option.rect.top(), right + 2 - left + 4, option.rect.height())
        painter.fillRect(behind, ground if selected else colours.base)
        for highlight, size in zip(highlights, sizes, strict=True):
            at = QPointF(left, middle - size.height() / 2 + 1)
            inverted = selected and tree.hasFocus()
            paint_badge(painter, colours, at, highlight.number, hollow=highlight.hollow, inverted=inverted)
            left += size.width() + 1
        painter.restore()


def joined_tip(own: str, notes: str) -> str:
    if own.startswith("<span>"):
        return f"{own}<br>{escape(shown_lines(notes))}".replace("\n", "<br>")
    return tip("\n".join(part for part in (own, notes) if part))


# --- the tree ---

_MAX_LISTED = 5

MOST_NOTES = 500

_NUMBER = re.compile(r"(?:→ )?(?:[-\d][\d,.]*|0x[0-9a-f]+)(?: \w+)?")

_MOST_NAME, _LEAST_NAME, _LEAST_TYPE, _LEAST_VALUE = 40, 16, 7, 8.5
"""Widths in digits: limit up to which the name takes room from type and value; minimum of name, type and value."""


@dataclass(frozen=True, slots=True)
class TreePlace:
    """State of the tree of a file: expanded nodes, each as the names on its path, and scroll position."""

    uri: str
    expanded: frozenset[tuple[str, ...]]
    top: int


class StructureTree(QTreeView):
    """Tree that follows and changes the selection. `look_up_requested` carries a key, `extract_requested` a row."""

    look_up_requested = Signal(object)
    extract_requested = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._following = False
        self._top: int | None = None
        # Expanded nodes are kept when the same file is read again.
        self._expanded: tuple[str, set[tuple[str, ...]]] = ("", set())
        self.nodes = NodeModel(session, self)
        self.lit, self.noted = HighlightedNodes(), HighlightedNodes()
        self.colours = theme.of(self)
        self.bars: dict[SectionRole | None, tuple[QColor, QColor]] = {}
        """Edge and tint of the bar of each section; empty until the first painting."""
        self._seen, self._longest = [0] * len(COLUMNS), 0
        self._sizing, self._by_hand = False, dict[int, int]()
        self._size_soon = Debounce(self, self._size_columns)
        self._build()
        for signal, slot in (
            (self.header().sectionResized, self._resized),
            (self.nodes.modelReset, self._forget_widths),
            (self.nodes.modelReset, self._expand_root),
            (self.nodes.rowsInserted, self._expand_again),
            (self.nodes.dataChanged, self._size_soon.again),
            (self.nodes.layoutChanged, self._size_soon.again),
            (self.nodes.rowsInserted, self._size_soon.again),
            (self.expanded, self._size_soon.again),
            (self.verticalScrollBar().valueChanged, self._size_soon.again),
            (self.verticalScrollBar().rangeChanged, self._return_to_top),
            (self.verticalScrollBar().actionTriggered, self._stay),
            (self.expanded, lambda index: self._expanded[1].add(self._names(index))),
            (self.collapsed, lambda index: self._expanded[1].discard(self._names(index))),
            (self.nodes.revealed, self._show),
            (self.clicked, self._clicked),
            (self.doubleClicked, self._double_clicked),
            (session.opened, self._opened),
            (session.closed, self.nodes.load),
            (session.index.loaded, self._index_loaded),
            (session.lookup.highlights_changed, self._highlights_changed),
            (session.notes.changed, self._notes_changed),
        ):
            signal.connect(slot)
        WhileVisible(session.selection_changed, self, self._follow, own=True)
        self._size_columns()

    def _build(self) -> None:
        made(self, "structureTree", accessibleName=self.tr("Structure of the file"))
        self.setModel(self.nodes)
        self.setItemDelegate(NodeDelegate(self))
        self.setItemDelegateForColumn(0, NameDelegate(self))
        made(self, uniformRowHeights=True, indentation=14, editTriggers=QAbstractItemView.EditTrigger.NoEditTriggers)
        header = made(self.header(), stretchLastSection=False, minimumSectionSize=40)
        name = self.tr("Only fields where the specification and real files differ")
        self.differs = made(QToolButton(header), "structureDiffers", text=self.tr("≠ differs"), accessibleName=name)
        about = (
            "Show only fields where the specification and real files differ.\nIn tables, only one sample row is shown."
        )
        made(self.differs, checkable=True, toolTip=self.tr(about), toggled=self.nodes.show_differing)

    # --- colours and marks ---

    def marks_width(self, index: Index) -> int:
        highlights, font = self.lit.at(self.nodes.node(index), expanded=self.isExpanded(index)), badge_font(self.font())
        width = int(sum(badge_size(highlight.number, font).width() + 1 for highlight in highlights))
        return width + (FLAG_WIDTH if self.notes_at(index) else 0)

    def notes_at(self, index: Index) -> str:
        notes = self.session.notes.all
        noted = self.noted.at(self.nodes.node(index), expanded=self.isExpanded(index))
        numbers = [highlight.number for highlight in noted]
        texts = [notes[number].text or BOOKMARK for number in numbers if number < len(notes)]
        return "\n".join(f"{FLAG} {text}" for text in texts[:_MAX_LISTED])

    def _highlights_changed(self) -> None:
        highlights = self.session.lookup.highlights

        def take(lit: HighlightedNodes) -> None:
            if self.session.lookup.highlights == highlights:
                self.lit = lit
                self.viewport().update()

        if highlights:
            self.session.ask(lambda shard, _: highlighted_nodes(shard, highlights), take, key=("lit", self))
        elif self.lit.ends:
            take(HighlightedNodes())

    def _notes_changed(self) -> None:
        highlights = [Highlight(n, note.span) for n, note in enumerate(self.session.notes.all[:MOST_NOTES])]

        def take(noted: HighlightedNodes) -> None:
            self.noted = noted
            self.viewport().update()

        if highlights:
            work = lambda shard, _: highlighted_nodes(shard, highlights)  # noqa: E731
            self.session.ask(work, take, key=("noted", self), priority=JobPriority.PREFETCH)
        elif self.noted.ends:
            take(HighlightedNodes())

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and (index := self.indexAt(event.pos())).isValid():
            name = index.siblingAtColumn(0)
            if notes := self.notes_at(name):
                own = str(name.data(Qt.ItemDataRole.ToolTipRole) or "")
                QToolTip.showText(event.globalPos(), joined_tip(own, notes), self.viewport())
                return True
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if (colours := theme.of(self)) is not self.colours or not self.bars:
            self.colours = colours
            self.bars = {role: (colours.edge(role), colours.section(role)) for role in SectionRole}
        super().paintEvent(event)

    # --- widths of the columns ---

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_size_soon"):
            self._forget_widths()

    def _forget_widths(self) -> None:
        self._seen, self._longest = [0] * len(COLUMNS), 0
        self._size_soon.start()

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._sizing and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand[column] = width

    def _measure(self) -> None:
        """Widen the columns for the rows on the screen; they do not shrink while the file is open."""
        header, metrics = self.header(), self.fontMetrics()
        # Not cached: the header gets its style later than its font.
        heads = [header.sectionSizeHint(column) for column in range(len(COLUMNS))]
        heads[0] += self.differs.sizeHint().width() + 6
        seen = [max(old, head) for old, head in zip(self._seen, heads, strict=True)]
        # Step by pixels, since `visualRect` and `indexBelow` search the parents of each row.
        height, y = max(self.visualRect(self.indexAt(QPoint(0, 0))).height(), 1), 0
        while y < self.viewport().height() and (index := self.indexAt(QPoint(0, y))).isValid():
            texts = self.nodes.row(index).texts
            left = (self.nodes.depth(index) + 1) * self.indentation() + BAR + _BESIDE
            for column, text in enumerate(texts):
                width = metrics.horizontalAdvance(text) + _EDGE
                seen[column] = max(seen[column], width if column else left + width)
            if _NUMBER.fullmatch(texts[VALUE]) and not texts[1].startswith("bytes"):
                self._longest = max(self._longest, metrics.horizontalAdvance(texts[VALUE]) + 2 * _EDGE)
            y += height
        self._seen = seen

    def _size_columns(self) -> None:
        self._measure()
        digit, room = self.fontMetrics().horizontalAdvance("0"), self.viewport().width()
        name, kind, value, offset, size = self._seen
        short, least = min(kind, _LEAST_TYPE * digit), min(value, round(_LEAST_VALUE * digit))
        room_left = room - offset - size
        letters = min(name, max(room_left - short - least, _LEAST_NAME * digit), _MOST_NAME * digit)
        columns = (
            ColumnWidth(name, letters),
            ColumnWidth(kind, short),
            ColumnWidth(value, max(least, min(value, self._longest, room_left - letters - short))),
            ColumnWidth(offset, offset),
            ColumnWidth(size, size),
        )
        widths = share_width(columns, VALUE, room, self._by_hand)
        self._sizing = True
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)
        self._sizing = False
        button, height = self.differs.sizeHint(), self.header().height()
        self.differs.resize(button.width(), min(button.height(), height))
        self.differs.move(widths[0] - button.width() - 6, (height - self.differs.height()) // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._size_columns()
        self._bring_in(event.oldSize().height())

    # --- the menu of a node ---

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos()) if event.reason() == QContextMenuEvent.Reason.Mouse else self.currentIndex()
        self.menu_of(self.nodes.path(index.siblingAtColumn(0)) if index.isValid() else ()).popup(event.globalPos())

    def menu_of(self, path: tuple[Node, ...]) -> QMenu:
        menu = context_menu(self, ())
        if path:
            self._add_targets(menu, path)
            menu.addSeparator()
            self._add_copies(menu, path)
            menu.addSeparator()
        index = self.currentIndex()
        current, expanded = index.isValid(), self.isExpanded(index)
        menu.addAction(self.tr("E&xpand"), lambda: self.expand(index)).setEnabled(current and not expanded)
        menu.addAction(self.tr("&Collapse"), lambda: self.collapse(index)).setEnabled(current and expanded)
        menu.addAction(self.tr("Collapse &all"), self.collapse_all)
        menu.addSeparator()
        add_picture(menu, self, "structure", self.session.say)
        return menu

    def _add_targets(self, menu: QMenu, path: tuple[Node, ...]) -> None:
        node, row, session = path[-1], nearest_row(path), self.session
        number, has_row, has_bytes = row or 0, row is not None, bool(node.span.size)
        elsewhere = _elsewhere(path)

        def go(span: Span | None) -> None:
            if span is not None:
                session.select_span(span)

        def find() -> None:
            session.select_node(path)
            session.references.find()

        def add(text: str, act: Callable[[], object], enabled: bool = True) -> None:
            menu.addAction(text, act).setEnabled(enabled)

        add(self.tr("&Select bytes"), lambda: session.select_node(path), has_bytes)
        add(self.tr("&Follow pointer"), lambda: go(node.target), node.target is not None)
        add(self.tr("Find &references"), find, has_bytes)
        if node.decoded:
            add(self.tr("Show &decoded bytes"), lambda: go(Span(node.decoded, 0, 1)))
        if elsewhere is not None:
            add(self.tr("Go to {0}").format(elsewhere.text), lambda: self.go_elsewhere(elsewhere))
        add(self.tr("Go to &object"), lambda: session.select_row(number), has_row)
        add(self.tr("&Look up object"), lambda: self.look_up_row(number), has_row)
        extracts = has_row and not session.request.sandbox
        add(self.tr("&Extract object…"), lambda: self.extract_requested.emit(number), extracts)

    def _add_copies(self, menu: QMenu, path: tuple[Node, ...]) -> None:
        node, request = path[-1], self.session.request
        names = (path[0].name.rstrip("/").rpartition("/")[2], *(each.name for each in path[1:]))
        whole = node.value.hex() if isinstance(node.value, bytes) else node.value
        value = headline(node) if whole is None else str(whole)
        if value:
            menu.addAction(self.tr("Copy &value"), lambda: copy_lines(value))
        menu.addAction(self.tr("Copy &name"), lambda: copy_text(node.name))
        menu.addAction(self.tr("Copy &path"), lambda: copy_text(" › ".join(names)))
        menu.addAction(self.tr("Copy &offset"), lambda: copy_text(f"{node.span.start:#x}"))
        forms = menu.addMenu(self.tr("Copy &as"))
        forms.addAction(self.tr("&JSON"), lambda: copy_lines(json.dumps(node_json(node), indent=2)))
        if node.span.size and not request.sandbox:
            # In a sandbox, the command would read the file on disk.
            at = request.shown, node.span, request.opened_with()
            forms.addAction(self.tr("&shardcore command"), lambda: copy_text(explain_command(*at)))
            forms.addAction(self.tr("&Python line"), lambda: copy_text(explain_line(*at)))

    def look_up_row(self, row: int) -> None:
        def take(key: str | None) -> None:
            if key is not None:
                self.look_up_requested.emit(key)
            else:
                self.session.message.emit(self.tr("This row has no key to look up."))

        read = lambda shard, _: shard.objects.keys[row]  # noqa: E731
        self.session.ask(read, take, failed="Cannot read the key", key=("node key", self))

    def go_elsewhere(self, elsewhere: ExternalBytes) -> None:
        find, key = lambda _shard, _job: elsewhere.find(), ("elsewhere", self)
        self.session.ask(find, self.session.select_span, failed="Not available", key=key)

    def collapse_all(self) -> None:
        self.collapseAll()
        self._expanded[1].clear()
        self._expand_root()

    # --- opening, and nodes that stay expanded ---

    def _opened(self, _: object) -> None:
        self._stay()
        self._size_columns()
        if self._expanded[0] != self.session.uri or self.session.documents.switching:
            self._expanded = (self.session.uri, set())
        self.nodes.only_differing = False
        self.differs.setChecked(False)
        self.nodes.load()

    def view_state(self) -> object:
        return TreePlace(self._expanded[0], frozenset(self._expanded[1]), self.verticalScrollBar().value())

    def restore_view_state(self, state: object) -> None:
        if isinstance(state, TreePlace):
            self._expanded = (state.uri, set(state.expanded))
            self._top = state.top

    def _return_to_top(self, *_: object) -> None:
        if self._top is not None:
            self.verticalScrollBar().setValue(self._top)

    def _stay(self, *_: object) -> None:
        self._top = None

    def _expand_root(self) -> None:
        root = self.nodes.index(0, 0)
        if root.isValid() and self.nodes.only_differing:
            self.expandAll()
            if not self.nodes.rowCount(root):
                self.session.message.emit(self.tr("No known differences from the specification in this file."))
        elif root.isValid():
            self.expand(root)
            if self.session.selection.is_file:
                self._show(root)
            self._expand_again(root, 0, self.nodes.rowCount(root) - 1)

    def _names(self, index: Index) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes.path(index))

    def _expand_again(self, parent: Index, first: int, last: int) -> None:
        if self.nodes.only_differing or not parent.isValid() or not self._expanded[1]:
            return
        above = self._names(parent)
        wanted = {names[-1] for names in self._expanded[1] if names[:-1] == above}
        for row in range(first, last + 1) if wanted else ():
            index = self.nodes.index(row, 0, parent)
            node = self.nodes.node(index)
            if node is None:
                # Do not load the next page for this.
                break
            if node.name in wanted:
                self.expand(index)

    def _index_loaded(self) -> None:
        self.nodes.load()

        def again() -> None:
            if self.nodes.rowCount():
                self.nodes.modelReset.disconnect(again)
                self._follow(self.session.selection)

        self.nodes.modelReset.connect(again)

    # --- following the selection and changing it ---

    def _follow(self, selection: Selection) -> None:
        if not self.session.documents.switching and selection.origin is not self.session.selector:
            self._stay()
        if selection.origin is self or not selection.complete:
            return
        if selection.path:
            self.nodes.reveal(selection.path)
        elif selection.is_file and (root := self.nodes.index(0, 0)).isValid():
            self._show(root)
        else:
            self._following = True
            self.selectionModel().clear()
            self._following = False

    def _show(self, index: QModelIndex) -> None:
        self._following = True
        parent = index.parent()
        while parent.isValid():
            self.expand(parent)
            parent = parent.parent()
        command = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, command)
        if not self._bring_in(self.viewport().height()):
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        self._return_to_top()
        self._following = False

    def _bring_in(self, height: int) -> bool:
        """Scroll to the current row if it is partly visible; return whether its middle is within `height` pixels."""
        row = self.visualRect(self.currentIndex())
        seen = row.isValid() and 0 <= row.center().y() < height
        if seen and (row.top() < 0 or row.bottom() >= self.viewport().height()):
            self.scrollTo(self.currentIndex())
        return seen

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._following = True
        super().focusInEvent(event)
        self._following = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if select_current(self, event):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _clicked(self, index: QModelIndex) -> None:
        if self.session.selection.path != self.nodes.path(index.siblingAtColumn(0)):
            self._choose(index)

    def _double_clicked(self, index: QModelIndex) -> None:
        index = index.siblingAtColumn(0)
        elsewhere = _elsewhere(self.nodes.path(index))
        if elsewhere is not None and not self.nodes.hasChildren(index):
            self.go_elsewhere(elsewhere)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if not self._following and current.isValid():
            self._choose(current)

    def _choose(self, index: Index) -> None:
        path = self.nodes.path(index)
        if path and self.nodes.node(index) is not None:
            self.session.select_node(path, self)


def _elsewhere(path: Sequence[Node]) -> ExternalBytes | None:
    # A field refers to another file if its record does.
    return next((each.elsewhere for each in reversed(path[-2:]) if each.elsewhere is not None), None)
