"""Report on the changes of a sandbox, as a tree: checks, objects and other readers."""

from __future__ import annotations

from collections.abc import Sequence

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

from shardcore import Finding, Severity, Span
from shardcore.model.number_words import plural
from shardcore.model.other_readers import Peer, ReaderAnswer
from shardcore.model.text import shown, without_marks
from shardcore.teaching.impact import ChangedObject, Fate, Impact, ImpactCheck
from shardscope.session.words import cut_middle, grouped
from shardscope.widgets.plain_text import tip

MOST_LINES = 200
"""Objects, and findings of one check, that are listed; of more, how many there are."""

FEW = 3
"""Up to so many findings of one code stand by themselves."""

_PLACE = int(Qt.ItemDataRole.UserRole)
_KEY = _PLACE + 1

_SIGNS = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.NOTE: "●"}
_ANSWERS = {ReaderAnswer.WRONG: "✖", ReaderAnswer.CRASHES: "✖", ReaderAnswer.IGNORES: "▲", ReaderAnswer.REFUSES: "✓"}
_WORST = (Fate.WRONG, Fate.LOST, Fate.REFUSED, Fate.MENDED)


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
        self.setAccessibleName(self.tr("What the changes do"))
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

    def show_impact(self, impact: Impact, peers: Sequence[Peer]) -> None:
        self.clear()
        self._checks(impact)
        self._objects(impact)
        if peers:
            top = self._top(self.tr("Other readers"), "")
            for peer in peers:
                answer = peer.answer.value
                self._line(top, f"{_ANSWERS[peer.answer]} {peer.name}", f"{answer}. {peer.says}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def _checks(self, impact: Impact) -> None:
        noticed = [check for check in impact.checks if check.notices]
        notes = sum(len(check.new) for check in impact.checks)
        if noticed:
            words = ", ".join(check.name for check in noticed)
        elif notes:
            words = self.tr("no check; {0}").format(plural(notes, "new note"))
        else:
            words = self.tr("no check")
        top = self._top(self.tr("Detected by"), words)
        for check in impact.checks:
            self._check(top, check)
        if impact.gone:
            line = self._line(top, self.tr("○ no longer found"), plural(len(impact.gone), "finding"))
            for finding in impact.gone[:MOST_LINES]:
                self._line(line, finding.code, finding.message)

    def _check(self, top: QTreeWidgetItem, check: ImpactCheck) -> None:
        title = self.tr("opening the file") if check.name == "opening" else self.tr("verify {0}").format(check.name)
        if check.error:
            line = self._line(top, f"✖ {title}", check.error)
        elif check.new:
            what = "new finding" if check.notices else "new note"
            line = self._line(top, f"{'✖' if check.notices else '●'} {title}", plural(len(check.new), what))
        else:
            line = self._line(top, f"○ {title}", self.tr("nothing new"))
        by_code: dict[str, list[Finding]] = {}
        for finding in check.new:
            by_code.setdefault(finding.code, []).append(finding)
        for code, found in by_code.items():
            inner = line
            if len(found) > FEW:
                inner = self._line(line, f"{_SIGNS[found[0].severity]} {code}", plural(len(found), "finding"))
            for finding in found[:MOST_LINES]:
                one = self._line(inner, _SIGNS[finding.severity], finding.message)
                one.setToolTip(0, tip(f"{finding.code}\n{grouped(finding.message)}"))
                one.setData(0, _PLACE, finding.span)
            self._more(inner, len(found))
        line.setExpanded(check.notices)

    def _objects(self, impact: Impact) -> None:
        same = impact.counts.get(Fate.SAME, 0)
        before = self.tr("{0} as before").format(f"{same:,}")
        if impact.unreadable:
            before += self.tr(", {0} of them not readable").format(f"{impact.unreadable:,}")
        top = self._top(self.tr("Objects"), before)
        titles = {
            Fate.WRONG: self.tr("● other bytes than before") if impact.gone else self.tr("✖ wrong bytes"),
            Fate.LOST: self.tr("▲ lost: the key is not found"),
            Fate.REFUSED: self.tr("✓ refused with an error"),
            Fate.MENDED: self.tr("✓ returned again, which they were not"),
        }
        for fate in _WORST:
            found = [one for one in impact.objects if one.fate is fate]
            if not found:
                continue
            silent = sum(not one.noticed for one in found) if fate is Fate.WRONG else 0
            words = plural(len(found), "object")
            if silent and not impact.gone:
                words = self.tr("{0}, {1} of them not detected").format(words, f"{silent:,}")
            line = self._line(top, titles[fate], words)
            for one in found[:MOST_LINES]:
                self._object(line, one, better=bool(impact.gone))
            self._more(line, len(found))
            line.setExpanded(fate is Fate.WRONG)
        if impact.appeared:
            count = len(impact.appeared) + impact.more_appeared
            line = self._line(top, self.tr("● keys that were not there"), plural(count, "key"))
            for key in impact.appeared:
                self._line(line, cut_middle(shown(key), 40), "").setData(0, _KEY, key)
        if impact.left_out:
            self._line(top, self.tr("● not compared"), plural(impact.left_out, "object"))

    def _object(self, line: QTreeWidgetItem, one: ChangedObject, *, better: bool) -> None:
        words = one.why
        if one.fate is Fate.WRONG and not better:
            who = ", ".join(one.noticed) or self.tr("not detected")
            words = f"{words} — {who}"
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
