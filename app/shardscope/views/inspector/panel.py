"""Inspector: details of the selection or a summary of the file, the bytes at the caret as numbers, a dialog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QEvent, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QGuiApplication,
    QImage,
    QImageWriter,
    QPaintDevice,
    QPainter,
    QPalette,
    QPdfWriter,
    QTextDocument,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Node, Shard, Span
from shardcore.model.details import Card, card_of, markdown, sum_text
from shardcore.model.node import ExternalBytes
from shardcore.model.text import plural, without_marks
from shardcore.operations.references import NamedReference, References
from shardcore.shards.registry import format_of
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import (
    cut_end,
    grouped,
    headline,
    node_name,
    offset_words,
    short_name,
    span_words,
)
from shardscope.session.error_messages import error_text
from shardscope.session.highlights import ReferenceQuery
from shardscope.session.jobs import Job
from shardscope.session.selection import Selection
from shardscope.session.session import IndexState, Session
from shardscope.views.inspector.data_types import MOST
from shardscope.views.inspector.detail_forms import Form, Numbers
from shardscope.views.inspector.file_summary import FileSummary
from shardscope.views.inspector.node_details import MOST_LARGE, RAW, FormatPageLink, first_bytes, node_rows
from shardscope.views.inspector.object_details import object_rows
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import LARGE, NORMAL, TITLE, sized
from shardscope.widgets.layouts import discard
from shardscope.widgets.plain_text import ResourceFreeText
from shardscope.widgets.wrap_text import WrapText

WIDTH = 600
"""Width of the picture in pixels at 100 %."""

SCALE = 2
"""Device pixels per pixel of the picture."""

_MARGIN = 18
_PRINT_RESOLUTION = 144


class DetailsView(ResourceFreeText):
    def __init__(self, card: Card) -> None:
        super().__init__()
        self._card = card
        self.setObjectName("cardView")
        self.setAccessibleName(card.name)
        self.setOpenLinks(False)
        self.document().setDocumentMargin(_MARGIN)
        self.setMarkdown(markdown(card))

    def _page(self) -> QTextDocument:
        page = QTextDocument()
        page.setDocumentMargin(_MARGIN)
        page.setDefaultFont(self.font())
        page.setMarkdown(markdown(self._card))
        page.setTextWidth(WIDTH)
        return page

    def _paint(self, device: QPaintDevice, page: QTextDocument, scale: float = 1) -> None:
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
        painter = QPainter(device)
        painter.scale(scale, scale)
        page.documentLayout().draw(painter, context)
        painter.end()

    def picture(self) -> QImage:
        page = self._page()
        image = QImage(page.size().toSize() * SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(SCALE)
        image.fill(Qt.GlobalColor.white)
        self._paint(image, page)
        return image

    def write(self, path: Path) -> bool:
        """Write the page as `.md`, `.svg`, `.pdf` or, for other suffixes, PNG; return whether it was written."""
        kind = path.suffix.lower()
        try:
            path.write_text(markdown(self._card) if kind == ".md" else "", encoding="utf-8")
        except OSError:
            return False
        page = self._page()
        if kind == ".svg":
            self._paint(self._svg(path, page.size().toSize()), page)
        elif kind == ".pdf":
            writer = self._pdf(path)
            self._paint(writer, page, writer.logicalDpiX() / self.logicalDpiX())
        return kind in (".md", ".svg", ".pdf") or QImageWriter(str(path), b"png").write(self.picture())

    def _svg(self, path: Path, size: QSize) -> QSvgGenerator:
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(size)
        generator.setViewBox(QRect(0, 0, size.width(), size.height()))
        generator.setResolution(self.logicalDpiX())
        generator.setTitle(self._card.name)
        return generator

    def _pdf(self, path: Path) -> QPdfWriter:
        writer = QPdfWriter(str(path))
        writer.setResolution(_PRINT_RESOLUTION)
        writer.setTitle(self._card.name)
        return writer


class DetailsDialog(QDialog):
    def __init__(self, card: Card, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("cardSheet")
        self.setWindowTitle(self.tr("Details"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._card = card
        self.view = DetailsView(card)
        self.said = Elided(greedy=True)
        self.said.setObjectName("cardSaid")
        row = QHBoxLayout()
        row.addWidget(self.said, 1)
        self.copy_picture = self._button(self.tr("Copy &picture"), self._copy_picture)
        self.copy_link = self._button(self.tr("Copy &link"), self._copy_link)
        self.copy_link.setToolTip(self.tr("Copy the line that opens these bytes again, in a shell or in Open as…"))
        self.save = self._button(self.tr("&Save…"), self.ask_save)
        close = self._button(self.tr("Close"), self.accept)
        for button in (self.copy_picture, self.copy_link, self.save, close):
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.addWidget(self.view, 1)
        column.addLayout(row)
        self.resize(QSize(WIDTH + 60, 620).boundedTo(self.screen().availableGeometry().size() * 0.9))

    def _button(self, text: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(text)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _=False: act())
        return button

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.view.picture())
        self.said.setText(self.tr("Copied."))

    def _copy_link(self) -> None:
        copy_text(self._card.link)
        self.said.setText(self.tr("Copied."))

    def ask_save(self) -> QFileDialog:
        kinds = {
            self.tr("SVG: vector graphics (*.svg)"): "svg",
            self.tr("PNG: pixels (*.png)"): "png",
            self.tr("PDF (*.pdf)"): "pdf",
            self.tr("Markdown (*.md)"): "md",
        }
        return ask_target(self, self.tr("Export details"), self._save, name="details", kinds=kinds)

    def _save(self, path: str) -> None:
        done = self.view.write(Path(path))
        saved, not_saved = self.tr("Saved: {0}"), self.tr("Cannot write {0}. Choose another folder.")
        self.said.setText((saved if done else not_saved).format(Path(path).name))


SHOWN = 12
"""Maximum number of references listed; others are counted."""


class ReferencesForm(QWidget):
    followed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("inspectorLeadsForm")
        self.setAccessibleName(self.tr("Find references"))
        self.ask = WrapText(self.tr("Find references"), link=True)
        self.ask.setObjectName("inspectorLeads")
        self.ask.setToolTip(self.tr("The fields, entries and slots that point to the selected bytes (Ctrl+Shift+W)"))
        self.clear = WrapText(self.tr("Clear list and arrows"), link=True)
        self.clear.setObjectName("inspectorLeadsClear")
        self.clear.setToolTip(self.tr("Remove the list and the arrows (Esc)"))
        self.status = WrapText(tone="muted")
        self.links: list[WrapText] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(5)
        self._column.addWidget(self.ask)
        self._column.addWidget(self.status)
        self._column.addWidget(self.clear)
        self._parts: list[QWidget] = []
        self.show_question(None)

    def show_question(self, question: ReferenceQuery | None) -> None:
        for part in self._parts:
            discard(part)
        self._parts, self.links = [], []
        self.status.setVisible(question is not None)
        self.clear.setVisible(question is not None)
        if question is None:
            return
        self.status.set_tone("error" if question.error is not None else "muted")
        if question.error is not None:
            self.status.set_text(error_text(question.error))
        elif question.references is None:
            self.status.set_text(self.tr("Searching …"))
        else:
            self._show(question, question.references)

    def _show(self, question: ReferenceQuery, found: References) -> None:
        count = plural(len(found.found) + found.more, "reference", "references") if found.found else "No references"
        text = self.tr("{0} to {1}.").format(count, span_words(question.span))
        if not found.complete:
            text += " " + self.tr("Load the index to see all.")
        self.status.set_text(text)
        for reference in found.found[:SHOWN]:
            self._add(reference)
        left_out = len(found.found) + found.more - len(self.links)
        if left_out > 0:
            self._put(WrapText(self.tr("… and {0} more").format(f"{left_out:,}"), tone="muted"))

    def _add(self, reference: NamedReference) -> None:
        names = " › ".join(short_name(name) for name in reference.names[-3:]) or offset_words(reference.span.start)
        link = WrapText(f"→ {names} · {span_words(reference.span)}", link=True)
        link.setToolTip(self.tr("Go there"))
        link.clicked.connect(lambda: self.followed.emit(reference.span))
        self.links.append(link)
        self._put(link)
        self._put(WrapText(grouped(without_marks(reference.why)), tone="muted"))

    def _put(self, part: QWidget) -> None:
        self._column.insertWidget(self._column.count() - 1, part)
        self._parts.append(part)
        part.show()


LATE_MILLISECONDS = 120
"""Maximum milliseconds for which the previous selection stays visible."""

SHORT = 24
"""Maximum length of a value in the largest font."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    node: Span | None = None
    raw: bytes = b""
    caret: Span | None = None
    at_caret: bytes = b""


class Inspector(QScrollArea):
    """Follows the selection and reads the few bytes it shows in jobs; `page_wanted` requests the format reference."""

    page_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("inspector")
        self.setAccessibleName(self.tr("Inspector"))
        self._session = session
        self._path: tuple[Node, ...] = ()
        self._node: Node | None = None
        self._caret: Span | None = None
        self._trouble = ""
        self._late = Debounce(self, self._show_late, LATE_MILLISECONDS)
        self._bytes = _Bytes()
        self._build()
        session.closed.connect(self._show_selection)
        WhileVisible(session.selection_changed, self, self._show_selection)
        WhileVisible(session.opened, self, lambda _: self.file.refresh())
        WhileVisible(session.index_changed, self, self._index_changed)
        session.typed_changed.connect(self._forget_bytes)
        session.question_changed.connect(self._show_references)
        session.notation_changed.connect(self._show)
        self._show_selection()

    # --- what is shown ---

    def _show_selection(self, *_: object) -> None:
        """Show the selection. Until its details are loaded, the old ones stay for at most `LATE_MILLISECONDS`."""
        selection, shard = self._session.selection, self._session.shard
        self.pages.setCurrentIndex(1 if shard is None else 0)
        if shard is None:
            self._late.stop()
            self._bytes = _Bytes()
            return
        self._take_selection(selection, shard)
        if selection.complete and not self._ask():
            self._show()
        elif not self._late.isActive():
            self._late.start()

    def _take_selection(self, selection: Selection, shard: Shard) -> None:
        self._path = () if selection.is_file else selection.path
        self._node = _with_elsewhere(self._path)
        self._caret = self._session.caret or (Span("", 0, 0) if shard.source is not None else None)
        self._trouble = ""

    def _show_late(self) -> None:
        if not self._session.selection.complete:
            self._ask()
        self._show()

    def _show(self) -> None:
        self._late.stop()
        node, ref, is_file = self._node, self._session.selection.ref, self._session.selection.is_file
        self.file.setVisible(is_file)
        self.references.setVisible(not is_file)
        error = grouped(self._trouble or self._session.selection.error)
        self.error.set_text(error)
        self.error.setVisible(bool(error))
        self.name.setVisible(node is not None)
        self.doc.setVisible(node is not None and bool(node.doc))
        if node is None:
            self.value.hide()
            self.sum.hide()
        self.node_form.setVisible(node is not None)
        if node is not None:
            self.name.set_text(node_name(node))
            self.doc.set_text(grouped(without_marks(node.doc)))
            self._show_value(node)
            self.node_form.set_rows(node_rows(node, self._bytes.raw if self._bytes.node == node.span else None))
        self.object_form.setVisible(ref is not None)
        if ref is not None and (shard := self._session.shard) is not None:
            self.object_form.set_rows(object_rows(ref, format_of(shard.format).details))
        self.more.setVisible(node is not None)
        self._show_numbers()

    def _show_value(self, node: Node) -> None:
        value, adds = headline(node), sum_text(node)
        self.value.set_text(cut_end(value, MOST_LARGE), copied=value)
        # Digests and keys are shown completely, in the monospaced font.
        raw = isinstance(node.value, bytes) and value == node.value.hex() and len(value) > SHORT
        self.value.set_mono(raw)
        self._set_size(self.value, TITLE if len(value) <= SHORT else NORMAL if raw else LARGE)
        self.value.setVisible(bool(value))
        self.sum.set_text(f"= {adds}" if adds and " = " not in adds else adds)
        self.sum.setVisible(bool(adds))

    def _show_numbers(self) -> None:
        caret, node = self._caret, self._node
        self.numbers_title.setVisible(caret is not None)
        self.numbers.setVisible(caret is not None)
        if caret is None:
            return
        self.numbers_title.set_text(self.tr("Data inspector (at {0})").format(offset_words(caret.start)))
        begins = node is not None and (node.span.source, node.span.start) == (caret.source, caret.start)
        own = node.type if node is not None and begins else ""
        data = self._bytes.at_caret if self._bytes.caret == caret else None
        self.numbers.set_data(data, own)

    # --- bytes ---

    def _ask(self) -> bool:
        node, caret = self._node, self._caret
        place = node.span if node is not None else None
        if self._bytes.node == place and self._bytes.caret == caret:
            return False

        def work(shard: Shard, job: Job) -> _Bytes:
            raw = first_bytes(shard.bytes_of(place.source), place.start, min(RAW, place.size)) if place else b""
            job.check()
            there = first_bytes(shard.bytes_of(caret.source), caret.start, MOST) if caret else b""
            return _Bytes(place, raw, caret, there)

        job = self._session.ask(work, self._take_bytes, failed=self._not_read, key=("inspector", self))
        return job is not None

    def _forget_bytes(self) -> None:
        self._bytes = _Bytes()

    def _take_bytes(self, found: _Bytes) -> None:
        self._bytes = found
        self._show_when_due()

    def _not_read(self, error: BaseException) -> None:
        self._trouble = self.tr("The bytes cannot be read: {0}").format(error_text(error))
        self._show_when_due()

    def _show_when_due(self) -> None:
        if self._session.selection.complete or not self._late.isActive():
            self._show()

    # --- going elsewhere ---

    def _follow(self, target: Span | ExternalBytes | FormatPageLink) -> None:
        if isinstance(target, FormatPageLink):
            self.page_wanted.emit()
            return
        if isinstance(target, Span):
            self._session.select_span(target, self)
            return

        def failed(error: BaseException) -> None:
            not_here = self.tr("Not available")
            self.error.set_text(f"{not_here}: {error_text(error)}")
            self.error.show()
            self._session.report_error(not_here, error)

        find = target.find
        self._session.ask(
            lambda _shard, _job: find(),
            lambda span: self._session.select_span(span, self),
            failed=failed,
            key=("elsewhere", self),
        )

    def _show_references(self, question: ReferenceQuery | None) -> None:
        self.references.show_question(question)
        if question is not None and question.references is not None:
            # Wait until the list has its height.
            QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(self.references, 0, 12))

    # --- the widgets ---

    def _index_changed(self, state: IndexState) -> None:
        if state is not IndexState.LOADING:
            self.file.refresh()

    def _build(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.name = WrapText(bold=True)
        self.name.setObjectName("inspectorName")
        self.value = WrapText(bold=True)
        self.value.setObjectName("inspectorValue")
        self.sum = WrapText()
        self.sum.setObjectName("inspectorSum")
        self._enlarge()
        self.doc = WrapText(tone="muted")
        self.error = WrapText(tone="error")
        self.node_form = Form(self.tr("FIELD"))
        self.node_form.title.hide()
        self.object_form = Form(self.tr("OBJECT"))
        self.references = ReferencesForm()
        self.references.ask.clicked.connect(self._session.find_references)
        self.references.clear.clicked.connect(self._session.clear_question)
        self.references.followed.connect(self._follow)
        self.numbers = Numbers()
        self.numbers_title = WrapText(tone="muted", bold=True)
        self.file = FileSummary(self._session)
        for form in (self.node_form, self.object_form):
            form.followed.connect(self._follow)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(10, 12, 10, 14)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.addWidget(self.name, 1)
        head.addWidget(self._make_menu(), 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        for widget in (self.value, self.sum, self.doc, self.error, self.node_form, self.file):
            column.addWidget(widget)
        column.addSpacing(6)
        column.addWidget(self.object_form)
        column.addSpacing(6)
        column.addWidget(self.references)
        column.addSpacing(6)
        column.addWidget(self.numbers_title)
        column.addWidget(self.numbers)
        column.addStretch(1)
        self.hint = WrapText(self.tr("Open a shard to see what its bytes mean."), tone="muted")
        self.hint.setObjectName("inspectorHint")
        empty = QWidget()
        middle = QVBoxLayout(empty)
        middle.setContentsMargins(28, 36, 28, 28)
        middle.addWidget(self.hint)
        middle.addStretch(1)
        self.pages = QStackedWidget()
        self.pages.addWidget(content)
        self.pages.addWidget(empty)
        self.setWidget(self.pages)

    def _make_menu(self) -> QToolButton:
        self.more = QToolButton()
        self.more.setObjectName("inspectorMore")
        self.more.setText("⋯")
        self.more.setAccessibleName(self.tr("Copy or export details"))
        self.more.setToolTip(self.tr("Copy or export details"))
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        menu = QMenu(self.more)
        menu.addAction(self.tr("&Copy details"), self._copy_details)
        menu.addAction(self.tr("&Export details…"), self.export_details)
        self.more.setMenu(menu)
        return self.more

    # --- cards ---

    def card(self) -> Card | None:
        if not self._path or self._node is None or self._session.shard is None:
            return None
        request, ref = self._session.request, self._session.selection.ref
        raw = self._bytes.raw if self._bytes.node == self._node.span else b""
        key = ref.key if ref is not None and ref.key is not None else ""
        where = (
            self.tr("{0} (sandbox: not the file on disk)").format(request.name) if request.sandbox else request.shown
        )
        how = request.opened_with(partial=self._session.shard.damage is not None)
        return card_of(self._path, raw, where, how, key, self._session.selection.span)

    def _copy_details(self) -> None:
        if (card := self.card()) is not None:
            copy_lines(markdown(card))
            self._session.message.emit(self.tr("Copied as Markdown."))

    def export_details(self) -> DetailsDialog | None:
        card = self.card()
        if card is None:
            return None
        sheet = DetailsDialog(card, self.window())
        sheet.open()
        return sheet

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "name"):
            self._enlarge()

    def _enlarge(self) -> None:
        for widget in (self.name, self.value, self.sum):
            self._set_size(widget, TITLE if widget is self.value else NORMAL)

    def _set_size(self, widget: QWidget, pixels: float) -> None:
        font = sized(self.font(), pixels)
        if font != widget.font():
            widget.setFont(font)


def _with_elsewhere(path: tuple[Node, ...]) -> Node | None:
    """Return the last node of a path; `differs` and `elsewhere` are taken from its parent if it has none."""
    if len(path) > 1 and path[-1].differs is None and path[-2].differs is not None:
        path = (*path[:-1], replace(path[-1], differs=path[-2].differs))
    if len(path) > 1 and path[-1].elsewhere is None and path[-2].elsewhere is not None:
        return replace(path[-1], elsewhere=path[-2].elsewhere)
    return path[-1] if path else None
