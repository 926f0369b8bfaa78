"""Panel of the sandbox: bits of the selected byte, buttons that cut bytes, and a report on the effect of changes."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Severity, Shard, Span
from shardcore.model.text import plural, shown, without_marks
from shardcore.teaching.change_impact import ChangedObject, Fate, Impact
from shardscope.learning.sandbox.banner import press
from shardscope.learning.sandbox.sandbox import Sandbox, SandboxActions
from shardscope.session.display_text import cut_middle, grouped, offset_words
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.wrap_text import WrapText

MOST_LINES = 200
"""Maximum number of lines for objects with the same outcome, or for findings of one check; others are only counted."""

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
        text, wraps = str(index.data() or ""), int(Qt.TextFlag.TextWordWrap)
        return QSize(width, metrics.boundingRect(0, 0, max(width, 60), 10_000, wraps, text).height() + 4)


class ReportTree(QTreeWidget):
    place_chosen = Signal(object)
    key_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(
            self,
            "sandboxReport",
            accessibleName=self.tr("Effect of the changes"),
            columnCount=1,
            headerHidden=True,
            wordWrap=True,
            horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff,
            verticalScrollMode=QAbstractItemView.ScrollMode.ScrollPerPixel,  # a row may be higher than the tree
            indentation=14,
            selectionMode=QAbstractItemView.SelectionMode.SingleSelection,
        )
        self.setItemDelegate(_Wrapped(self))
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
        item = self._line(self.invisibleRootItem(), title, words)
        font = item.font(0)
        font.setBold(True)
        item.setFont(0, font)
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


BITS = range(7, -1, -1)


class BitRow(QWidget):
    flipped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        spoken = self.tr("Bits of the selected byte")
        made(self, "bitRow", accessibleName=spoken, focusPolicy=Qt.FocusPolicy.StrongFocus)
        self._value: int | None = None
        self.keys: dict[int, QToolButton] = {}
        row = lay(QHBoxLayout(self), spacing=2)
        for bit in BITS:
            key = self.keys[bit] = made(QToolButton(), f"bit{bit}", focusPolicy=Qt.FocusPolicy.TabFocus)
            key.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            key.setMinimumWidth(18)
            key.clicked.connect(lambda _=False, bit=bit: self._flip(bit))
            row.addWidget(key)
            if bit == 4:
                row.addSpacing(5)
        self.setFocusProxy(self.keys[7])
        self.set_byte(None)

    def set_byte(self, value: int | None) -> None:
        self._value = value
        for bit, key in self.keys.items():
            key.setText("·" if value is None else str(value >> bit & 1))
            # While the changed file is opened there is no byte: a disabled key would lose the focus.
            key.setEnabled(value is not None or key.hasFocus())
            name = self.tr("Flip bit {0} (value {1})").format(bit, 1 << bit)
            key.setToolTip(name)
            key.setAccessibleName(f"{name}: {key.text()}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        text = event.text()
        if text and text in "01234567":
            self._flip(int(text))
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Right)
        else:
            super().keyPressEvent(event)

    def _flip(self, bit: int) -> None:
        if self._value is not None:
            self.flipped.emit(bit)

    def minimumSizeHint(self) -> QSize:
        return QSize(8 * 20 + 5, super().minimumSizeHint().height())


class SandboxPanel(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "sandboxPanel", accessibleName=self.tr("Sandbox"))
        self._session = session
        self.sandbox = Sandbox(session, self)
        self.actions_ = SandboxActions(self.sandbox, self)
        self._pages: QStackedWidget | None = None

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._build()
        self._changed()
        self._compared()

    def _build(self) -> None:
        if self._pages is not None:
            return
        off, on = self._make_off(), self._make_on()
        self._pages = QStackedWidget(self)
        self._pages.addWidget(scrolled(off, "", self.tr("About the sandbox"), self._pages))
        self._pages.addWidget(scrolled(on, "", self.tr("Changes of the sandbox"), self._pages))
        lay(QVBoxLayout(self), self._pages, spacing=-1)
        self.sandbox.changed.connect(self._changed)
        self.sandbox.compared.connect(self._compared)
        WhileVisible(self._session.selection_changed, self, self._selected)

    def _make_off(self) -> QWidget:
        what = WrapText(self.tr("Change bytes, and see which checks detect it."), bold=True)
        why = WrapText(
            self.tr(
                "A sandbox keeps changes in memory: flip a bit, type over bytes, cut some out. Structure, findings and "
                "objects follow at once. This panel shows which checks detect the change, and which objects are lost. "
                "The file on disk is not changed."
            )
        )
        actions, self.begin, recover, missions = self.actions_, QPushButton(), QPushButton(), QPushButton()
        press(made(self.begin, "breakSafely"), actions.switch, self.tr("Use sandbox"))
        press(recover, actions.salvage, self.tr("Recover objects…"))
        press(missions, actions.missions, self.tr("Missions…"))
        # Controls first: a low panel shows only these.
        row = lay(QHBoxLayout(), self.begin, missions, 1, spacing=8)
        page = made(QWidget(), "sandboxOff")
        column = lay(QVBoxLayout(page), what, row, why, recover, 1, margins=(14, 14, 14, 14), spacing=10)
        column.setAlignment(recover, Qt.AlignmentFlag.AlignLeft)
        return page

    def _make_on(self) -> QWidget:
        self.place, self.bits, self.report, self.news = Elided(), BitRow(), ReportTree(), WrapText()
        self.bits.flipped.connect(self.sandbox.flip)
        self.report.place_chosen.connect(self._session.select_span)
        self.report.key_chosen.connect(self._session.lookup.start)
        self.report.setMinimumHeight(130)
        cut, cut_rest, self.stop = QPushButton(), QPushButton(), QPushButton()
        press(cut, self.actions_.cut, self.tr("Cut the selection"))
        press(cut_rest, self.actions_.cut_rest, self.tr("Cut to the end"))
        self.stop.clicked.connect(lambda _: self._stop_or_go())
        cuts = lay(QHBoxLayout(), cut, cut_rest, 1, spacing=6)
        waiting = lay(QHBoxLayout(), (self.news, 1), self.stop, spacing=8)
        page, parts = QWidget(), (self.place, self.bits, cuts, waiting, (self.report, 1))
        lay(QVBoxLayout(page), *parts, margins=(10, 8, 10, 8), spacing=6)
        return page

    def to_bits(self) -> None:
        self._build()
        self.bits.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # --- showing ---

    def _selected(self, *_: object) -> None:
        place = self.sandbox.place
        if place is None:
            self.place.set_text(self.tr("Select bytes of the file: the selected ones are decoded or in another file"))
            self.bits.set_byte(None)
            return

        def take(data: bytes) -> None:
            if self.sandbox.place == place:
                value = data[0] if data else None
                self.bits.set_byte(value)
                here = "" if value is None else f" = {value:#04x} = {value:,}"
                self.place.set_text(self.tr("Byte {0}{1}").format(offset_words(place.start), here))

        def first(shard: Shard, _: Job) -> bytes:
            source = shard.source
            return source.read(place.start, min(place.start + 1, source.size)) if source is not None else b""

        self._session.ask(first, take, key=("byte", self), priority=JobPriority.SCREEN)

    def _changed(self) -> None:
        if self._pages is not None and self.isVisible():
            self._pages.setCurrentIndex(int(self.sandbox.on))
            if self.sandbox.on:
                self._selected()

    def _compared(self) -> None:
        sandbox = self.sandbox
        if not self.isVisible():
            return
        job, impact = sandbox.comparing, sandbox.impact
        self.stop.setVisible(impact is None and (job is not None or bool(sandbox.error)))
        self.stop.setText(self.tr("Stop") if job is not None else self.tr("Compare"))
        if impact is not None and sandbox.changes:
            self.report.show_impact(impact)
            self.news.set_text(self._headline(impact))
        elif impact is not None:
            self.report.clear()
            self.news.set_text(self.tr("Nothing is changed yet: flip a bit above, or type over the bytes."))
        elif job is not None:
            self.news.set_text(self.tr("Comparing with the original file …"))
        elif sandbox.error:
            self.report.clear()
            self.news.set_text(self.tr("Not compared: {0}").format(sandbox.error))

    def _headline(self, impact: Impact) -> str:
        wrong = [one for one in impact.objects if one.fate is Fate.WRONG]
        lost = [one for one in impact.objects if one.fate in (Fate.LOST, Fate.REFUSED)]
        detected = any(check.notices for check in impact.checks)
        if impact.gone and not lost and not detected:
            return self.tr("✓ Repaired: {0} gone, and {1}.").format(
                plural(len(impact.gone), "finding is", "findings are"),
                plural(len(impact.objects), "object is returned again", "objects are returned again"),
            )
        for found, words in (
            (impact.silent, self.tr("✖ {0} returned with wrong bytes, and no check detects it.")),
            (wrong, self.tr("✖ {0} returned with wrong bytes; only verifying detects it.")),
            (lost, self.tr("▲ {0} no longer returned.")),
        ):
            if found:
                return words.format(plural(len(found), "object is", "objects are"))
        if detected:
            return self.tr("✓ A check detects it, and every object is returned as before.")
        return self.tr("✓ Every object is returned as before, and no check detects the change.")

    def _stop_or_go(self) -> None:
        if self.sandbox.comparing is not None:
            self.sandbox.stop()
        else:
            self.sandbox.compare()
