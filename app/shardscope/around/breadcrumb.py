"""The path to the byte with the caret, as links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardcore import Node
from shardscope.looks import theme
from shardscope.looks.shown import shown
from shardscope.looks.words import cut_middle

_SEPARATOR = "<span style='color:{colour}'>&nbsp;›&nbsp;</span>"
_MOST = 6


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
        return shown(" › ".join([self._file, *(node.name for node in self._path[1:])]))

    def changeEvent(self, event: QEvent) -> None:
        """A new theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show()

    def _show(self) -> None:
        colours = theme.of(self)
        parts = [self._link(number, name) for number, name in enumerate(self._names())]
        # The middle of a deep path says least.
        if len(parts) > _MOST:
            parts = [*parts[:2], "…", *parts[-(_MOST - 3) :]]
        self.setText(_SEPARATOR.format(colour=colours.faint.name()).join(parts))
        self.setToolTip(escape(self.plain))
        self.setAccessibleName(self.plain)

    def _names(self) -> list[str]:
        return [shown(name) for name in (self._file or "no file", *(node.name for node in self._path[1:]))]

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
