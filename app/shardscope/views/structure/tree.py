"""Structure of the file as a tree with values, offsets and sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    QSizeF,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QContextMenuEvent, QFocusEvent, QFont, QHelpEvent, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
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
from shardcore.model.details import explain_command, explain_line, node_json
from shardcore.model.node import ExternalBytes, named, nearest_row
from shardcore.model.text import shown_lines
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import headline
from shardscope.session.highlights import Highlight
from shardscope.session.jobs import JobPriority
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.node_model import COLUMNS, NODE_ROLE, SECTION_ROLE, NodeModel
from shardscope.widgets.note_flag import BOOKMARK, FLAG, paint_flag
from shardscope.widgets.plain_text import tip
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.table import ColumnWidth, share_width

translate = QCoreApplication.translate


@dataclass(frozen=True)
class NodeMenuActions:
    look_up: Callable[[int], object]
    extract: Callable[[int], object]
    elsewhere: Callable[[ExternalBytes], object]
    collapse_all: Callable[[], object]


def node_menu(tree: QTreeView, session: Session, handlers: NodeMenuActions, path: tuple[Node, ...]) -> QMenu:
    menu = QMenu(tree)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if path:
        _going(menu, session, handlers, path)
        menu.addSeparator()
        _copying(menu, session, path)
        menu.addSeparator()
    index = tree.currentIndex()
    menu.addAction(translate("NodeMenu", "E&xpand"), lambda: tree.expand(index)).setEnabled(
        index.isValid() and not tree.isExpanded(index)
    )
    menu.addAction(translate("NodeMenu", "&Collapse"), lambda: tree.collapse(index)).setEnabled(
        index.isValid() and tree.isExpanded(index)
    )
    menu.addAction(translate("NodeMenu", "Collapse &all"), handlers.collapse_all)
    menu.addSeparator()
    add_picture(menu, tree, "structure", session.say)
    return menu


def _going(menu: QMenu, session: Session, handlers: NodeMenuActions, path: tuple[Node, ...]) -> None:
    node, row = path[-1], nearest_row(path)

    def go(span: Span | None) -> None:
        if span is not None:
            session.select_span(span)

    def add(text: str, act: Callable[[], object], enabled: bool) -> None:
        menu.addAction(text, act).setEnabled(enabled)

    add(translate("NodeMenu", "&Select bytes"), lambda: session.select_node(path), bool(node.span.size))
    add(translate("NodeMenu", "&Follow pointer"), lambda: go(node.target), node.target is not None)

    def ask() -> None:
        session.select_node(path)
        session.find_references()

    add(translate("NodeMenu", "Find &references"), ask, bool(node.span.size))
    if node.decoded:
        add(translate("NodeMenu", "Show &decoded bytes"), lambda: go(Span(node.decoded, 0, 1)), True)
    # A field refers to another file if its record does.
    elsewhere = next((each.elsewhere for each in reversed(path[-2:]) if each.elsewhere is not None), None)
    if elsewhere is not None:
        add(translate("NodeMenu", "Go to {0}").format(elsewhere.text), lambda: handlers.elsewhere(elsewhere), True)
    number = -1 if row is None else row
    add(translate("NodeMenu", "Go to &object"), lambda: session.select_row(number), row is not None)
    add(translate("NodeMenu", "&Look up object"), lambda: handlers.look_up(number), row is not None)
    there = row is not None and not session.request.sandbox
    add(translate("NodeMenu", "&Extract object…"), lambda: handlers.extract(number), there)


def _copying(menu: QMenu, session: Session, path: tuple[Node, ...]) -> None:
    node, request = path[-1], session.request
    names = (path[0].name.rstrip("/").rpartition("/")[2], *(each.name for each in path[1:]))
    whole = node.value.hex() if isinstance(node.value, bytes) else node.value
    value = headline(node) if whole is None else str(whole)

    def add(where: QMenu, text: str, copied: Callable[[], str], put: Callable[[str], None] = copy_text) -> None:
        where.addAction(text, lambda: put(copied()))

    if value:
        add(menu, translate("NodeMenu", "Copy &value"), lambda: value, copy_lines)
    add(menu, translate("NodeMenu", "Copy &name"), lambda: node.name)
    add(menu, translate("NodeMenu", "Copy &path"), lambda: " › ".join(names))
    add(menu, translate("NodeMenu", "Copy &offset"), lambda: f"{node.span.start:#x}")
    forms = menu.addMenu(translate("NodeMenu", "Copy &as"))
    add(forms, "&JSON", lambda: json.dumps(node_json(node), indent=2), copy_lines)
    if node.span.size and not request.sandbox:
        how = request.opened_with()
        # In a sandbox, the command would read the file on disk.
        add(
            forms,
            translate("NodeMenu", "&shardcore command"),
            lambda: explain_command(request.shown, node.span, how),
        )
        add(
            forms,
            translate("NodeMenu", "&Python line"),
            lambda: explain_line(request.shown, node.span, how),
        )


_Place = tuple[str, Span]


@dataclass(frozen=True)
class HighlightedNodes:
    """Nodes with highlights: `ends` always show them, `ways` (their ancestors) only while collapsed."""

    ends: dict[_Place, list[Highlight]] = field(default_factory=dict)
    ways: dict[_Place, list[Highlight]] = field(default_factory=dict)

    def at(self, node: object, *, expanded: bool) -> list[Highlight]:
        if not isinstance(node, Node):
            return []
        place = (node.name, node.span)
        around = [] if expanded else self.ways.get(place, [])
        return sorted((*self.ends.get(place, ()), *around), key=lambda highlight: highlight.number)


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


Index = QModelIndex | QPersistentModelIndex

BAR = 7
"""Width in pixels of the bar left of a name."""

_BESIDE = 16
"""Padding in pixels of a name's cell."""

FLAG_SPACE = 14
"""Width in pixels of the flag of a note."""

_MAX_LISTED = 5

MOST_FLAGS = 500
"""Maximum number of notes whose nodes are looked up."""

_VALUE = COLUMNS.index("Value")

_EDGE = 8
"""Padding of a cell in pixels."""

_NUMBER = re.compile(r"(?:→ )?(?:[-\d][\d,.]*|0x[0-9a-f]+)(?: \w+)?")

_LEAST_NAME, _SHORT_NAME, _LEAST_VALUE = 24, 16, 8
"""Minimum widths in digits: name, name beside long numbers, value."""


class NodeDelegate(QStyledItemDelegate):
    def __init__(self, tree: StructureTree) -> None:
        super().__init__(tree)
        self._tree = tree
        self._painting = False

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        node = index.data(NODE_ROLE)
        colours = theme.of(self._tree)
        role = option.palette.ColorRole.Text
        if isinstance(node, Node) and node.error:
            option.palette.setColor(role, colours.error)
            if index.column() == 0:
                option.text = f"✖ {option.text}"
        elif index.column() != 0:
            option.palette.setColor(role, colours.text if index.column() == _VALUE else colours.muted)
        if index.column() == 0 and isinstance(node, Node) and node.differs is not None:
            option.text = f"{option.text} ≠"
        if index.column() == 0:
            # Reserve room for the bar that `paint` draws.
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
            option.decorationSize = QSize(BAR, option.fontMetrics.height())
        if self._painting and index.column() in (0, _VALUE):
            room = option.rect.width() - _EDGE
            if index.column() == 0:
                badges = _badge_sizes(self._highlights(index), badge_font(option.font))
                room = option.rect.width() - BAR - _BESIDE - int(sum(size.width() + 1 for size in badges))
                room -= FLAG_SPACE if self._tree.notes_at(index) else 0
            option.text = cut_text(option.fontMetrics, option.text, max(room, 0))

    def _highlights(self, index: Index) -> Sequence[Highlight]:
        return self._tree.lit.at(index.data(NODE_ROLE), expanded=self._tree.isExpanded(index))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self._painting = True
        super().paint(painter, option, index)
        self._painting = False
        if index.column() != 0:
            return
        self._paint_badges(painter, option, index)
        colour = self._tree.section_colour(index)
        if colour is None:
            return
        height = option.fontMetrics.height()
        place = QRect(option.rect.left() + 3, option.rect.center().y() - height // 2 + 1, BAR, height)
        painter.fillRect(place, theme.of(self._tree).edge(index.data(SECTION_ROLE)))
        painter.fillRect(place.adjusted(1, 1, -1, -1), colour)

    def _paint_badges(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        highlights = self._highlights(index)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        colours = theme.of(self._tree)
        ground, ink = theme.selected(self._tree)
        right = option.rect.right() - 2
        if self._tree.notes_at(index):
            right -= FLAG_SPACE
            flag = QRectF(right + 4, option.rect.center().y() - 5, 8, 12)
            paint_flag(painter, flag, *((ink, ground) if selected else (colours.note, colours.base)))
        if not highlights:
            return
        painter.save()
        painter.setFont(badge_font(option.font))
        sizes = _badge_sizes(highlights, painter.font())
        left = right - sum(size.width() + 1 for size in sizes)
        # Cover the end of the name.
        behind = ground if selected else colours.base
        strong = selected and self._tree.hasFocus()
        painter.fillRect(QRectF(left - 4, option.rect.top(), right + 2 - left + 4, option.rect.height()), behind)
        for highlight, size in zip(highlights, sizes, strict=True):
            place = QPointF(left, option.rect.center().y() - size.height() / 2 + 1)
            paint_badge(painter, colours, place, highlight.number, hollow=highlight.hollow, inverted=strong)
            left += size.width() + 1
        painter.restore()


def joined_tip(own: str, notes: str) -> str:
    if own.startswith("<span>"):
        return f"{own}<br>{escape(shown_lines(notes))}".replace("\n", "<br>")
    return tip("\n".join(part for part in (own, notes) if part))


def _badge_sizes(highlights: Sequence[Highlight], font: QFont) -> list[QSizeF]:
    return [badge_size(highlight.number, font) for highlight in highlights]


@dataclass(frozen=True, slots=True)
class TreePlace:
    uri: str
    expanded: frozenset[tuple[str, ...]]
    top: int


class StructureTree(QTreeView):
    """Follows the session's selection and changes it; keeps expanded nodes when the same file is read again."""

    look_up_requested = Signal(object)
    """Carries the key to look up."""
    extract_requested = Signal(object)
    """Carries the row of the object to extract."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._following = False
        self._top: int | None = None
        self.nodes = NodeModel(session, self)
        self.lit = HighlightedNodes()
        self.noted = HighlightedNodes()
        self.setObjectName("structureTree")
        self.setAccessibleName(self.tr("Structure of the file"))
        self.setModel(self.nodes)
        self.setItemDelegate(NodeDelegate(self))
        self.setUniformRowHeights(True)
        self.setIndentation(14)
        self.setAlternatingRowColors(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setExpandsOnDoubleClick(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(40)
        # Only rows on the screen are measured.
        header.setResizeContentsPrecision(0)
        self._make_differs()
        self._seen, self._longest = [0] * len(COLUMNS), 0
        self._size_soon = Debounce(self, self._size_columns)
        self._sizing, self._by_hand = False, dict[int, int]()
        header.sectionResized.connect(self._resized)
        self.nodes.modelReset.connect(self._forget_widths)
        for shown in (self.nodes.dataChanged, self.nodes.layoutChanged, self.nodes.rowsInserted, self.expanded):
            shown.connect(self._size_soon.again)
        self.verticalScrollBar().valueChanged.connect(self._size_soon.again)
        self.verticalScrollBar().rangeChanged.connect(lambda *_: self._return_to_top())
        self.verticalScrollBar().actionTriggered.connect(lambda _: self._stay())
        self.nodes.modelReset.connect(self._expand_root)
        # Expanded nodes are kept when the same file is read again.
        self._expanded: tuple[str, set[tuple[str, ...]]] = ("", set())
        self.nodes.rowsInserted.connect(self._expand_again)
        self.expanded.connect(lambda index: self._expanded[1].add(self._names(index)))
        self.collapsed.connect(lambda index: self._expanded[1].discard(self._names(index)))
        self.nodes.revealed.connect(self._show)
        self.clicked.connect(self._clicked)
        session.opened.connect(self._opened)
        session.closed.connect(self.nodes.load)
        session.index_loaded.connect(self._index_loaded)
        WhileVisible(session.selection_changed, self, self._follow)
        session.highlights_changed.connect(self._highlights_changed)
        session.notes.changed.connect(self._notes_changed)
        self._size_columns()

    def _make_differs(self) -> None:
        self.differs = QToolButton(self.header())
        self.differs.setObjectName("structureDiffers")
        self.differs.setText(self.tr("≠ differs"))
        self.differs.setCheckable(True)
        self.differs.setAccessibleName(self.tr("Only fields where the specification and real files differ"))
        self.differs.setToolTip(
            self.tr(
                "Show only fields where the specification and real files differ.\n"
                "In tables, only one sample row is shown."
            )
        )
        self.differs.toggled.connect(self.nodes.show_differing)

    def section_colour(self, index: Index) -> QColor | None:
        role = index.data(SECTION_ROLE)
        return theme.of(self).section(role) if isinstance(role, SectionRole) else None

    def _highlights_changed(self) -> None:
        highlights = self.session.highlights

        def take(lit: HighlightedNodes) -> None:
            if self.session.highlights == highlights:
                self.lit = lit
                self.viewport().update()

        if not highlights:
            take(HighlightedNodes())
        else:
            self.session.ask(lambda shard, _: highlighted_nodes(shard, highlights), take, key=("lit", self))

    def notes_at(self, index: Index) -> str:
        if not self.noted.ends:
            return ""
        notes = self.session.notes.all
        noted = self.noted.at(index.data(NODE_ROLE), expanded=self.isExpanded(index))
        numbers = [highlight.number for highlight in noted]
        texts = [notes[number].text or BOOKMARK for number in numbers if number < len(notes)]
        return "\n".join(f"{FLAG} {text}" for text in texts[:_MAX_LISTED])

    def _notes_changed(self) -> None:
        notes = self.session.notes.all[:MOST_FLAGS]

        def take(noted: HighlightedNodes) -> None:
            self.noted = noted
            self.viewport().update()

        if not notes:
            take(HighlightedNodes())
            return
        highlights = [Highlight(number, note.span) for number, note in enumerate(notes)]
        self.session.ask(
            lambda shard, _: highlighted_nodes(shard, highlights),
            take,
            key=("noted", self),
            priority=JobPriority.PREFETCH,
        )

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and (index := self.indexAt(event.pos())).isValid():
            notes = self.notes_at(index.siblingAtColumn(0))
            if notes:
                own = str(index.siblingAtColumn(0).data(Qt.ItemDataRole.ToolTipRole) or "")
                QToolTip.showText(event.globalPos(), joined_tip(own, notes), self.viewport())
                return True
        return super().viewportEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_by_hand"):
            self._forget_widths()

    def _forget_widths(self) -> None:
        self._seen, self._longest = [0] * len(COLUMNS), 0
        self._size_soon.start()

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._sizing and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand[column] = width

    def _longest_number(self) -> int:
        longest, index = 0, self.indexAt(QPoint(0, 0))
        while index.isValid() and self.visualRect(index).top() < self.viewport().height():
            text = str(index.siblingAtColumn(_VALUE).data() or "")
            if _NUMBER.fullmatch(text):
                longest = max(longest, self.fontMetrics().horizontalAdvance(text) + 2 * _EDGE)
            index = self.indexBelow(index)
        return longest

    def _size_columns(self) -> None:
        header, digit = self.header(), self.fontMetrics().horizontalAdvance("0")
        hints = [max(self.sizeHintForColumn(n) + 2, header.sectionSizeHint(n)) for n in range(len(COLUMNS))]
        hints[0] = max(hints[0], header.sectionSizeHint(0) + self.differs.sizeHint().width() + 6)
        self._seen = [max(old, new) for old, new in zip(self._seen, hints, strict=True)]
        self._longest = max(self._longest, self._longest_number())
        name, kind, value, offset, size = self._seen
        least = min(value, max(_LEAST_VALUE * digit, self._longest))
        letters = max((self.viewport().width() - kind - least - offset - size) // digit, _SHORT_NAME)
        columns = (
            ColumnWidth(name, min(name, min(letters, _LEAST_NAME) * digit)),
            ColumnWidth(kind, kind),
            ColumnWidth(value, least),
            ColumnWidth(offset, offset),
            ColumnWidth(size, size),
        )
        widths = share_width(columns, _VALUE, self.viewport().width(), self._by_hand)
        self._sizing = True
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)
        self._sizing = False
        wish = self.differs.sizeHint()
        self.differs.resize(wish.width(), min(wish.height(), header.height()))
        self.differs.move(widths[0] - wish.width() - 6, (header.height() - self.differs.height()) // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._size_columns()
        self._bring_in(event.oldSize().height())

    def _bring_in(self, height: int) -> bool:
        """Scroll to the current row if it is partly visible; return whether its middle was within `height`."""
        row = self.visualRect(self.currentIndex())
        seen = row.isValid() and 0 <= row.center().y() < height
        if seen and (row.top() < 0 or row.bottom() >= self.viewport().height()):
            self.scrollTo(self.currentIndex())
        return seen

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos()) if event.reason() == QContextMenuEvent.Reason.Mouse else self.currentIndex()
        self.menu_of(self.nodes.path(index.siblingAtColumn(0)) if index.isValid() else ()).popup(event.globalPos())

    def menu_of(self, path: tuple[Node, ...]) -> QMenu:
        handlers = NodeMenuActions(self.look_up_row, self.extract_requested.emit, self.go_elsewhere, self.collapse_all)
        return node_menu(self, self.session, handlers, path)

    def look_up_row(self, row: int) -> None:
        def take(key: str | None) -> None:
            if key is not None:
                self.look_up_requested.emit(key)
            else:
                self.session.message.emit(self.tr("This row has no key to look up."))

        self.session.ask(
            lambda shard, _: shard.objects.keys[row], take, failed="Cannot read the key", key=("node key", self)
        )

    def go_elsewhere(self, elsewhere: ExternalBytes) -> None:
        self.session.ask(
            lambda _shard, _job: elsewhere.find(),
            self.session.select_span,
            failed="Not available",
            key=("elsewhere", self),
        )

    def collapse_all(self) -> None:
        self.collapseAll()
        self._expanded[1].clear()
        self._expand_root()

    def _opened(self, _: object) -> None:
        self._stay()
        self._size_columns()
        if self._expanded[0] != self.session.uri or self.session.switching:
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

    def _return_to_top(self) -> None:
        if self._top is not None:
            self.verticalScrollBar().setValue(self._top)

    def _stay(self) -> None:
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
        if self.nodes.only_differing or not parent.isValid():
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

    def _follow(self, selection: Selection) -> None:
        if not self.session.switching and selection.origin is not self.session:
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

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if not self._following and current.isValid():
            self._choose(current)

    def _choose(self, index: Index) -> None:
        path = self.nodes.path(index)
        if path and self.nodes.node(index) is not None:
            self.session.select_node(path, self)
