"""Dialog of keyboard shortcuts, collected from the actions of the window when it opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDockWidget,
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenu,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
)

from shardscope.widgets import theme

_ACTION = int(Qt.ItemDataRole.UserRole)


@dataclass(frozen=True, slots=True)
class Shortcut:
    group: str
    text: str
    keys: str
    action: QAction


def shortcuts(window: QMainWindow) -> list[Shortcut]:
    found: list[Shortcut] = []
    seen: set[int] = set()
    everything = [(_plain(menu.title()), action) for menu in _menus(window) for action in _actions(menu)]
    everything += [(_home(action), action) for action in window.findChildren(QAction) if _home(action)]
    for group, action in everything:
        keys = ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())
        if keys and id(action) not in seen:
            seen.add(id(action))
            found.append(Shortcut(group, _plain(action.text()), keys, action))
    return found


def _menus(window: QMainWindow) -> Iterator[QMenu]:
    for action in window.menuBar().actions():
        if isinstance(menu := action.menu(), QMenu):
            yield menu


def _actions(menu: QMenu) -> Iterator[QAction]:
    for action in menu.actions():
        below = action.menu()
        if isinstance(below, QMenu):
            yield from _actions(below)
        elif not action.isSeparator():
            yield action


def _home(action: QAction) -> str:
    if group := action.property("group"):
        return str(group)
    owner = action.parent()
    while owner is not None:
        if isinstance(owner, QDockWidget):
            return owner.windowTitle()
        owner = owner.parent()
    return ""


def _plain(text: str) -> str:
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").removesuffix("…").rstrip()


class ShortcutDialog(QDialog):
    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("shortcutSheet")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QLineEdit()
        self.field.setObjectName("shortcutSearch")
        self.field.setPlaceholderText(self.tr("Filter: action or key"))
        self.field.setAccessibleName(self.tr("Search shortcuts"))
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        self.list = QTreeWidget()
        self.list.setObjectName("shortcutList")
        self.list.setAccessibleName(self.tr("Shortcuts"))
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setRootIsDecorated(False)
        self.list.setItemsExpandable(False)
        self.list.setIndentation(12)
        self.list.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.itemActivated.connect(self._do)
        self.note = QLabel()
        self.note.setForegroundRole(self.note.palette().ColorRole.PlaceholderText)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        column.addWidget(self.field)
        column.addWidget(self.list, 1)
        column.addWidget(self.note)
        self._fill(shortcuts(window))
        self._filter("")
        self.resize(520, 680)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._window.activateWindow()

    def _fill(self, found: list[Shortcut]) -> None:
        heads: dict[str, QTreeWidgetItem] = {}
        for entry in found:
            if entry.group not in heads:
                head = heads[entry.group] = QTreeWidgetItem(self.list, [entry.group])
                head.setFlags(Qt.ItemFlag.ItemIsEnabled)
                head.setFirstColumnSpanned(True)
                font = self.list.font()
                font.setBold(True)
                head.setFont(0, font)
                head.setTextAlignment(0, Qt.AlignmentFlag.AlignBottom)
                head.setSizeHint(0, QSize(0, self.fontMetrics().height() + 14))
            item = QTreeWidgetItem(heads[entry.group], [entry.text, entry.keys])
            item.setData(0, _ACTION, entry.action)
            item.setFont(1, theme.fixed_font(self.font().pointSizeF()))
            if not entry.action.isEnabled():
                for column in (0, 1):
                    item.setForeground(column, theme.of(self).muted)
                item.setToolTip(0, self.tr("Not available now"))
        self.list.expandAll()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for head, items in self._groups():
            for item in items:
                whole = f"{head.text(0)} {item.text(0)} {item.text(1)}".casefold()
                item.setHidden(not all(word in whole for word in words))
            head.setHidden(all(item.isHidden() for item in items))
        found = self.shown()
        self.note.setText(
            self.tr("Return runs the selected action · Esc closes") if found else self.tr("No matching shortcuts")
        )
        if words and found:
            self.list.setCurrentItem(found[0])
        else:
            self.list.clearSelection()
            self.list.selectionModel().clearCurrentIndex()

    def _groups(self) -> Iterator[tuple[QTreeWidgetItem, list[QTreeWidgetItem]]]:
        heads = (self.list.topLevelItem(number) for number in range(self.list.topLevelItemCount()))
        for head in heads:
            if head is not None:
                below = (head.child(place) for place in range(head.childCount()))
                yield head, [item for item in below if item is not None]

    def shown(self) -> list[QTreeWidgetItem]:
        return [item for _, items in self._groups() for item in items if not item.isHidden()]

    def _do(self, item: QTreeWidgetItem) -> None:
        action = item.data(0, _ACTION)
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            # After the window has the focus again: an action may depend on the focused widget.
            QTimer.singleShot(0, action, action.trigger)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self._step(1 if event.key() == Qt.Key.Key_Down else -1)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if (item := self.list.currentItem()) is not None:
                    self._do(item)
                return True
        return super().eventFilter(watched, event)

    def _step(self, by: int) -> None:
        items = self.shown()
        current = self.list.currentItem()
        place = items.index(current) + by if current in items else 0
        if 0 <= place < len(items):
            self.list.setCurrentItem(items[place])


def show_shortcuts(window: QMainWindow) -> ShortcutDialog:
    # A closed dialog exists until the event loop deletes it.
    open_ones = [sheet for sheet in window.findChildren(ShortcutDialog) if sheet.isVisible()]
    sheet = open_ones[0] if open_ones else ShortcutDialog(window)
    sheet.show()
    sheet.raise_()
    sheet.activateWindow()
    sheet.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
    return sheet
