"""Command palette: commands, open files, sections, names and keys in one list, found by typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAction,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QHeaderView,
    QLineEdit,
    QMainWindow,
    QMenu,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardscope.session.display_text import cut_middle
from shardscope.session.documents import titles
from shardscope.session.object_filter import keys_with
from shardscope.session.open_request import name_of
from shardscope.session.session import IndexState, Session
from shardscope.views.hex.address_bar import AddressBar
from shardscope.views.places import folder_text
from shardscope.widgets import theme
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label, tip

COMMAND_SIGN = ">"
MOST_SHOWN, LONGEST = 300, 100

_WIDTH, _ROWS, _LONGEST_FOLDER = 640, 14, 20
"""Width of the palette in pixels at 100 %, maximum number of its rows, and of characters of a folder."""

_MATCHED = 10

_ENTRY = int(Qt.ItemDataRole.UserRole)


class Scope(Enum):
    ALL = "Command, open file, recent file, section, offset or key; > for commands only"
    SHORTCUTS = "Filter shortcuts: command or key"
    TABS = "Filter open files"


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    text: str
    where: str
    run: Callable[[], object]
    keys: str = ""
    enabled: bool = True
    tip: str = ""
    is_command: bool = False


def rank(words: Iterable[str], entry: PaletteEntry) -> int | None:
    """Return how well an entry matches all `words`, which are in lower case: 0 is best, None if one does not match.

    Matches from best to worst: the whole text, its start, start of a word, part, letters in order; menu or shortcut.
    """
    text, rest, total = entry.text.casefold(), f"{entry.where} {entry.keys}".casefold(), 0
    for word in words:
        at = text.find(word)
        if at >= 0:
            total += 0 if text == word else 1 if at == 0 else 2 if not text[at - 1].isalnum() else 3
        elif (gaps := _gaps(word, text)) is not None:
            total += 4 + gaps
        elif word in rest:
            total += 1000
        else:
            return None
    return total


def _gaps(word: str, text: str) -> int | None:
    """Return the least number of letters skipped between the letters of `word`; the first begins a word of `text`."""
    found = []
    for start in (n for n, letter in enumerate(text) if letter == word[0] and not text[n - 1 : n].isalnum()):
        at = start
        for letter in word[1:]:
            at = text.find(letter, at + 1)
            if at < 0:
                break
        else:
            found.append(at - start + 1 - len(word))
    return min(found, default=None)


# --- commands ---


def commands(window: QMainWindow) -> list[tuple[Sequence[str], QAction]]:
    found = {id(action): (path, action) for path, action in _menu_actions(window.menuBar().actions())}
    for action in window.findChildren(QAction):
        if action.shortcuts() and (home := _home(action)):
            found.setdefault(id(action), ((home,), action))
    return list(found.values())


def _menu_actions(actions: Iterable[QAction], *path: str) -> Iterator[tuple[Sequence[str], QAction]]:
    for action in actions:
        if isinstance(menu := action.menu(), QMenu):
            yield from _menu_actions(menu.actions(), *path, plain_text(menu.title()))
        elif not action.isSeparator() and not isinstance(action.parent(), QDockWidget):
            yield path, action


def _home(action: QAction) -> str:
    owner = action.parent()
    while owner is not None and not isinstance(owner, QDockWidget):
        owner = owner.parent()
    return str(action.property("group") or (owner.windowTitle() if isinstance(owner, QDockWidget) else ""))


def plain_text(text: str) -> str:
    return text.partition("\t")[0].replace("&&", "\0").replace("&", "").replace("\0", "&").removesuffix("…").rstrip()


def command(path: Sequence[str], action: QAction) -> PaletteEntry:
    keys = ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())
    text = " › ".join((*path[1:], plain_text(action.text())))
    return PaletteEntry(text, path[0], action.trigger, keys, action.isEnabled(), is_command=True)


def _folder(uri: str) -> str:
    return shown(cut_middle(folder_text(uri), _LONGEST_FOLDER))


# --- the palette ---


class CommandPalette(QWidget):
    """Command palette. It covers the window, so that a click beside its list closes it; then the focus is restored."""

    def __init__(
        self,
        session: Session,
        address: AddressBar,
        recent: QMenu,
        show_row: Callable[[int], object],
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session, self._address, self._recent = session, address, recent
        self._show_row, self._window = show_row, window
        self._scope = Scope.ALL
        self._before: QWidget | None = None
        self._entries: list[PaletteEntry] = []
        self._keys: list[PaletteEntry] = []
        made(self, "paletteCover", accessibleName=self.tr("Command palette"))
        self.box = made(QFrame(self), "palette")
        spoken = self.tr("Search commands, files and keys")
        self.field = made(QLineEdit(), "paletteField", accessibleName=spoken, clearButtonEnabled=True)
        self.list = made(
            QTreeWidget(),
            "paletteList",
            accessibleName=self.tr("Results"),
            columnCount=3,
            headerHidden=True,
            frameShape=QFrame.Shape.NoFrame,
            rootIsDecorated=False,
            uniformRowHeights=True,
            focusPolicy=Qt.FocusPolicy.NoFocus,
            horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff,
        )
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.note = plain_label("")
        lay(QVBoxLayout(self.box), self.field, self.list, self.note, margins=(8, 8, 8, 6), spacing=6)
        self.field.textChanged.connect(self._fill)
        self.list.itemClicked.connect(self._run)
        self.list.currentItemChanged.connect(self._speak)
        self.field.installEventFilter(self)
        window.installEventFilter(self)
        self.hide()

    def open(self, text: str = "", scope: Scope = Scope.ALL) -> None:
        if not self.isVisible():
            self._before = QApplication.focusWidget()
        # Before the field gets the focus, which enables and disables actions.
        self._scope, self._entries, self._keys = scope, list(self._collect(scope)), []
        self.field.setPlaceholderText(self.tr(scope.value))
        if text == self.field.text():
            self._fill()
        else:
            self.field.setText(text)  # fills the list
        self.show()
        self.raise_()
        self._window.activateWindow()
        # With another reason, Qt would select the text.
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave(self) -> None:
        before, self._before = self._before, None
        self.hide()
        if before is not None and isValid(before) and before.isVisible():
            before.activateWindow()  # it may be in a floating panel
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        self.setGeometry(self._window.rect())
        width, top = min(px(_WIDTH), self.width() - px(16)), self._window.menuBar().height()
        rows = min(self.list.topLevelItemCount(), _ROWS)
        self.list.setFixedHeight(min(rows * max(self.list.sizeHintForRow(0), 0) + 2, self.height() - top - px(100)))
        self.box.setGeometry((self.width() - width) // 2, top, width, self.box.sizeHint().height())

    # --- entries ---

    def _collect(self, scope: Scope) -> Iterator[PaletteEntry]:
        documents, recent = self._session.documents, [one for one in self._recent.actions() if one.data()]
        if scope is not Scope.SHORTCUTS:
            for document, title in zip(documents.all, titles(documents.all), strict=True):
                if scope is Scope.TABS or document is not documents.current:
                    where = _folder(document.request.shown) if scope is Scope.TABS else self.tr("Open files")
                    show = partial(documents.show, document)
                    yield PaletteEntry(shown(title), where, show, tip=document.request.shown)
        if scope is Scope.ALL:
            there = {document.request.shown for document in documents.all}
            for action in recent:
                if (uri := action.data()) not in there:
                    yield PaletteEntry(shown(name_of(uri)), _folder(uri), action.trigger, tip=uri)
        if scope is not Scope.TABS:
            found = (command(path, action) for path, action in commands(self._window) if action not in recent)
            yield from (one for one in found if one.keys or scope is Scope.ALL)

    def _found(self, text: str, only_commands: bool) -> Iterator[PaletteEntry]:
        if self._session.shard is None or not text or only_commands or self._scope is not Scope.ALL:
            return
        for choice in self._address.offers(text):
            # A lookup of the typed text is only offered if no key of the index matches it.
            if choice.offset is not None or not self._keys:
                where = self.tr("Look up") if choice.offset is None else self.tr("Go to")
                yield PaletteEntry(shown(choice.words), where, partial(self._address.take, choice), tip=choice.text)
        yield from self._keys

    def _find_keys(self, text: str) -> None:
        self._keys = []
        if not text or self._scope is not Scope.ALL or self._session.index.state is not IndexState.LOADED:
            return

        def take(found: list[tuple[int, str]]) -> None:
            if text == self._text:
                self._keys = [
                    PaletteEntry(shown(cut_middle(key, LONGEST)), self.tr("Key"), partial(self._show_row, row), tip=key)
                    for row, key in found
                ]
                if self.list.currentIndex().row() > 0:
                    # An entry is chosen already: it stays where it is.
                    self.list.addTopLevelItems([self._item(one) for one in self._keys])
                else:
                    self._show()

        find = lambda shard, job: keys_with(text, shard.objects, job.progress)  # noqa: E731
        self._session.ask(find, take, key=("palette", self))

    @property
    def _text(self) -> str:
        return self.field.text().strip()

    def _fill(self) -> None:
        self._find_keys("" if self._text.startswith(COMMAND_SIGN) else self._text)
        self._show()

    def _show(self) -> None:
        only, text = self._text.startswith(COMMAND_SIGN), self._text.removeprefix(COMMAND_SIGN).strip()
        words = text.casefold().split()
        entries = [one for one in self._entries if one.is_command or not only]
        ranked = [(found, entry) for entry in entries if (found := rank(words, entry)) is not None]
        # Offsets and keys were matched already, maybe by a pattern.
        ranked += [(_MATCHED if (found := rank(words, one)) is None else found, one) for one in self._found(text, only)]
        if words:
            ranked.sort(key=lambda one: (one[0], not one[1].enabled, len(one[1].text)))
        self.list.clear()
        self.list.addTopLevelItems([self._item(entry) for _, entry in ranked[:MOST_SHOWN]])
        tabs, now = self._session.documents.all, self._session.documents.current
        at = tabs.index(now) if self._scope is Scope.TABS and not text and now in tabs else 0
        self.list.setCurrentIndex(self.list.model().index(at, 0))
        more = self.tr("The first {0} of {1}").format(MOST_SHOWN, len(ranked)) if len(ranked) > MOST_SHOWN else ""
        self.note.setText(more or ("" if ranked else self.tr("No matches")))
        self.note.setVisible(bool(self.note.text()))
        self._place()

    def _item(self, entry: PaletteEntry) -> QTreeWidgetItem:
        item, colours = QTreeWidgetItem([entry.text, entry.where, entry.keys]), theme.of(self)
        item.setData(0, _ENTRY, entry)
        item.setToolTip(0, tip(entry.tip if entry.enabled else self.tr("Not available now")))
        for column, colour in enumerate((colours.text, colours.muted, colours.muted)):
            item.setForeground(column, colour if entry.enabled else colours.faint)
        return item

    def _speak(self, item: QTreeWidgetItem | None, _: object = None) -> None:
        if item is not None and self.isVisible() and QAccessible.isActive():
            entry = item.data(0, _ENTRY)
            said = entry.text, entry.where, entry.keys, "" if entry.enabled else item.toolTip(0)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.field, ", ".join(filter(None, said))))

    # --- keys and clicks ---

    def _run(self, item: QTreeWidgetItem | None) -> None:
        entry = item.data(0, _ENTRY) if item is not None else None
        if isinstance(entry, PaletteEntry) and entry.enabled:
            self.leave()
            # Later, since an action may close the window or open another list.
            QTimer.singleShot(0, self, entry.run)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Types first: a window that is being deleted still sends events.
        stays = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
        if event.type() is QEvent.Type.Resize:
            if watched is self._window and self.isVisible():
                self._place()
        elif isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            return watched is self.field and self._press(event)
        elif (
            isinstance(event, QFocusEvent)
            and event.lostFocus()
            and event.reason() not in stays
            and watched is self.field
        ):
            self.hide()
        return False

    def _press(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_Up | Qt.Key.Key_PageDown | Qt.Key.Key_PageUp:
                QApplication.sendEvent(self.list, event)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._run(self.list.currentItem())
            case Qt.Key.Key_Escape:
                self.leave()
            case key:
                # The keyboard stays in the field.
                return key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.box.geometry().contains(event.position().toPoint()):
            self.leave()

    def wheelEvent(self, event: QEvent) -> None:
        event.accept()
