"""Preview of the selected object: what it is, and the bytes of what is pointed at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QModelIndex, QSize, Qt
from PySide6.QtGui import QImage, QImageReader
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStackedWidget, QTableView, QVBoxLayout, QWidget

from shardcore import (
    ArchiveContent,
    ArrayContent,
    BytesContent,
    Content,
    ObjectRef,
    PictureContent,
    Shard,
    ShardError,
    Span,
    TableContent,
    TensorsContent,
    TextContent,
    content,
)
from shardcore.model.content_part import ContentPart, part_at, part_stored_at
from shardcore.model.number_words import plural
from shardscope.session.error_words import plain_words
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.preview.array_view import ArrayView
from shardscope.views.preview.plane import PlaneView
from shardscope.views.preview.text_view import TextView, Token, tokens_of
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.elided import Elided
from shardscope.widgets.row_table import row_table
from shardscope.widgets.table_columns import ColumnRule
from shardscope.widgets.table_model import TableModel
from shardscope.widgets.while_visible import WhileVisible

REMOTE = 1 << 16
"""Bytes of a remote object that are read without a click."""

MOST_TEXT = 1 << 18
"""Bytes of a text that are shown at first."""

MOST_PIXELS = 1 << 26
"""Pixels of a picture that is decoded."""

WHOLE = 64 << 20
"""Bytes that are read on request."""


@dataclass(frozen=True, slots=True)
class ContentRow:
    """Row of a table: its cells, and its bytes in the content; none where it has no bytes of its own."""

    cells: tuple[str, ...]
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """Content of an object, prepared for the window by a job.

    Attributes:
        ref: The object.
        content: Its content.
        parts: Parts of the content and where they are stored.
        tokens: Tokens of a text.
        titles: Titles of the columns of `rows`.
        rows: Rows of a table.
        image: The decoded picture.
    """

    ref: ObjectRef
    content: Content
    parts: Sequence[ContentPart]
    tokens: Sequence[Token] = ()
    titles: tuple[str, ...] = ()
    rows: tuple[ContentRow, ...] = ()
    image: QImage | None = None

    def span_of(self, start: int, stop: int) -> Span | None:
        """Return where bytes of the content are stored: exact, or the block that holds the first."""
        part = part_at(self.parts, start)
        return part.span_of(start, stop) if part is not None else None

    def inside(self, span: Span | None) -> tuple[int, int] | None:
        """Return the bytes of the content that are selected; None where none of them is."""
        if span is None:
            return None
        part = part_stored_at(self.parts, span)
        if part is None:
            return None
        first = part.content_at(span.start)
        return first, first + max(min(span.size, part.stop - first), 1) if part.exact else part.stop


def preview_of(shard: Shard, ref: ObjectRef, limit: int | None) -> Preview:
    """Read and prepare the content of an object; runs in a job.

    Args:
        shard: The shard.
        ref: The object.
        limit: Bytes that are read at most; None for the default of each kind.

    Raises:
        ShardError: It cannot be read.
    """
    found = content(shard, ref, limit=limit)
    try:
        parts: Sequence[ContentPart] = shard.content_parts(ref)
    except ShardError:
        # The content is shown; what stores each byte of it is unknown.
        parts = ()
    titles, rows = rows_of(found)
    tokens = tokens_of(found.text, found.language) if isinstance(found, TextContent) else ()
    return Preview(ref, found, parts, tokens, titles, rows, _image_of(found))


def _image_of(found: Content) -> QImage | None:
    if not isinstance(found, PictureContent) or found.width * found.height > MOST_PIXELS:
        return None
    QImageReader.setAllocationLimit(4 * MOST_PIXELS >> 20)
    image = QImage.fromData(found.data)
    return None if image.isNull() else image


def rows_of(found: Content) -> tuple[tuple[str, ...], tuple[ContentRow, ...]]:
    """Return titles and rows of a content that is shown as a table."""
    if isinstance(found, TensorsContent):
        return ("Name", "Type", "Shape", "Offset", "Bytes"), tuple(
            ContentRow(
                (one.name, one.dtype, " × ".join(map(str, one.shape)), f"{one.start:,}", f"{one.stop - one.start:,}"),
                one.start,
                max(one.stop, one.start),
            )
            for one in found.tensors
        )
    if isinstance(found, ArchiveContent) and found.members:
        return ("Name", "Bytes", "Offset"), tuple(
            ContentRow((one.name, f"{one.size:,}", f"{one.start:,}"), one.start, one.stop) for one in found.members
        )
    if isinstance(found, TableContent):
        lined = len(found.rows) <= len(found.line_starts)
        return found.rows[0], tuple(
            ContentRow(row, *(found.line_bytes(number) if lined else (0, 0)))
            for number, row in enumerate(found.rows[1:], 1)
        )
    if isinstance(found, BytesContent) and found.strings:
        return ("Offset", "String"), tuple(
            ContentRow((f"{offset:,}", text), offset, offset + len(text)) for offset, text in found.strings
        )
    return (), ()


class ContentRows(TableModel):
    """Rows of a content: cells, and bytes."""

    def text(self, row: int, column: int) -> str:
        cells = self.things[row].cells
        return cells[column] if column < len(cells) else ""

    def show_rows(self, titles: tuple[str, ...], rows: tuple[ContentRow, ...]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.titles, self.things = titles, rows
        self.numbers = tuple(n for n, title in enumerate(titles) if title in ("Offset", "Bytes"))
        self.endResetModel()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return self.titles[section]
        return super().headerData(section, orientation, role)


class PreviewPanel(QWidget):
    """Follows the selected object while it is visible; reads by jobs.

    Attributes:
        shown: What is shown; None for nothing.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("preview")
        self.setAccessibleName(self.tr("Preview"))
        self._session = session
        self.shown: Preview | None = None
        self._wanted: ObjectRef | None = None
        self.title = Elided(greedy=True, parent=self)
        self.title.setObjectName("previewTitle")
        self.more = QPushButton(self.tr("Read all"))
        self.more.setObjectName("previewMore")
        self.copy = QPushButton(self.tr("Copy"))
        self.copy.setObjectName("previewCopy")
        self.copy.setToolTip(self.tr("Copy the text"))
        self.note = QLabel()
        self.note.setObjectName("previewNote")
        self.hint = QLabel()
        self.hint.setObjectName("previewHint")
        self.text, self.array, self.picture = TextView(), ArrayView(), PlaneView()
        self.rows = ContentRows()
        self.table = self._table()
        self._build()
        self.more.clicked.connect(self._read_all)
        self.copy.clicked.connect(self._copy_text)
        self.text.pointed.connect(self._point_line)
        self.text.chosen.connect(lambda line: self._choose_bytes(*self._line_bytes(line)))
        self.array.pointed.connect(self._point_element)
        self.array.chosen.connect(lambda index: self._choose_bytes(*self._element_bytes(index)))
        session.opened.connect(lambda _: self._clear())
        session.closed.connect(self._clear)
        WhileVisible(session.selection_changed, self, self._follow)
        self._clear()

    def sizeHint(self) -> QSize:
        return QSize(360, 420)

    def _table(self) -> QTableView:
        rules = (ColumnRule(120), ColumnRule(), ColumnRule(), ColumnRule(leaves=2), ColumnRule(leaves=2))
        table = row_table(self, self.rows, rules, 0, self._choose_row, lambda _: None)
        table.setObjectName("previewTable")
        table.setAccessibleName(self.tr("Rows of the object"))
        return table

    def _build(self) -> None:
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        self.note.setContentsMargins(8, 2, 8, 4)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self.hint.setEnabled(False)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 4)
        bar.addWidget(self.title, 1)
        bar.addWidget(self.more)
        bar.addWidget(self.copy)
        self.pages = QStackedWidget()
        for page in (self.hint, self.text, self.table, self.picture, self.array):
            self.pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self.note)
        column.addWidget(self.pages, 1)

    # --- what is shown ---

    def _clear(self) -> None:
        self.shown, self._wanted = None, None
        self._say(self.tr("Select an object to see its content."))

    def _say(self, text: str) -> None:
        self.title.clear()
        for part in (self.more, self.copy, self.note):
            part.hide()
        self.hint.setText(text)
        self.pages.setCurrentWidget(self.hint)

    def _follow(self, selection: Selection) -> None:
        """Show the selected object; bytes of what is shown are marked in it."""
        if not selection.complete:
            return
        shown, ref = self.shown, selection.ref
        if shown is not None and (ref is None or ref == shown.ref):
            marked = shown.inside(selection.span)
            if marked is not None and selection.origin is not self:
                self._mark(*marked)
            return
        if ref is None or selection.origin is self:
            return
        self._read(ref, self._first_limit(ref))

    def _first_limit(self, ref: ObjectRef) -> int | None:
        """Return how many bytes are read without a click; None for the default of each kind."""
        if self._session.request.is_remote:
            return REMOTE
        return MOST_TEXT if ref.size > WHOLE else None

    def _read(self, ref: ObjectRef, limit: int | None) -> None:
        self._wanted = ref

        def failed(error: BaseException) -> None:
            self.shown = None
            self._say(plain_words(error))

        if ref.error:
            self.shown = None
            self._say(ref.error)
            return
        work = lambda shard, _job: preview_of(shard, ref, limit)  # noqa: E731
        self._session.ask(work, self._take, failed=failed, key=("preview", self))

    def _read_all(self) -> None:
        if self.shown is not None:
            self._read(self.shown.ref, max(min(self.shown.content.size, WHOLE), 1))

    def _take(self, found: Preview) -> None:
        self.shown = found
        one = found.content
        size = plural(one.size, "byte") if one.size >= 0 else self.tr("size unknown")
        self.title.tell(f"{one.title} · {size}")
        cut = not one.complete and one.size > 0
        self.more.setVisible(cut and one.size <= WHOLE)
        self.more.setText(self.tr("Read all {0}").format(plural(one.size, "byte")))
        notes = [one.note] if one.note else []
        if cut:
            notes.append(self.tr("Only the first {0} were read.").format(plural(len(one.data), "byte")))
        self.note.setText("\n".join(notes))
        self.note.setVisible(bool(notes))
        self.copy.setVisible(isinstance(one, TextContent))
        self._show_content(found)
        if (marked := found.inside(self._session.selection.span)) is not None and marked != (0, one.size):
            self._mark(*marked)

    def _show_content(self, found: Preview) -> None:
        one = found.content
        if isinstance(one, ArrayContent) and one.complete and one.layout.nbytes:
            self.array.show_array(one.array, one.layout)
            self.pages.setCurrentWidget(self.array)
        elif found.image is not None:
            self.picture.show_image(found.image)
            self.pages.setCurrentWidget(self.picture)
        elif found.rows or isinstance(one, TableContent):
            self.rows.show_rows(found.titles, found.rows)
            self.pages.setCurrentWidget(self.table)
        elif isinstance(one, TextContent):
            self.text.show_text(one.text, list(found.tokens))
            self.pages.setCurrentWidget(self.text)
        else:
            self.hint.setText(self.tr("Empty") if one.size == 0 else one.title)
            self.pages.setCurrentWidget(self.hint)

    def _copy_text(self) -> None:
        if self.shown is not None and isinstance(self.shown.content, TextContent):
            copy_text(self.shown.content.text)

    # --- the bytes of what is shown ---

    def _line_bytes(self, line: int) -> tuple[int, int]:
        found = self.shown.content if self.shown is not None else None
        if not isinstance(found, TextContent) or not 0 <= line < len(found.line_starts):
            return 0, 0
        return found.line_bytes(line)

    def _element_bytes(self, index: tuple[int, ...]) -> tuple[int, int]:
        found = self.shown.content if self.shown is not None else None
        return found.layout.bytes_of(index) if isinstance(found, ArrayContent) else (0, 0)

    def _point_line(self, line: int) -> None:
        self._point(*(self._line_bytes(line) if line >= 0 else (0, 0)))

    def _point_element(self, index: tuple[int, ...] | None) -> None:
        self._point(*(self._element_bytes(index) if index is not None else (0, 0)))

    def _point(self, start: int, stop: int) -> None:
        """Highlight the bytes of what is pointed at; none for an empty range."""
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        self._session.point_at([span] if span is not None else [])

    def _choose_row(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            row = self.rows.things[current.row()]
            self._choose_bytes(row.start, row.stop)

    def _choose_bytes(self, start: int, stop: int) -> None:
        """Select the bytes of what was clicked."""
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        if span is not None:
            self._session.select_span(span, self)

    def _mark(self, start: int, stop: int) -> None:
        """Mark the line, row or element that has the selected bytes."""
        found = self.shown.content if self.shown is not None else None
        page = self.pages.currentWidget()
        if page is self.text and isinstance(found, TextContent):
            self.text.mark(found.line_at(start), found.line_at(max(stop - 1, start)))
        elif page is self.array and isinstance(found, ArrayContent):
            self.array.mark(found.layout.box_of(start, stop))
        elif page is self.table:
            row = next((n for n, one in enumerate(self.rows.things) if one.start <= start < one.stop), None)
            if row is not None:
                self.table.scrollTo(self.rows.index(row, 0))
