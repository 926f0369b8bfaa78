"""The path to the byte with the caret, as links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardcore import Node
from shardscope.looks import theme
from shardscope.looks.shown import shown
from shardscope.looks.words import cut_middle, node_name

_SEPARATOR = "<span style='color:{colour}'>&nbsp;›&nbsp;</span>"
_MOST = 6
_ROOM = 12
"""Pixels that links and separators need besides their letters."""


class Breadcrumb(QLabel):
    """`chosen` carries the `Span` of the part that was clicked."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("breadcrumb")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._file = ""
        self._path: Sequence[Node] = ()
        self.linkActivated.connect(self._follow)

    def set_path(self, file: str, path: Sequence[Node]) -> None:
        """Shows a path; without one, the name of the file alone."""
        self._file, self._path = file, tuple(path)
        self._show()

    @property
    def plain(self) -> str:
        """The path as plain text."""
        return shown(" › ".join([self._file, *(node_name(node) for node in self._path[1:])]))

    def changeEvent(self, event: QEvent) -> None:
        """A new theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other parts fit."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._show()

    def minimumSizeHint(self) -> QSize:
        """As narrow as wanted."""
        return QSize(0, super().minimumSizeHint().height())

    def _show(self) -> None:
        colours = theme.of(self)
        names = self._names()
        links = [self._link(number, names[number]) if number >= 0 else "…" for number in self._kept(names)]
        self.setText(_SEPARATOR.format(colour=colours.faint.name()).join(links))
        self.setToolTip(f"<span>{escape(self.plain)}</span>")
        self.setAccessibleName(self.plain)

    def _kept(self, names: Sequence[str]) -> list[int]:
        """The parts that fit, by number; -1 stands for those left out. The middle of a path says least."""
        bold = self.font()
        bold.setBold(True)
        metrics = QFontMetricsF(bold)
        widths = [metrics.horizontalAdvance(cut_middle(name)) + _ROOM for name in names]
        count = len(names)
        for tail in range(min(count - 1, _MOST - 1), 0, -1):
            head = min(count - tail, 2 if tail > 2 else 1)
            whole = head + tail == count
            kept = [*range(head), *([] if whole else [-1]), *range(count - tail, count)]
            if sum(widths[n] if n >= 0 else 2 * _ROOM for n in kept) <= self.width():
                return kept
        return [-1, count - 1] if count > 1 else list(range(count))

    def _names(self) -> list[str]:
        return [shown(name) for name in (self._file or "no file", *(node_name(node) for node in self._path[1:]))]

    def _link(self, number: int, name: str) -> str:
        colours = theme.of(self)
        last = number == max(len(self._path) - 1, 0)
        colour = (colours.text if last else colours.muted).name()
        weight = 600 if last else 400
        style = f"color:{colour}; text-decoration:none; font-weight:{weight}"
        return f'<a href="{number}" style="{style}">{escape(cut_middle(name))}</a>'

    def _follow(self, link: str) -> None:
        if link.isdigit() and int(link) < len(self._path):
            self.chosen.emit(self._path[int(link)].span)
