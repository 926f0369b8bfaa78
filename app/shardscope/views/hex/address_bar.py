"""Address field: an offset, expression, name or key with a live preview; Enter goes there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QCompleter, QHBoxLayout, QLabel, QLineEdit, QListView, QSizePolicy, QWidget

from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardcore.operations.offset_expression import GotoError, GotoNames, evaluate
from shardscope.session.byte_marks import section_at
from shardscope.session.display_text import cut_middle, offset_words
from shardscope.session.lookup import LEAST_PREFIX
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import RIGHT

MOST_NAMES = 8
MOST_KEYS = 6
LONGEST_KEY = 44

_DIGITS = re.compile(r"[0-9a-f]*[a-f][0-9a-f]*", re.IGNORECASE)
"""Matches hexadecimal digits that are not a decimal number, and so not an offset."""


@dataclass(frozen=True, slots=True)
class EntryMeaning:
    """One meaning of a typed text: an offset to go to, or a key to look up if `offset` is None."""

    text: str
    words: str
    offset: int | None = None


@dataclass(frozen=True)
class EntryContext:
    """Names and keys with which a typed text is matched; `keys` are those of objects that are loaded."""

    places: GotoNames
    is_key: Callable[[str], bool]
    keys: Iterable[str] = ()


def meanings(text: str, known: EntryContext) -> tuple[list[EntryMeaning], GotoError | None]:
    """Return the meanings of a typed text, an offset before a key, and the error if there are none, else None."""
    found: list[EntryMeaning] = []
    trouble = GotoError("enter a number, a name or a key")
    try:
        found.append(_place(text, known.places))
    except GotoError as error:
        trouble = error
    begins = len(text) >= LEAST_PREFIX and (
        _DIGITS.fullmatch(text) is not None or any(key.startswith((text, text.lower())) for key in known.keys)
    )
    if text and (begins or known.is_key(text)):
        found.append(_object(text))
    return found, None if found else trouble


def choices(text: str, known: EntryContext, recent: Sequence[EntryMeaning] = ()) -> list[EntryMeaning]:
    """Return the completions of a typed text: its meanings, then matching names, keys and recent entries."""
    if not text:
        return list(recent)
    found, _ = meanings(text, known)
    wanted = text.lower()
    names = [name for name in known.places.names if wanted in name.lower() and name != text]
    for name in names[:MOST_NAMES]:
        # The value of a field may be outside the file.
        with suppress(GotoError):
            found.append(_place(name, known.places))
    begin = (key for key in known.keys if key.lower().startswith(wanted) and key != text)
    keys = [_object(key) for key in islice(begin, MOST_KEYS)]
    if keys and not known.is_key(text):
        # Loaded keys with this prefix are offered instead.
        found = [one for one in found if one != _object(text)]
    offered: dict[tuple[bool, str], EntryMeaning] = {}
    for one in (*found, *keys, *(one for one in recent if wanted in one.text.lower())):
        offered.setdefault((one.offset is None, one.text), one)
    return list(offered.values())


def _place(text: str, places: GotoNames) -> EntryMeaning:
    offset = evaluate(text, places)
    section = section_at(places.sections, offset)
    where = f" · {section.name}" if section is not None else ""
    named = "" if text == str(offset) else f"{cut_middle(text, LONGEST_KEY)} · "
    return EntryMeaning(text, f"{named}byte {offset_words(offset)}{where}", offset)


def _object(key: str) -> EntryMeaning:
    return EntryMeaning(key, f"object {cut_middle(key, LONGEST_KEY)}")


class PressThrough(QObject):
    """Passes a click beside a popup on to the widget under it; Qt's completer would discard it."""

    def __init__(self, popup: QWidget) -> None:
        super().__init__(popup)
        self._popup = popup
        popup.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent) or event.type() != QEvent.Type.MouseButtonPress:
            return False
        if watched is not self._popup or self._popup.rect().contains(event.position().toPoint()):
            return False
        self._popup.hide()
        place = event.globalPosition()
        under = QApplication.widgetAt(place.toPoint())
        if under is not None:
            # Qt does not deliver the release after a press that closed a popup, so both are sent.
            local = QPointF(under.mapFromGlobal(place))
            button, held, keys = event.button(), event.buttons(), event.modifiers()
            none = Qt.MouseButton.NoButton
            for kind, buttons in ((QEvent.Type.MouseButtonPress, held), (QEvent.Type.MouseButtonRelease, none)):
                QApplication.sendEvent(under, QMouseEvent(kind, local, place, button, buttons, keys))
        return True


MOST_RECENT = 20

_CHOICE = int(Qt.ItemDataRole.UserRole)
_TEXT = _CHOICE + 1
_SHARE = 0.55
"""Maximum width of the preview, as a fraction of the width of the address field."""


class AddressBar(QWidget):
    """Address field. Signal `chosen` carries an offset, `key_chosen` a key; `left` requests to focus the bytes."""

    chosen = Signal(object)
    key_chosen = Signal(object)
    left = Signal()

    def __init__(self, known: Callable[[], EntryContext], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._known = known
        self._recent: deque[EntryMeaning] = deque(maxlen=MOST_RECENT)
        self._place: int | None = None
        hint = self.tr("Offset, expression, name or key: 0x10, -72, index+40, header.version")
        spoken = self.tr("Go to an offset, an expression or a name, or look up a key")
        about = self.tr(
            "Offsets: 4096, 4,096, 0x1000, 4Ki · from the end: -72 · from the caret: +0x10<br>"
            "Names: index+12*40, objects.stop, header.index_position (the field), "
            "*header.index_position (where it points to)<br>"
            "Keys: anything else is looked up; a prefix is enough"
        )
        self.field = made(QLineEdit(), "addressField", accessibleName=spoken, toolTip=about, placeholderText=hint)
        self.field.setClearButtonEnabled(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        # Inside the field, so that nothing beside it moves.
        self.preview = made(Elided(greedy=True, parent=self.field), "addressPreview", alignment=RIGHT, visible=False)
        self.preview.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._offers = QStandardItemModel(self)
        self.completer = made(QCompleter(self._offers, self), maxVisibleItems=14)
        self.list = made(QListView(), "addressOffers")
        self.completer.setPopup(self.list)
        PressThrough(self.list)
        self.completer.setCompletionRole(_TEXT)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.activated[QModelIndex].connect(self._offer_taken)  # type: ignore[index]
        self.field.setCompleter(self.completer)
        self.label = QLabel(self.tr("Go to:"))
        self.label.setBuddy(self.field)
        lay(QHBoxLayout(self), self.label, self.field, spacing=6)
        self.field.textEdited.connect(lambda _: self._offer())
        self.field.textChanged.connect(self._preview)
        self.field.returnPressed.connect(self._go)
        self.field.installEventFilter(self)

    def start(self) -> None:
        self._offer()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self._preview()

    def clear(self) -> None:
        self._recent.clear()
        self.field.clear()

    def show_place(self, offset: int | None) -> None:
        """Show the current offset (None: no selection), unless the field already means it or is being edited."""
        self._place = offset
        if not self.field.hasFocus():
            self._show_present()

    def _show_present(self) -> None:
        if not (text := self._text):
            return
        found, _ = meanings(text, self._known())
        if not found or found[0].offset is None or found[0].offset != self._place:
            self.field.setText("" if self._place is None else offset_words(self._place))
            self._hide_preview()

    @property
    def _text(self) -> str:
        return self.field.text().strip()

    @property
    def key(self) -> str:
        text = self._text
        return text if text and self._known().is_key(text) else ""

    def sizeHint(self) -> QSize:
        return QSize(360, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_preview()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field:
            if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
                if event.key() == Qt.Key.Key_Escape and not self._list_is_open():
                    self._show_present()
                    self._hide_preview()
                    self.left.emit()
                    return True
                if event.key() == Qt.Key.Key_Down and not self._list_is_open():
                    self._offer()
                    self.completer.complete()
                    return True
            if event.type() == QEvent.Type.FocusOut and not self._list_is_open():
                self._hide_preview()
        return super().eventFilter(watched, event)

    # --- suggestions ---

    def _list_is_open(self) -> bool:
        return self.list.isVisible()

    def offers(self, text: str) -> list[EntryMeaning]:
        return choices(text, self._known())

    def _offer(self) -> None:
        text = self._text
        found = choices(text, self._known(), self._recent)
        same = [one for one in found if one.text == text]
        self._offers.clear()
        for one in found:
            item = QStandardItem(shown(one.words) + ("   ⏎ Enter" if len(same) > 1 and one is same[0] else ""))
            item.setData(one, _CHOICE)
            item.setData(one.text, _TEXT)
            item.setToolTip(tip(one.text))
            item.setEditable(False)
            self._offers.appendRow(item)

    def _offer_taken(self, index: QModelIndex) -> None:
        choice = index.data(_CHOICE)
        if isinstance(choice, EntryMeaning):
            self.take(choice)

    # --- the preview ---

    def _preview(self) -> None:
        if not (text := self._text):
            self._hide_preview()
            return
        found, trouble = meanings(text, self._known())
        if trouble is not None:
            self._say(trouble.message, wrong=True)
            return
        said = "→ look up this key" if found[0].offset is None else f"→ {found[0].words.rpartition('byte ')[2]}"
        self._say(self.tr("{0}; ↓ for the object").format(said) if len(found) > 1 else said, wrong=False)

    def _say(self, text: str, *, wrong: bool) -> None:
        colours = theme.of(self)
        self.preview.set_text(text)
        self.preview.setStyleSheet(
            f"background: transparent; color: {(colours.error if wrong else colours.muted).name()}"
        )
        self.preview.show()
        self._place_preview()

    def _hide_preview(self) -> None:
        self.preview.hide()
        self.field.setTextMargins(0, 0, 0, 0)

    def _place_preview(self) -> None:
        if self.preview.isHidden():
            return
        needed = self.preview.fontMetrics().horizontalAdvance(self.preview.text()) + 8
        width = min(needed, round(self.field.width() * _SHARE))
        button = 30
        self.preview.setGeometry(self.field.width() - width - button, 0, width, self.field.height())
        self.field.setTextMargins(0, 0, width, 0)

    # --- going ---

    def _go(self) -> None:
        if self._list_is_open() and self.list.currentIndex().isValid():
            self._offer_taken(self.list.currentIndex())
            return
        if not (text := self._text):
            return
        found, trouble = meanings(text, self._known())
        if trouble is not None:
            self._say(trouble.message, wrong=True)
            self.field.setSelection(trouble.position, len(self.field.text()))
            return
        self.take(found[0])

    def take(self, choice: EntryMeaning) -> None:
        self.list.hide()
        if choice in self._recent:
            self._recent.remove(choice)
        self._recent.appendleft(choice)
        self._hide_preview()
        if choice.offset is not None:
            self.chosen.emit(choice.offset)
        else:
            self.key_chosen.emit(choice.text)
        self.left.emit()
