"""Page of details: rows of name and text in one document, which wrap, can be copied and may be links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from html import escape

from PySide6.QtCore import QEvent, QPoint, QSizeF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFont,
    QKeyEvent,
    QKeySequence,
    QTextCursor,
    QTextOption,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy

from shardcore import SectionRole, Span
from shardcore.dataclasses import dataclass
from shardcore.model.node import ExternalBytes
from shardcore.model.text import shown_lines
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.fonts import MONO, SMALL, points, px, register
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import ResourceFreeText
from shardscope.widgets.table import context_menu

SPACER = 6
"""Font size in pixels of an empty row between groups of rows."""

_LEAST_NAME, _MOST_NAME = 44, 130
"""Minimum and maximum width in pixels of the column of names."""


class Command(Enum):
    """Links that do not select bytes. `FORMAT_PAGE` shows the selected field in the format reference."""

    FORMAT_PAGE = "format page"
    LOAD_INDEX = "load index"
    CHECKSUMS = "checksums"


Link = Span | ExternalBytes | Command | str  # A `str` is text to copy.


@dataclass(frozen=True, slots=True)
class DetailRow:
    """Row of the page; without a name, its text takes the full width.

    Attributes:
        copied: Text to copy instead of `text`, if that is shortened.
        tone: Name of a colour of `theme.Palette`.
        size: Font size in pixels at 100 %; 0 for the font size of the page.
        share: For a bar below the row: section role that gives its colour (None: accent), filled fraction (0 to 1).
    """

    name: str
    text: str
    copied: str = ""
    mono: bool = False
    tone: str = "text"
    strong: bool = False
    link: Link | None = None
    size: int = 0
    note: str = ""
    tip: str = ""
    share: tuple[SectionRole | None, float] | None = None


_BAR = (
    '<tr><td colspan="2"><table width="100%" cellspacing="0" cellpadding="0"><tr style="font-size:3pt">'
    '<td width="{}%" bgcolor="{}" style="padding:0">&nbsp;</td><td bgcolor="{}" style="padding:0">&nbsp;</td>'
    "</tr></table></td></tr>"
)


class DetailsPage(ResourceFreeText):
    """Shows the rows as a table in one document, as high as its text. One label per cell would be slower."""

    followed = Signal(object)

    rows: tuple[DetailRow, ...] = ()
    corner = 0
    """Width in pixels that is left free for a button at the end of the first row."""

    def __init__(self, name: str, spoken: str) -> None:
        super().__init__()
        register()
        self._at: list[int] = []
        """Index in `rows` for each line of the table: a row with a bar takes two lines."""
        made(self, name, accessibleName=spoken, openLinks=False, frameShape=QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)
        self.document().setDefaultStyleSheet("td { padding-bottom: 5px; white-space: pre-wrap; }")
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.anchorClicked.connect(self._follow)
        self.hide()

    def set_rows(self, rows: Sequence[DetailRow]) -> None:
        if (new := tuple(rows)) != self.rows:
            self.rows = new
            # Only links are reached by Tab.
            links = any(row.link is not None for row in new)
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if links else Qt.FocusPolicy.ClickFocus)
            self._render()
        self.setVisible(bool(new))

    def row(self, name: str) -> DetailRow | None:
        return next((row for row in self.rows if row.name == name), None)

    def _fit(self, size: QSizeF) -> None:
        self.setFixedHeight(math.ceil(size.height()))

    def _render(self) -> None:
        colours, metrics, lines = theme.of(self), self.fontMetrics(), []
        names = [metrics.horizontalAdvance(row.name) + 8 for row in self.rows if row.share is None]
        width = max(min(max(names, default=0), px(_MOST_NAME)), _LEAST_NAME)
        muted, raised = colours.muted.name(), colours.raised.name()
        self._at = []
        for number, row in enumerate(self.rows):
            self._at.append(number)
            text = self._text(number, row, colours)
            name = escape(row.name if row.name.isprintable() else shown_lines(row.name))
            if row.share is not None:
                role, share = row.share
                filled = (colours.accent if role is None else colours.section(role)).name()
                lines.append(f'<tr><td>{text}</td><td align="right" style="color:{muted}">{name}</td></tr>')
                lines.append(_BAR.format(max(round(100 * share), 1), filled, raised))
                self._at.append(number)
            elif row.name:
                lines.append(f'<tr><td width="{width}" style="color:{muted}">{name}</td>')
                lines.append(f"<td>{text}</td></tr>")
            else:
                room = self.corner if not number else 0
                lines.append(f'<tr><td colspan="2" style="padding-right:{room}px">{text}</td></tr>')
        self.setHtml(f'<table width="100%" cellspacing="0" cellpadding="0">{"".join(lines)}</table>')

    def _text(self, number: int, row: DetailRow, colours: theme.Palette) -> str:
        """Return the text of a row as HTML, with its note; the target of a link is the index of the row."""
        colour = colours.accent if row.link is not None else getattr(colours, row.tone)
        style = f"color:{colour.name()};"
        if row.mono:
            style += f"font-family:'{MONO}';"
        if row.strong:
            style += f"font-weight:{int(QFont.Weight.DemiBold)};"
        if row.size:
            style += f"font-size:{points(row.size)}pt;"
        text = escape(row.text if row.text.isprintable() else shown_lines(row.text))
        if row.link is None:
            text = f'<span style="{style}">{text}</span>'
        else:
            text = f'<a href="{number}" title="{escape(row.tip)}" style="{style}text-decoration:none;">{text}</a>'
        if row.note:
            small = f"color:{colours.muted.name()};font-size:{points(SMALL)}pt;"
            text += f'\n<span style="{small}">{escape(row.note)}</span>'
        return text

    # --- following and copying ---

    def _follow(self, url: QUrl) -> None:
        self.followed.emit(self.rows[int(url.toString())].link)

    def _row_at(self, cursor: QTextCursor) -> DetailRow | None:
        if not self.rows:
            return None
        # A bar is a table within its cell.
        table = self.document().rootFrame().childFrames()[0]
        line = table.cellAt(cursor.position()).row() if isinstance(table, QTextTable) else 0
        return self.rows[self._at[line]]

    def _copy(self, cursor: QTextCursor) -> None:
        """Copy the selected text. If no text or a whole row is selected, copy the full text of the row."""
        row, part = self._row_at(cursor), self.textCursor().selection().toPlainText()
        if row is not None and part in ("", row.text):
            copy_lines(row.copied or row.text)
        else:
            copy_lines(part)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy(self.textCursor())
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        # The scroll area around the page scrolls instead.
        event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        cursor = self.cursorForPosition(event.pos()) if by_mouse else self.textCursor()
        row = self._row_at(cursor)
        link = row.link if row is not None else None
        go = link is not None and not isinstance(link, str) and (self.tr("&Go there"), lambda: self.followed.emit(link))
        menu = context_menu(self, [go, (self.tr("&Copy"), lambda: self._copy(cursor))])
        menu.popup(event.globalPos() if by_mouse else self.mapToGlobal(QPoint(0, 0)))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if self.rows and event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._render()
