"""Inspector: details of the selection or of the file, references to it, and bytes at the caret as numbers."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QGridLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Node, Shard, Span
from shardcore.dataclasses import dataclass, replace
from shardcore.model.details import Card, card_of, markdown, sum_text
from shardcore.model.text import plural, without_marks
from shardcore.operations.references import References
from shardcore.shards.registry import format_of
from shardscope.session.display_text import (
    cut_end,
    error_text,
    grouped,
    headline,
    node_name,
    offset_words,
    short_name,
    span_words,
)
from shardscope.session.jobs import Job
from shardscope.session.selection import ReferenceQuery
from shardscope.session.session import IndexState, Session
from shardscope.views.inspector.details import (
    MOST,
    MOST_LARGE,
    PENDING,
    RAW,
    SUMMED_AT_ONCE,
    checksums,
    node_rows,
    object_rows,
    range_row,
    readings,
)
from shardscope.views.inspector.details_dialog import DetailsDialog
from shardscope.views.inspector.file_summary import FileSummary
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.details_page import SPACER, Command, DetailRow, DetailsPage, Link
from shardscope.widgets.fonts import LARGE, SMALL, TITLE, mono
from shardscope.widgets.layouts import drop_menu, lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.scroll_area import ScrollArea
from shardscope.widgets.table import LEFT, context_menu
from shardscope.widgets.wrap_text import WrapText

_TWO_ROWS = ("u64", "i64", "f32", "f64")
"""Number types with one row per byte order, since both values do not fit side by side."""

_TWO_LINES = ("time", "GUID", "text")

_BREAK = "\u200b"


def number_rows(data: bytes | None) -> list[tuple[str, str, str]]:
    """Return name, little-endian text and big-endian text (empty: the same) per row; `data` is None until loaded."""
    rows = []
    for reading in readings(data or b""):
        little, big = (reading.little, reading.big) if data is not None else (PENDING, reading.big and PENDING)
        if reading.name in _TWO_ROWS and big is not None:
            rows += [(f"{reading.name} le", little, ""), (f"{reading.name} be", big, "")]
        else:
            rows.append((reading.name, little, big or ""))
    return rows


class Numbers(QTableWidget):
    typed = Signal(str, str)
    """Carries the type with its byte order, such as `u16be`, and the number typed."""

    def __init__(self) -> None:
        self._rows = number_rows(None)
        self._own = ""
        self._cells = [[QTableWidgetItem(text) for text in row] for row in self._rows]
        super().__init__(len(self._rows), 3)
        made(self, "inspectorNumbers", accessibleName=self.tr("The bytes at the caret, as numbers"))
        self.setHorizontalHeaderLabels(["", self.tr("little (le)"), self.tr("big (be)")])
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        made(header, defaultAlignment=LEFT, sectionsClickable=False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        # Otherwise rows stay as high as at a larger zoom.
        self.verticalHeader().setMinimumSectionSize(1)
        # Keep both ends of a number: sign and exponent.
        made(self, showGrid=False, textElideMode=Qt.TextElideMode.ElideMiddle, tabKeyNavigation=False)
        self.set_editable(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizeAdjustPolicy(QAbstractScrollArea.SizeAdjustPolicy.AdjustIgnored)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        made(self, contextMenuPolicy=Qt.ContextMenuPolicy.CustomContextMenu, customContextMenuRequested=self._menu)
        for number, row in enumerate(self._rows):
            for column, item in enumerate(self._cells[number]):
                if not column or row[0][0] not in "uif":
                    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                self.setItem(number, column, item)
            if not row[2]:
                self.setSpan(number, 1, 1, 2)
        self._set_fonts()

    def set_editable(self, editable: bool) -> None:
        trigger = QAbstractItemView.EditTrigger
        keys = trigger.DoubleClicked | trigger.EditKeyPressed | trigger.AnyKeyPressed
        self.setEditTriggers(keys if editable else trigger.NoEditTriggers)

    def commitData(self, editor: QWidget) -> None:
        assert isinstance(editor, QLineEdit)
        index, text = self.indexAt(editor.geometry().center()), editor.text().replace(_BREAK, "").strip()
        row, column = index.row(), index.column()
        name, _, order = self._rows[row][0].partition(" ")
        if text not in ("", self._rows[row][column]):
            self.typed.emit(name if name.endswith("8") else name + (order or ("le", "be")[column - 1]), text)

    def set_data(self, data: bytes | None, own: str = "") -> None:
        """Show the bytes (None: not loaded); `own` is the type of the field, whose row is bold."""
        # Zooming rescales heights after the fonts.
        if own != self._own or self.height() != self._wanted_height:
            self._own = own
            self._set_fonts()
        rows = number_rows(data)
        for number, row in enumerate(rows):
            for column in (1, 2):
                if (text := row[column]) != self._rows[number][column]:
                    item = self._cells[number][column]
                    # Break GUIDs at hyphens; Qt does not break before a digit.
                    item.setText(text.replace("-", f"-{_BREAK}"))
                    item.setToolTip(tip(text) if "<" in text else text)
        self._rows = rows

    def _set_fonts(self) -> None:
        kind, _, order = self._own.partition(" ")
        big = order == "BE"
        value_font, height = mono(SMALL), self.horizontalHeader().sizeHint().height() + 2
        line = QFontMetrics(value_font).height()
        for number, (name, _, in_big) in enumerate(self._rows):
            is_own = name in (kind, f"{kind} {'be' if big else 'le'}")
            for column in range(3):
                font = value_font if column else self.font()
                font.setBold(is_own and column in (0, 2 if big and in_big else 1))
                self._cells[number][column].setFont(font)
            self.setRowHeight(number, line * (1 + (name in _TWO_LINES)) + 6)
            height += self.rowHeight(number)
        self._wanted_height = height
        self.setFixedHeight(height)

    def value(self, name: str, column: int = 1) -> str:
        if name in _TWO_ROWS:
            name, column = f"{name} {'be' if column == 2 else 'le'}", 1
        return next((row[column] for row in self._rows if row[0] == name), "")

    def copy(self) -> None:
        for area in self.selectedRanges():
            rows = self._rows[area.topRow() : area.bottomRow() + 1]
            cells = ("\t".join(row[area.leftColumn() : area.rightColumn() + 1]).rstrip("\t") for row in rows)
            copy_lines("\n".join(cells))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_fonts()

    def _menu(self, point: QPoint) -> None:
        context_menu(self, [(self.tr("&Copy"), self.copy)]).popup(self.viewport().mapToGlobal(point))


MOST_REFERENCES = 12


class ReferencesForm(QWidget):
    def __init__(self) -> None:
        super().__init__()
        made(self, "inspectorLeadsForm", accessibleName=self.tr("Find references"))
        self.ask = made(WrapText(self.tr("Find references"), link=True), "inspectorLeads")
        self.ask.setToolTip(self.tr("The fields, entries and slots that point to the selected bytes (Ctrl+Shift+W)"))
        self.clear = made(WrapText(self.tr("Clear list and arrows"), link=True), "inspectorLeadsClear")
        self.clear.setToolTip(self.tr("Remove the list and the arrows (Esc)"))
        self.page = DetailsPage("inspectorLeadsList", self.tr("References"))
        lay(QVBoxLayout(self), self.ask, self.page, self.clear, margins=(0, 6, 0, 6), spacing=5)
        for link in (self.ask, self.clear):
            # One line; height-for-width would be requested in each layout pass of the panel.
            link.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_question(None)

    def show_question(self, question: ReferenceQuery | None) -> None:
        self.clear.setVisible(question is not None)
        if question is None:
            self.page.set_rows(())
        elif question.error is not None:
            self.page.set_rows([DetailRow("", error_text(question.error), tone="error")])
        elif question.references is None:
            self.page.set_rows([DetailRow("", self.tr("Searching …"), tone="muted")])
        else:
            self.page.set_rows(self._rows(question.span, question.references))

    def _rows(self, span: Span, found: References) -> list[DetailRow]:
        total = len(found.found) + found.more
        count = plural(total, "reference", "references") if found.found else "No references"
        text = self.tr("{0} to {1}.").format(count, span_words(span))
        if not found.complete:
            text += " " + self.tr("Load the index to see all.")
        rows = [DetailRow("", text, tone="muted")]
        for reference in found.found[:MOST_REFERENCES]:
            names = " › ".join(map(short_name, reference.names[-3:])) or offset_words(reference.span.start)
            text, why = f"→ {names} · {span_words(reference.span)}", grouped(without_marks(reference.why))
            rows.append(DetailRow("", text, link=reference.span, note=why, tip=self.tr("Go there")))
        if total > MOST_REFERENCES:
            rows.append(DetailRow("", self.tr("… and {0} more").format(f"{total - MOST_REFERENCES:,}"), tone="muted"))
        return rows


LATE_MILLISECONDS = 120
"""Maximum milliseconds for which the previous selection stays visible."""

SHORT = 24
"""Maximum number of characters of a value in the largest font."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """First bytes of the selected node and bytes at the caret, each with the span it was read for."""

    node: Span | None = None
    raw: bytes = b""
    caret: Span | None = None
    at_caret: bytes = b""


class Inspector(ScrollArea):
    """Shows details of the selection, and reads bytes for them in jobs. `page_wanted` requests the format reference."""

    page_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "inspector", accessibleName=self.tr("Inspector"))
        self._session = session
        self._path: tuple[Node, ...] = ()
        self._node: Node | None = None
        self._caret: Span | None = None
        self._trouble = ""
        self._late = Debounce(self, self._show_late, LATE_MILLISECONDS)
        self._bytes = _Bytes()
        self._sums_wanted = False
        # Checksums of a span; empty while they are computed.
        self._sums: tuple[Span, dict[str, str]] | None = None
        self._build()
        session.closed.connect(self._show_selection)
        session.typed_changed.connect(self._forget_bytes)
        session.references.changed.connect(self._show_references)
        session.notation_changed.connect(self._show)
        WhileVisible(session.selection_changed, self, self._show_selection, own=True)
        WhileVisible(session.opened, self, lambda _: self.file.refresh())
        WhileVisible(
            session.index.changed, self, lambda now: None if now is IndexState.LOADING else self.file.refresh()
        )
        self._show_selection()

    def _build(self) -> None:
        self.page = made(DetailsPage("inspectorDetails", self.tr("Details")), followed=self._follow)
        self.references = ReferencesForm()
        self.references.ask.clicked.connect(self._session.references.find)
        self.references.clear.clicked.connect(self._session.references.clear)
        self.references.page.followed.connect(self._follow)
        self.numbers_title = plain_label(bold=True, wrap=True, quiet=True)
        hint = self.tr("Open a shard to see what its bytes mean.")
        self.hint = plain_label(hint, "inspectorHint", wrap=True, quiet=True)
        self.numbers = Numbers()
        self.file = FileSummary(self._session)
        about = self.tr("Copy or export details")
        self.more = made(QToolButton(), "inspectorMore", text="⋯", accessibleName=about, toolTip=about)
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        menu = drop_menu(self.more, QMenu(self.more))
        menu.addAction(self.tr("&Copy details"), self._copy_details)
        menu.addAction(self.tr("&Export details…"), self.export_details)
        head = QGridLayout()
        head.addWidget(self.page, 0, 0)
        head.addWidget(self.more, 0, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        self.page.corner = self.more.sizeHint().width()
        content, empty = QWidget(), QWidget()
        parts = head, self.file, self.references, self.numbers_title, self.numbers, 1
        lay(QVBoxLayout(content), *parts, margins=(10, 12, 10, 14), spacing=8)
        lay(QVBoxLayout(empty), self.hint, 1, margins=(28, 36, 28, 28))
        self.pages = QStackedWidget()
        self.setWidget(self.pages)
        self.pages.addWidget(content)
        self.pages.addWidget(empty)

    # --- what is shown ---

    def _show_selection(self, *_: object) -> None:
        """Show the selection. Until its details are loaded, the old ones stay for at most `LATE_MILLISECONDS`."""
        selection, shard = self._session.selection, self._session.shard
        self.pages.setCurrentIndex(1 if shard is None else 0)
        if shard is None:
            self._late.stop()
            self._forget_bytes()
            return
        self._path = () if selection.is_file else selection.path
        self._node = _with_elsewhere(self._path)
        self._caret = self._session.document.caret or (Span("", 0, 0) if shard.source is not None else None)
        self._trouble = ""
        if selection.complete and not self._ask():
            self._show()
        elif not self._late.isActive():
            self._late.start()

    def _show_late(self) -> None:
        if not self._session.selection.complete:
            self._ask()
        self._show()

    def _show(self) -> None:
        self._late.stop()
        node, selection, shard = self._node, self._session.selection, self._session.shard
        self.file.setVisible(selection.is_file)
        self.references.setVisible(not selection.is_file)
        self.more.setVisible(node is not None)
        value = headline(node) if node is not None else ""
        rows = _head_rows(node, value) if node is not None else []
        if error := self._trouble or selection.error:
            rows.append(DetailRow("", grouped(error), tone="error"))
        if node is not None:
            rows += node_rows(node, value, self._raw(node))
        if (span := selection.span) is not None and span.size > 1:
            rows += [range_row("selection", span, link=False)] if node is not None and span != node.span else []
            rows += self._sum_rows(span)
        if selection.ref is not None and shard is not None:
            rows += [DetailRow("", " ", size=SPACER)] if rows else []
            rows.append(DetailRow("", self.tr("OBJECT"), tone="muted", strong=True))
            rows += object_rows(selection.ref, format_of(shard.format).details)
        self.page.set_rows(rows)
        self._show_numbers()

    def _raw(self, node: Node) -> bytes | None:
        return self._bytes.raw if self._bytes.node == node.span else None

    def _show_numbers(self) -> None:
        caret, node = self._caret, self._node
        self.numbers_title.setVisible(caret is not None)
        self.numbers.setVisible(caret is not None)
        if caret is None:
            return
        self.numbers_title.setText(self.tr("Data inspector (at {0})").format(offset_words(caret.start)))
        begins = node is not None and (node.span.source, node.span.start) == (caret.source, caret.start)
        own = node.type if node is not None and begins else ""
        self.numbers.set_data(self._bytes.at_caret if self._bytes.caret == caret else None, own)

    def _show_references(self, question: ReferenceQuery | None) -> None:
        self.references.show_question(question)
        if question is not None and question.references is not None:
            # Wait until the list has its height.
            QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(self.references, 0, 12))

    # --- bytes ---

    def _ask(self) -> bool:
        """Read the bytes of node and caret in a job, unless they are loaded; return whether a job was started."""
        node, caret = self._node.span if self._node is not None else None, self._caret
        if self._bytes.node == node and self._bytes.caret == caret:
            return False

        def work(shard: Shard, job: Job) -> _Bytes:
            raw = _first_bytes(shard, node, min(RAW, node.size) if node is not None else 0)
            job.check()
            return _Bytes(node, raw, caret, _first_bytes(shard, caret, MOST))

        job = self._session.ask(work, self._take_bytes, failed=self._not_read, key=("inspector", self))
        return job is not None

    def _forget_bytes(self) -> None:
        self._bytes, self._sums = _Bytes(), None

    def _take_bytes(self, found: _Bytes) -> None:
        self._bytes = found
        self._show_when_due()

    def _not_read(self, error: BaseException) -> None:
        self._trouble = self.tr("The bytes cannot be read: {0}").format(error_text(error))
        self._show_when_due()

    def _show_when_due(self) -> None:
        if self._session.selection.complete or not self._late.isActive():
            self._show()

    # --- checksums ---

    def _sum_rows(self, span: Span) -> list[DetailRow]:
        """Return rows for the checksums of the selection; after the first request, small ones are computed at once."""
        if self._sums is None or self._sums[0] != span:
            if not self._sums_wanted or span.size > SUMMED_AT_ONCE:
                return [DetailRow("checksums", self.tr("→ compute"), link=Command.CHECKSUMS)]
            self._sum(span)
        found = self._sums[1] if self._sums is not None else {}
        rows = [DetailRow(name, text, mono=True, link=text, tip=self.tr("Copy")) for name, text in found.items()]
        return rows or [DetailRow("checksums", PENDING, tone="muted")]

    def _sum(self, span: Span) -> None:
        def show(found: dict[str, str] | None = None) -> None:
            if self._sums == (span, {}):
                self._sums, self._sums_wanted = (span, found) if found else None, bool(found)
                self._show()

        def failed(error: BaseException) -> None:
            self._not_read(error)
            show()

        work = lambda shard, job: checksums(shard.bytes_of(span.source), span, job.progress)  # noqa: E731
        self._sums = span, {}
        title = self.tr("Checksums of {0}").format(span_words(span)) if span.size > SUMMED_AT_ONCE else ""
        self._session.ask(work, show, failed=failed, stopped=show, key=("checksums", self), title=title)

    def _ask_sums(self) -> None:
        if (span := self._session.selection.span) is not None:

            def go() -> None:
                self._sum(span)
                self._show()

            self._session.with_consent("Computing checksums", span.size, go)

    # --- going elsewhere ---

    def _follow(self, target: Link) -> None:
        if isinstance(target, str):
            copy_text(target)
            self._session.message.emit(self.tr("Copied"))
            return
        if isinstance(target, Command):
            self._ask_sums() if target is Command.CHECKSUMS else self.page_wanted.emit()
            return
        select = partial(self._session.select_span, origin=self)
        if isinstance(target, Span):
            select(target)
            return

        def failed(error: BaseException) -> None:
            not_here = self.tr("Not available")
            self._trouble = f"{not_here}: {error_text(error)}"
            self._show()
            self._session.report_error(not_here, error)

        find = target.find
        self._session.ask(lambda _shard, _job: find(), select, failed=failed, key=("elsewhere", self))

    # --- copying and exporting ---

    def card(self) -> Card | None:
        if not self._path or self._node is None or self._session.shard is None:
            return None
        request, ref = self._session.request, self._session.selection.ref
        key = ref.key if ref is not None and ref.key is not None else ""
        not_on_disk = self.tr("{0} (sandbox: not the file on disk)")
        where = not_on_disk.format(request.name) if request.sandbox else request.shown
        how = request.opened_with(partial=self._session.shard.damage is not None)
        return card_of(self._path, self._raw(self._node) or b"", where, how, key, self._session.selection.span)

    def _copy_details(self) -> None:
        if (card := self.card()) is not None:
            copy_lines(markdown(card))
            self._session.message.emit(self.tr("Copied as Markdown."))

    def export_details(self) -> DetailsDialog | None:
        if (card := self.card()) is None:
            return None
        dialog = DetailsDialog(card, self.window())
        dialog.open()
        return dialog


def _head_rows(node: Node, value: str) -> list[DetailRow]:
    rows = [DetailRow("", node_name(node), strong=True)]
    if value:
        # Digests and keys are shown completely, in the monospaced font.
        raw = isinstance(node.value, bytes) and value == node.value.hex() and len(value) > SHORT
        size = TITLE if len(value) <= SHORT else 0 if raw else LARGE
        rows.append(DetailRow("", cut_end(value, MOST_LARGE), value, mono=raw, strong=True, size=size))
    if adds := sum_text(node):
        rows.append(DetailRow("", adds if " = " in adds else f"= {adds}"))
    if node.doc:
        rows.append(DetailRow("", grouped(without_marks(node.doc)), tone="muted"))
    return rows


def _first_bytes(shard: Shard, span: Span | None, count: int) -> bytes:
    if span is None:
        return b""
    source = shard.bytes_of(span.source)
    stop = min(span.start + count, source.size)
    return source.read(span.start, stop) if span.start < stop else b""


def _with_elsewhere(path: tuple[Node, ...]) -> Node | None:
    """Return the last node of a path; `differs` and `elsewhere` are taken from its parent if it has none."""
    if not path:
        return None
    node, parent = path[-1], path[-2] if len(path) > 1 else path[-1]
    if (node.differs or parent.differs, node.elsewhere or parent.elsewhere) == (node.differs, node.elsewhere):
        return node
    return replace(node, differs=node.differs or parent.differs, elsewhere=node.elsewhere or parent.elsewhere)
