"""Report on the changes of a sandbox, as a tree: checks and objects."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from shardcore import Severity, Span
from shardcore.model.text import plural, shown, without_marks
from shardcore.teaching.change_impact import ChangedObject, Fate, Impact
from shardscope.session.display_text import cut_middle, grouped
from shardscope.widgets.plain_text import tip

MOST_LINES = 200
"""Maximum number of listed objects, and of findings per check; the rest is counted."""

_PLACE = int(Qt.ItemDataRole.UserRole)
_KEY = _PLACE + 1

_SIGNS = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.NOTE: "●"}


class _Wrapped(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        tree = self.parent()
        assert isinstance(tree, QTreeWidget)
        depth, above = 1, index.parent()
        while above.isValid():
            depth, above = depth + 1, above.parent()
        width = tree.viewport().width() - depth * tree.indentation() - 10
        font = index.data(Qt.ItemDataRole.FontRole)
        metrics = QFontMetrics(font) if isinstance(font, QFont) else tree.fontMetrics()
        rect = metrics.boundingRect(
            0, 0, max(width, 60), 10_000, int(Qt.TextFlag.TextWordWrap), str(index.data() or "")
        )
        return QSize(width, rect.height() + 4)


class ReportTree(QTreeWidget):
    place_chosen = Signal(object)
    key_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sandboxReport")
        self.setAccessibleName(self.tr("Effect of the changes"))
        self.setColumnCount(1)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(True)
        self.setWordWrap(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)  # a row may be higher than the tree
        self.setIndentation(14)
        self.setItemDelegate(_Wrapped(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.itemActivated.connect(self._chosen)
        self.itemClicked.connect(self._chosen)

    def show_impact(self, impact: Impact) -> None:
        self.clear()
        self._checks(impact)
        self._objects(impact)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def _checks(self, impact: Impact) -> None:
        noticed = [check.name for check in impact.checks if check.notices]
        top = self._top(self.tr("Detected by"), ", ".join(noticed) or self.tr("no check"))
        for check in impact.checks:
            title = self.tr("opening the file") if check.name == "opening" else self.tr("verify {0}").format(check.name)
            words = check.error or (plural(len(check.new), "new finding") if check.new else self.tr("no new findings"))
            line = self._line(top, f"{'✖' if check.notices else '○'} {title}", words)
            for finding in check.new[:MOST_LINES]:
                one = self._line(line, _SIGNS[finding.severity], finding.message)
                one.setToolTip(0, tip(f"{finding.code}\n{grouped(finding.message)}"))
                one.setData(0, _PLACE, finding.span)
            self._more(line, len(check.new))
            line.setExpanded(check.notices)

    def _objects(self, impact: Impact) -> None:
        top = self._top(self.tr("Objects"), self.tr("{0} as before").format(f"{impact.counts.get(Fate.SAME, 0):,}"))
        titles = {
            Fate.WRONG: self.tr("✖ different bytes"),
            Fate.LOST: self.tr("▲ lost: the key is not found"),
            Fate.REFUSED: self.tr("✓ refused with an error"),
            Fate.MENDED: self.tr("✓ returned again"),
        }
        for fate, title in titles.items():
            found = [one for one in impact.objects if one.fate is fate]
            if not found:
                continue
            line = self._line(top, title, plural(len(found), "object"))
            for one in found[:MOST_LINES]:
                self._object(line, one)
            self._more(line, len(found))
            line.setExpanded(fate is Fate.WRONG)
        if impact.left_out:
            self._line(top, self.tr("● not compared"), plural(impact.left_out, "object"))

    def _object(self, line: QTreeWidgetItem, one: ChangedObject) -> None:
        words = one.why
        if one.fate is Fate.WRONG:
            words = f"{words} — {', '.join(one.noticed) or self.tr('not detected')}"
        inner = self._line(line, cut_middle(shown(one.key)), words)
        inner.setToolTip(0, tip(f"{one.key}\n{words}"))
        if one.place is not None:
            inner.setData(0, _PLACE, Span(*one.place))
        else:
            inner.setData(0, _KEY, one.key)

    # --- lines ---

    def _top(self, title: str, words: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([f"{title}: {words}" if words else title])
        font = item.font(0)
        font.setBold(True)
        item.setFont(0, font)
        self.addTopLevelItem(item)
        item.setExpanded(True)
        return item

    def _line(self, parent: QTreeWidgetItem, title: str, words: str) -> QTreeWidgetItem:
        text = grouped(shown(without_marks(words)))
        apart = " " if len(title) == 1 else ": "
        item = QTreeWidgetItem([f"{title}{apart}{text}" if text else title])
        item.setToolTip(0, tip(item.text(0)))
        parent.addChild(item)
        return item

    def _more(self, line: QTreeWidgetItem, count: int) -> None:
        if count > MOST_LINES:
            self._line(line, "…", self.tr("{0} more").format(f"{count - MOST_LINES:,}"))

    def _chosen(self, item: QTreeWidgetItem, _: int) -> None:
        place, key = item.data(0, _PLACE), item.data(0, _KEY)
        if isinstance(place, Span):
            self.place_chosen.emit(place)
        elif key is not None:
            self.key_chosen.emit(key)
