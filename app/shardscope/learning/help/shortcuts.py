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
from shardscope.widgets.layouts import lay, made

_ACTION = int(Qt.ItemDataRole.UserRole)


@dataclass(frozen=True, slots=True)
class Shortcut:
    group: str
    text: str
    keys: str
    action: QAction


def shortcuts(window: QMainWindow) -> list[Shortcut]:
    menus = [action.menu() for action in window.menuBar().actions()]
    everything = [(_plain(menu.title()), one) for menu in menus if isinstance(menu, QMenu) for one in _actions(menu)]
    everything += [(_home(action), action) for action in window.findChildren(QAction) if _home(action)]
    found: dict[int, Shortcut] = {}
    for group, action in everything:
        keys = ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())
        if keys and id(action) not in found:
            found[id(action)] = Shortcut(group, _plain(action.text()), keys, action)
    return list(found.values())


def _actions(menu: QMenu) -> Iterator[QAction]:
    for action in menu.actions():
        if isinstance(below := action.menu(), QMenu):
            yield from _actions(below)
        else:
            yield action


def _home(action: QAction) -> str:
    owner = action.parent()
    while owner is not None and not isinstance(owner, QDockWidget):
        owner = owner.parent()
    return str(action.property("group") or (owner.windowTitle() if isinstance(owner, QDockWidget) else ""))


def _plain(text: str) -> str:
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").removesuffix("…").rstrip()


class ShortcutDialog(QDialog):
    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        made(self, "shortcutSheet", windowTitle=self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = made(
            QLineEdit(),
            "shortcutSearch",
            placeholderText=self.tr("Filter: action or key"),
            accessibleName=self.tr("Search shortcuts"),
            clearButtonEnabled=True,
        )
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        self.list = made(
            QTreeWidget(),
            "shortcutList",
            accessibleName=self.tr("Shortcuts"),
            columnCount=2,
            headerHidden=True,
            frameShape=QFrame.Shape.NoFrame,
            rootIsDecorated=False,
            itemsExpandable=False,
            indentation=12,
        )
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.itemActivated.connect(self._run)
        self.note = QLabel()
        self.note.setForegroundRole(self.note.palette().ColorRole.PlaceholderText)
        lay(QVBoxLayout(self), self.field, (self.list, 1), self.note, margins=(12, 12, 12, 10), spacing=8)
        self._fill(shortcuts(window))
        self._filter("")
        self.resize(520, 680)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._window.activateWindow()

    def _fill(self, found: list[Shortcut]) -> None:
        self._items: list[tuple[QTreeWidgetItem, list[QTreeWidgetItem]]] = []
        groups = dict.fromkeys(entry.group for entry in found)
        bold, mono = self.list.font(), theme.fixed_font(self.font().pointSizeF())
        bold.setBold(True)
        for group in groups:
            head = QTreeWidgetItem(self.list, [group])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setFirstColumnSpanned(True)
            head.setFont(0, bold)
            head.setTextAlignment(0, Qt.AlignmentFlag.AlignBottom)
            head.setSizeHint(0, QSize(0, self.fontMetrics().height() + 14))
            items = []
            for entry in (one for one in found if one.group == group):
                item = QTreeWidgetItem(head, [entry.text, entry.keys])
                item.setData(0, _ACTION, entry.action)
                item.setFont(1, mono)
                if not entry.action.isEnabled():
                    for column in (0, 1):
                        item.setForeground(column, theme.of(self).muted)
                    item.setToolTip(0, self.tr("Not available now"))
                items.append(item)
            self._items.append((head, items))
        self.list.expandAll()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for head, items in self._items:
            for item in items:
                whole = f"{head.text(0)} {item.text(0)} {item.text(1)}".casefold()
                item.setHidden(not all(word in whole for word in words))
            head.setHidden(all(item.isHidden() for item in items))
        found = self.shown()
        runs, none = self.tr("Return runs the selected action · Esc closes"), self.tr("No matching shortcuts")
        self.note.setText(runs if found else none)
        if words and found:
            self.list.setCurrentItem(found[0])
        else:
            self.list.clearSelection()
            self.list.selectionModel().clearCurrentIndex()

    def shown(self) -> list[QTreeWidgetItem]:
        return [item for _, items in self._items for item in items if not item.isHidden()]

    def _run(self, item: QTreeWidgetItem) -> None:
        action = item.data(0, _ACTION)
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            # After the window has the focus again: an action may depend on the focused widget.
            QTimer.singleShot(0, action, action.trigger)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.field or not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        current, items = self.list.currentItem(), self.shown()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if current is not None:
                self._run(current)
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            by = 1 if event.key() == Qt.Key.Key_Down else -1
            place = items.index(current) + by if current in items else 0
            if 0 <= place < len(items):
                self.list.setCurrentItem(items[place])
        else:
            return False
        return True


def show_shortcuts(window: QMainWindow) -> ShortcutDialog:
    # A closed dialog exists until the event loop deletes it.
    open_ones = [sheet for sheet in window.findChildren(ShortcutDialog) if sheet.isVisible()]
    sheet = open_ones[0] if open_ones else ShortcutDialog(window)
    sheet.show()
    sheet.raise_()
    sheet.activateWindow()
    sheet.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
    return sheet
