"""View of a Markdown page with tables in the colours of the theme. No resource is loaded."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)
from PySide6.QtWidgets import QFrame, QWidget

from shardscope.learning.help.help_pages import HelpPage
from shardscope.widgets import theme
from shardscope.widgets.fonts import LARGE, NORMAL, TITLE, mono, points
from shardscope.widgets.plain_text import ResourceFreeText


class PageView(ResourceFreeText):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pageText")
        self.setAccessibleName(self.tr("Page"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._page: HelpPage | None = None
        self._made: QTextDocument | None = None
        self._lit: tuple[QTextTable, int] | None = None
        self.anchorClicked.connect(lambda url: self.chosen.emit(url.toString()))

    @property
    def page(self) -> HelpPage | None:
        return self._page

    @property
    def lit(self) -> str:
        if self._lit is None:
            return ""
        table, row = self._lit
        return " ".join(_cell_text(table, row, column) for column in range(min(table.columns(), 2)))

    def show_page(self, page: HelpPage) -> None:
        self._page = page
        self._render()
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(0)

    def highlight(self, address: str) -> bool:
        self._tint(None)
        self._lit = self._row(address) if address else None
        self._tint(theme.of(self).selection)
        if self._lit is None:
            return False
        table, row = self._lit
        self.setTextCursor(table.cellAt(row, 0).firstCursorPosition())
        self._reveal()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._reveal()

    def _reveal(self) -> None:
        if self._lit is None:
            return
        table, row = self._lit
        place = self.cursorRect(table.cellAt(row, 0).firstCursorPosition())
        if not 40 < place.top() < self.viewport().height() - 80:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + place.top() - self.viewport().height() // 3)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and getattr(self, "_page", None):
            place = self.verticalScrollBar().value()
            lit = self._lit
            number = None if lit is None else (_tables(self.document()).index(lit[0]), lit[1])
            self._render()
            if number is not None:
                self._lit = (_tables(self.document())[number[0]], number[1])
                self._tint(theme.of(self).selection)
            self.verticalScrollBar().setValue(place)

    # --- making ---

    def _render(self) -> None:
        if self._page is None:
            return
        self._lit = None
        # Style the document before it is shown: each later change would lay it out again.
        document = QTextDocument(self)
        document.setDefaultFont(self.font())
        document.setDocumentMargin(12)
        document.setIndentWidth(18)
        document.setUndoRedoEnabled(False)
        document.setMarkdown(self._page.markdown, QTextDocument.MarkdownFeature.MarkdownDialectGitHub)
        edit = QTextCursor(document)
        edit.beginEditBlock()
        self._dress_text(document)
        for table in _tables(document):
            self._dress_table(table)
        edit.endEditBlock()
        old, self._made = self._made, document
        self.setDocument(document)
        if old is not None:
            old.deleteLater()

    def _dress_text(self, document: QTextDocument) -> None:
        colours = theme.of(self)
        cursor = QTextCursor(document)
        block = document.begin()
        while block.isValid():
            cursor.setPosition(block.position())
            shape = QTextBlockFormat()
            level = block.blockFormat().headingLevel()
            inside = cursor.currentTable() is not None
            shape.setTopMargin(0 if inside or block.position() == 0 else 14 if level else 4)
            shape.setBottomMargin(0 if inside else 4 if level else 6)
            if block.blockFormat().property(QTextBlockFormat.Property.BlockCodeFence) is None:
                shape.setLineHeight(112, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.mergeBlockFormat(shape)
            if level:
                head = QTextCharFormat()
                head.setFontPointSize(points(TITLE if level == 1 else LARGE))
                head.setFontWeight(QFont.Weight.DemiBold)
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                cursor.mergeCharFormat(head)
            pieces = block.begin()
            while not pieces.atEnd():
                piece = pieces.fragment()
                old = piece.charFormat()
                look = QTextCharFormat()
                if old.fontFixedPitch() or block.blockFormat().hasProperty(block.blockFormat().Property.BlockCodeFence):
                    look.setFont(mono(LARGE if level else NORMAL))
                if old.isAnchor():
                    word = old.anchorHref().startswith("word:")
                    look.setForeground(QBrush(colours.text if word else colours.accent))
                    look.setUnderlineColor(colours.faint)
                    look.setUnderlineStyle(
                        QTextCharFormat.UnderlineStyle.DotLine if word else QTextCharFormat.UnderlineStyle.NoUnderline
                    )
                elif old.fontItalic() and inside:
                    look.setFontItalic(False)
                    look.setForeground(QBrush(colours.muted))
                cursor.setPosition(piece.position())
                cursor.setPosition(piece.position() + piece.length(), QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(look)
                pieces += 1
            block = block.next()

    def _dress_table(self, table: QTextTable) -> None:
        colours = theme.of(self)
        shape = QTextTableFormat(table.format())
        shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        shape.setBorder(1)
        shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        shape.setBorderBrush(QBrush(colours.border))
        shape.setBorderCollapse(True)
        shape.setCellPadding(5)
        shape.setCellSpacing(0)
        shape.setTopMargin(4)
        shape.setBottomMargin(10)
        table.setFormat(shape)
        for column in range(table.columns()):
            cell = table.cellAt(0, column)
            look = cell.format()
            look.setBackground(QBrush(colours.window))
            cell.setFormat(look)
            cursor = cell.firstCursorPosition()
            cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
            head = QTextCharFormat()
            head.setFontWeight(QFont.Weight.DemiBold)
            head.setForeground(QBrush(colours.muted))
            cursor.mergeCharFormat(head)

    # --- rows ---

    def _row(self, address: str) -> tuple[QTextTable, int] | None:
        kind, _, name = address.partition(":")
        for table in _tables(self.document()):
            for row in range(1, table.rows()):
                if kind == "field" and _cell_link(table, row, 1) == address:
                    return table, row
                if kind == "word" and name in _cell_text(table, row, 0).split(", "):
                    return table, row
        return None

    def _tint(self, colour: QColor | None) -> None:
        if self._lit is None:
            return
        table, row = self._lit
        edit = QTextCursor(self.document())
        edit.beginEditBlock()
        for column in range(table.columns()):
            cell = table.cellAt(row, column)
            look = cell.format()
            if colour is None:
                look.clearBackground()
            else:
                look.setBackground(QBrush(colour))
            cell.setFormat(look)
        edit.endEditBlock()


def _tables(document: QTextDocument) -> list[QTextTable]:
    return [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]


def _cell_text(table: QTextTable, row: int, column: int) -> str:
    cell = table.cellAt(row, column)
    cursor = cell.firstCursorPosition()
    cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText()


def _cell_link(table: QTextTable, row: int, column: int) -> str:
    cursor = table.cellAt(row, column).firstCursorPosition()
    cursor.movePosition(QTextCursor.MoveOperation.Right)
    return cursor.charFormat().anchorHref()
