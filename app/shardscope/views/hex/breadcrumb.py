"""Path to the byte at the caret, from the file to the field, as links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetricsF, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardcore import Node
from shardcore.model.text import shown
from shardscope.session.display_text import cut_middle, node_name
from shardscope.widgets import theme

_SEPARATOR = "<span style='color:{colour}'>&nbsp;›&nbsp;</span>"
_ARROW = " › "
_MOST = 6
_LEFT = 12
"""Pixels left of the path; must match the style sheet."""


class Breadcrumb(QLabel):
    """Path as links: `chosen` carries the `Span` of a part, `file_chosen` is emitted for the first.

    It is one tab stop, with Left, Right and Enter inside; Qt's own link focus would trap Shift+Tab.
    """

    chosen = Signal(object)
    file_chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("breadcrumb")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.LinksAccessibleByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._file = ""
        self._path: Sequence[Node] = ()
        self._at = -1
        self.linkActivated.connect(self._follow)

    def set_path(self, file: str, path: Sequence[Node]) -> None:
        self._file, self._path = file, tuple(path)
        self._go_to(self._last if self.hasFocus() else -1)

    @property
    def _last(self) -> int:
        return max(len(self._path) - 1, 0)

    @property
    def plain(self) -> str:
        return shown(" › ".join([self._file, *(node_name(node) for node in self._path[1:])]))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._go_to(self._last)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go_to(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        there = [number for number in self._kept(self._names()) if number >= 0]
        at = there.index(self._at) if self._at in there else len(there) - 1
        steps = {Qt.Key.Key_Left: at - 1, Qt.Key.Key_Right: at + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(there) - 1}
        if key in steps and there:
            self._go_to(there[min(max(steps[key], 0), len(there) - 1)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.linkActivated.emit(str(self._at))
        else:
            super().keyPressEvent(event)

    def _go_to(self, number: int) -> None:
        self._at = number
        self.setAccessibleDescription(self._names()[number] if 0 <= number < len(self._names()) else "")
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._show()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def _show(self) -> None:
        colours = theme.of(self)
        names = self._names()
        links = [self._link(number, names[number]) if number >= 0 else "…" for number in self._kept(names)]
        self.setText(_SEPARATOR.format(colour=colours.muted.name()).join(links))
        self.setToolTip(f"<span>{escape(self.plain)}</span>")
        self.setAccessibleName(self.plain)

    def _kept(self, names: Sequence[str]) -> list[int]:
        metrics = QFontMetricsF(self.font())
        room = metrics.horizontalAdvance(_ARROW)
        widths = [metrics.horizontalAdvance(_cut(name)) + room for name in names]
        count = len(names)
        for tail in range(min(count - 1, _MOST - 1), 0, -1):
            head = min(count - tail, 2 if tail > 2 else 1)
            whole = head + tail == count
            kept = [*range(head), *([] if whole else [-1]), *range(count - tail, count)]
            if sum(widths[n] if n >= 0 else 2 * room for n in kept) <= self.width() - _LEFT:
                return kept
        return [-1, count - 1] if count > 1 else list(range(count))

    def _names(self) -> list[str]:
        return [shown(name) for name in (self._file or "no file", *(node_name(node) for node in self._path[1:]))]

    def _link(self, number: int, name: str) -> str:
        colours = theme.of(self)
        style = f"color:{(colours.text if number == self._last else colours.accent).name()}"
        if number == self._at:
            style = f"color:{colours.base.name()}; background-color:{colours.accent.name()}"
        return f'<a href="{number}" style="{style}; text-decoration:none">{escape(_cut(name))}</a>'

    def _follow(self, link: str) -> None:
        if link == "0":
            self.file_chosen.emit()
        elif link.isdigit() and int(link) < len(self._path):
            self.chosen.emit(self._path[int(link)].span)


def _cut(name: str) -> str:
    return _ARROW.join(cut_middle(part) for part in name.split(_ARROW))
