"""Panel *Format reference*: a click on a field in a table selects its bytes; selected bytes highlight their field."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QDesktopServices,
    QFont,
    QResizeEvent,
    QShowEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from shardcore import Node, Shard
from shardscope.learning.help.help_pages import GLOSSARY, HelpPage, find_field, page, titles
from shardscope.session.jobs import Job
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.fonts import LARGE, NORMAL, TITLE, mono, points
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import ResourceFreeText


class PageView(ResourceFreeText):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "pageText", accessibleName=self.tr("Page"), frameShape=QFrame.Shape.NoFrame, openLinks=False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page: HelpPage | None = None
        self._address = ""
        self._document: QTextDocument | None = None
        self._lit: tuple[QTextTable, int] | None = None
        self.anchorClicked.connect(lambda url: self.chosen.emit(url.toString()))

    @property
    def lit(self) -> str:
        if self._lit is None:
            return ""
        table, row = self._lit
        return " ".join(_cell_text(table, row, column) for column in range(min(table.columns(), 2)))

    def show_page(self, page: HelpPage) -> None:
        self.page, self._address = page, ""
        self._render(page)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(0)

    def highlight(self, address: str) -> bool:
        self._tint(None)
        self._address = address
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
        page = getattr(self, "page", None)  # the base class changes before the parts of this class exist
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and page is not None:
            place = self.verticalScrollBar().value()
            self._render(page)
            self.highlight(self._address)
            self.verticalScrollBar().setValue(place)

    def _render(self, page: HelpPage) -> None:
        self._lit = None
        # Style the document before it is shown: each later change would lay it out again.
        document = made(
            QTextDocument(self), defaultFont=self.font(), documentMargin=12, indentWidth=18, undoRedoEnabled=False
        )
        document.setMarkdown(page.markdown, QTextDocument.MarkdownFeature.MarkdownDialectGitHub)
        edit = QTextCursor(document)
        edit.beginEditBlock()
        self._dress_text(document)
        for table in _tables(document):
            self._dress_table(table)
        edit.endEditBlock()
        old, self._document = self._document, document
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
            fenced = block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)
            inside = cursor.currentTable() is not None
            shape.setTopMargin(0 if inside or block.position() == 0 else 14 if level else 4)
            shape.setBottomMargin(0 if inside else 4 if level else 6)
            if not fenced:
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
                old, look = piece.charFormat(), QTextCharFormat()
                if old.fontFixedPitch() or fenced:
                    look.setFont(mono(LARGE if level else NORMAL))
                if old.isAnchor():
                    word = old.anchorHref().startswith("word:")
                    look.setForeground(QBrush(colours.text if word else colours.accent))
                    look.setUnderlineColor(colours.faint)
                    styles = QTextCharFormat.UnderlineStyle
                    look.setUnderlineStyle(styles.DotLine if word else styles.NoUnderline)
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


class FormatPage(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "formatPage", accessibleName=self.tr("Format reference"))
        self._session = session
        self._wanted = GLOSSARY
        self._row: int | None = None
        self.choice = made(
            QComboBox(),
            "pageChoice",
            accessibleName=self.tr("Select page"),
            toolTip=self.tr("Pages of the formats and of the window, and the glossary"),
            minimumContentsLength=10,
            sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon,
        )
        self.choice.activated.connect(lambda _: self.show_page(str(self.choice.currentData())))
        self.view = made(PageView(), chosen=self._follow_link)
        self.setFocusProxy(self.view)
        label = QLabel(self.tr("Page:"))
        label.setBuddy(self.choice)
        top = lay(QHBoxLayout(), label, (self.choice, 1), margins=(12, 6, 12, 6), spacing=-1)
        lay(QVBoxLayout(self), top, (self.view, 1))
        self._opens = WhileVisible(session.opened, self, self._opened)
        WhileVisible(session.selection_changed, self, self._selected)

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    def show_page(self, name: str) -> None:
        self._opens.forget()
        if name not in titles():
            return
        self._wanted = name
        if self.isVisible():
            self._fill()

    def show_page_of_file(self) -> None:
        if self._session.shard is not None:
            self.show_page(self._session.shard.format)
            self._row = None
            self._highlight(self._session.selection)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fill()
        self._highlight(self._session.selection)

    def _fill(self) -> None:
        if not self.choice.count():
            for name, title in titles().items():
                self.choice.addItem(title, name)
        self.choice.setCurrentIndex(self.choice.findData(self._wanted))
        found = page(self._wanted)
        if found is not None and found is not self.view.page:
            self._row = None
            self.view.show_page(found)

    # --- from the file to the page ---

    def _opened(self, shard: Shard) -> None:
        self.show_page(shard.format)

    def _selected(self, selection: Selection) -> None:
        if selection.complete:
            self._highlight(selection)

    def _highlight(self, selection: Selection) -> None:
        found = self._format_page()
        if found is None or self.view.page is not found:
            return
        row = found.row_of(selection.path) if selection.path else None
        if row != self._row:
            self._row = row
            self.view.highlight("" if row is None else f"field:{row}")

    def _format_page(self) -> HelpPage | None:
        shard = self._session.shard
        return page(shard.format) if shard is not None else None

    # --- from the page to the file ---

    def _follow_link(self, address: str) -> None:
        kind, _, rest = address.partition(":")
        if kind == "field":
            self._select(int(rest))
        elif kind == "word":
            self.show_page(GLOSSARY)
            self.view.highlight(f"word:{rest}")
        elif kind in ("http", "https"):
            QDesktopServices.openUrl(QUrl(address))
        elif address.endswith("glossary.md"):
            self.show_page(GLOSSARY)
        else:
            self.show_page(address.rpartition("/")[2].removesuffix(".md"))

    def _select(self, number: int) -> None:
        shown, of_file = self.view.page, self._format_page()
        if shown is None:
            return
        name = shown.rows[number].name
        if shown is not of_file:
            sentence = self.tr("Open a file of the format {0} to see {1} in it")
            self._session.message.emit(sentence.format(shown.title, name))
            return
        near = self._session.selection.path

        def work(shard: Shard, job: Job) -> tuple[Node, ...]:
            return find_field(shown, number, shard.tree, near, job.check)

        def take(path: tuple[Node, ...]) -> None:
            if path:
                self._session.select_node(path, self)
            else:
                sentence = self.tr("No {0} found in the searched part of this file")
                self._session.message.emit(sentence.format(name))

        self._session.ask(work, take, failed=self.tr("Cannot search for {0}").format(name), key=("page field", self))
