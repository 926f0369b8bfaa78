"""Preview of the selected object, with links between elements and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QBuffer, QEvent, QIODevice, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import (
    ArchiveContent,
    ArrayContent,
    BytesContent,
    Content,
    LimitExceeded,
    ObjectRef,
    PictureContent,
    Shard,
    ShardError,
    SourceError,
    Span,
    TensorsContent,
    Unsupported,
    content,
    member_content,
)
from shardcore.model.text import plural, size_text
from shardcore.operations.content.pictures import picture_pixels
from shardcore.operations.content.tensors import tensor_content
from shardcore.operations.extraction.files import write_object
from shardcore.operations.extraction.names import Names, ending_of
from shardcore.writing.temporary import write_whole
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import cut_middle, offset_words
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job
from shardscope.session.lookup_steps import TraceWalk
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.preview.array_view import ArrayView
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.geometry_view import GeometryView
from shardscope.views.preview.json_view import JsonView
from shardscope.views.preview.pixel_plane import PlaneView, ZoomBar
from shardscope.views.preview.rows_view import RowsView
from shardscope.views.preview.text_view import TextView
from shardscope.views.preview.volume_view import VolumeView
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import px
from shardscope.widgets.plain_text import tip


class PictureView(ContentView):
    """Decoded picture; its pixels are compressed together, so that each is linked to all bytes."""

    label = "Picture"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.plane = PlaneView()
        self.bar = ZoomBar(self.plane)
        self.keys = self.plane
        self._pixels: NDArray[np.uint8] = np.zeros((0, 0, 4), np.uint8)
        self._about = ""
        self._size = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.plane, 1)
        column.addWidget(self.bar)
        self.plane.pointed.connect(self._point)
        self.plane.chosen.connect(self._choose)

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, PictureContent) and content.complete and not content.note

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> NDArray[np.uint8]:
        assert isinstance(content, PictureContent)
        return picture_pixels(shard, content)

    def show_preview(self, preview: Preview) -> None:
        one = preview.content
        assert isinstance(one, PictureContent)
        # Keep a reference: QImage does not copy the pixels.
        self._pixels = preview.prepared
        rows, columns, _ = self._pixels.shape
        image = QImage(self._pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
        words = [f"{columns:,} × {rows:,}", one.mode]
        if one.frames > 1:
            words.append(self.tr("{0} frames").format(f"{one.frames:,}"))
        self._about, self._size = " · ".join(filter(None, words)), len(one.data)
        self.plane.set_mark(None)
        self.plane.show_image(image)
        self.bar.set_text(self._about)

    def copy(self) -> bool:
        QGuiApplication.clipboard().setImage(self.picture())
        return True

    def picture(self) -> QImage:
        return self.plane.image.copy()

    def value_at(self, x: int, y: int) -> str:
        red, green, blue, alpha = (int(value) for value in self._pixels[y, x])
        faint = self.tr(", alpha {0}").format(alpha) if alpha < 255 else ""
        return f"({x}, {y}) = #{red:02x}{green:02x}{blue:02x}{faint}"

    def _point(self, x: int, y: int) -> None:
        self.bar.set_text(self.value_at(x, y) if x >= 0 else self._about)
        self.pointed.emit(0, self._size if x >= 0 else 0)

    def _choose(self, x: int, y: int) -> None:
        self.bar.set_text(self.value_at(x, y))
        self.chosen.emit(0, self._size)


class ScopeSwitch(QWidget):
    changed = Signal(bool)
    """Carries whether the whole volume is shown, or only the selected chunk."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("previewScope")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        group = QButtonGroup(self)
        self.chunk = self._button("previewChunk", self.tr("Chunk"))
        self.volume = self._button("previewVolume", self.tr("Volume"))
        for button in (self.chunk, self.volume):
            group.addButton(button)
            row.addWidget(button)
        self.chunk.setChecked(True)
        self.volume.toggled.connect(self.changed)
        self.hide()

    def _button(self, name: str, text: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setText(text)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    @property
    def whole(self) -> bool:
        return self.volume.isChecked()

    def offer(self, there: bool, *, whole: bool) -> None:
        self.setVisible(there)
        (self.volume if there and whole else self.chunk).setChecked(True)


VIEWS: tuple[type[ContentView], ...] = (
    ArrayView,
    PictureView,
    GeometryView,
    JsonView,
    RowsView,
    TextView,
)
"""All views; the first one that can show a content is its default."""

REMOTE = 1 << 16
"""Maximum number of bytes of a remote object that are read automatically."""

MOST_TEXT = 1 << 18
"""Number of bytes of a text that are read at first."""

LATE_MILLISECONDS = 120
"""Maximum milliseconds for which the previous object stays visible."""

_WIDE = 420
"""Width of the panel in pixels from which all buttons are shown."""

_IN_PLACE = ("text", "json", "table", "picture", "bytes")
"""Kinds of archive members that the preview shows; others open in a tab."""

WHOLE = 64 << 20
"""Maximum number of bytes read on request."""


def views_of(found: Content) -> tuple[type[ContentView], ...]:
    return tuple(view for view in VIEWS if view.shows(found))


def preview_of(shard: Shard, ref: ObjectRef, limit: int | None, labels: Mapping[str, str]) -> tuple[Preview, str]:
    """Read and prepare an object; return it with the label of its view, empty if none can show it. Runs in a job.

    `limit` is the number of bytes read, None for the default of each kind. `labels` are the views chosen last, by kind.
    """
    found = content(shard, ref, limit=limit)
    try:
        parts = shard.content_parts(ref)
    except ShardError:
        # Show the content without links to its bytes.
        parts = ()
    return prepared(shard, Preview(ref, found, parts), labels)


def prepared(shard: Shard, preview: Preview, labels: Mapping[str, str]) -> tuple[Preview, str]:
    found = preview.content
    views = views_of(found)
    views = tuple(sorted(views, key=lambda view: view.label != labels.get(found.kind)))
    note = found.note
    for view in views:
        try:
            ready = view.prepare(shard, preview.ref, found)
        except SourceError:
            raise
        except ShardError as error:
            note = "; ".join(filter(None, (note, error.message)))
        else:
            return replace(preview, content=replace(found, note=note), prepared=ready), view.label
    return replace(preview, content=replace(found, note=note)), ""


def tensor_preview(shard: Shard, shown: Preview, number: int, labels: Mapping[str, str]) -> tuple[Preview, str]:
    assert isinstance(shown.content, TensorsContent)
    tensor = shown.content.tensors[number]
    size = tensor.stop - tensor.start
    data = shard.read_range(shown.ref, tensor.start, max(tensor.stop, tensor.start), limit=WHOLE)
    one = tensor_content(tensor, data)
    part = replace(
        shown,
        content=one,
        prepared=None,
        begin=shown.begin + tensor.start,
        name=tensor.name,
        widened=max(one.size // size, 1) if size > 0 else 1,
    )
    return prepared(shard, part, labels)


def member_preview(shard: Shard, shown: Preview, number: int, labels: Mapping[str, str]) -> tuple[Preview, str] | None:
    """Read a member of an archive; None if it opens in its own tab instead. See `preview_of`."""
    assert isinstance(shown.content, ArchiveContent)
    member = shown.content.members[number]
    try:
        found = member_content(shard, shown.ref, member.name)
    except (LimitExceeded, Unsupported):
        return None
    if found.kind not in _IN_PLACE:
        return None
    stored = member.codec == "none" and member.data >= 0
    part = replace(
        shown,
        content=found,
        prepared=None,
        begin=member.data if stored else 0,
        name=member.name,
        held=None if stored else (member.start, member.stop),
    )
    return prepared(shard, part, labels)


class DragHandle(QWidget):
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("previewDrag")
        self.setAccessibleName(self.tr("Drag to another program"))
        self.setToolTip(self.tr("Drag the object to another program"))
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setFixedSize(18, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colours.accent if self.underMouse() else colours.muted, 1.2))
        painter.setBrush(colours.base)
        painter.drawRoundedRect(QRectF(2.5, 2.5, 13, 17), 2, 2)
        for line in (7, 11, 15):
            painter.drawLine(5, line, 12, line)

    def enterEvent(self, event: object) -> None:
        self.update()

    def leaveEvent(self, event: object) -> None:
        self.update()


class PreviewPanel(QWidget):
    """Preview of the selected object; reads in jobs, and only while it is visible."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("preview")
        self.setAccessibleName(self.tr("Preview"))
        self._session = session
        self.shown: Preview | None = None
        self.view: ContentView | None = None
        self._whole: tuple[Preview, str] | None = None
        self._views: dict[type[ContentView], ContentView] = {}
        self._labels: dict[str, str] = {}
        self._where: Span | None = None
        self.title = Elided(greedy=True, parent=self)
        self.title.setObjectName("previewTitle")
        self.handle = DragHandle(self)
        self.drag = DragOut(session, self.handle, self._dragged)
        self.back = self._button("previewBack", self.tr("Back to list"), self._go_back)
        self.more = self._button("previewMore", self.tr("Read all"), self._read_all)
        self.location = self._button("previewLocation", self.tr("Show location"), self._show_location)
        self.copy = QToolButton()
        self.copy.setObjectName("previewCopy")
        self.copy.setText(self.tr("Copy"))
        self.copy.setToolTip(self.tr("Copy the content, or what is selected of it (Ctrl+C)"))
        self.copy.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.menu = QToolButton()
        self.menu.setObjectName("previewMenu")
        self.menu.setText("⋯")
        self.menu.setAccessibleName(self.tr("More actions"))
        self.menu.setToolTip(self.tr("Save, copy"))
        self.menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu.setStyleSheet("QToolButton { padding: 3px 6px; } QToolButton::menu-indicator { image: none; }")
        self.menu.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.note, self.hint, self.empty = QLabel(), QLabel(), QWidget()
        self.note.setObjectName("previewNote")
        self.hint.setObjectName("previewHint")
        self.volume, self.scope = VolumeView(session), ScopeSwitch()
        self._late = Debounce(self, self._show_reading, LATE_MILLISECONDS)
        self._build()
        self.scope.changed.connect(self._show_scope)
        self.volume.offered.connect(lambda there: self.scope.offer(there, whole=session.selection.ref is None))
        self.copy.clicked.connect(lambda _: self.copy_content())
        session.opened.connect(lambda _: self._clear())
        session.closed.connect(self._clear)
        session.typed_changed.connect(self._forget)
        WhileVisible(session.selection_changed, self, self._follow)
        WhileVisible(session.opened, self, lambda _: self.volume.look_for())
        self._clear()

    def sizeHint(self) -> QSize:
        return QSize(360, 420)

    def _button(self, name: str, text: str, clicked: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.clicked.connect(lambda _: clicked())
        return button

    def _build(self) -> None:
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self.hint.setForegroundRole(self.hint.palette().ColorRole.PlaceholderText)
        self._switch = QHBoxLayout()
        self._switch.setSpacing(2)
        menu = QMenu(self.menu)
        menu.aboutToShow.connect(lambda: self._fill_menu(menu))
        self.menu.setMenu(menu)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 5, 8, 4)
        bar.setSpacing(4)
        bar.addWidget(self.handle)
        bar.addWidget(self.title, 1)
        bar.addWidget(self.scope)
        bar.addLayout(self._switch)
        bar.addWidget(self.copy)
        bar.addWidget(self.menu)
        notes = QHBoxLayout()
        notes.setContentsMargins(8, 0, 8, 4)
        notes.addWidget(self.back)
        notes.addWidget(self.note, 1)
        notes.addWidget(self.more)
        empty = QVBoxLayout(self.empty)
        empty.addStretch(1)
        empty.addWidget(self.hint)
        empty.addWidget(self.location, 0, Qt.AlignmentFlag.AlignCenter)
        empty.addStretch(1)
        self._notes = QWidget()
        self._notes.setLayout(notes)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.volume)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._notes)
        column.addWidget(self.pages, 1)

    def page(self, kind: type[ContentView]) -> ContentView:
        if kind not in self._views:
            view = self._views[kind] = kind(self._session)
            view.pointed.connect(self._point)
            view.chosen.connect(self._choose_bytes)
            view.part_wanted.connect(self._open_part)
            self.pages.addWidget(view)
        return self._views[kind]

    # --- what is shown ---

    def _clear(self) -> None:
        if (job := self._session.jobs.newest(("preview", self))) is not None:
            job.cancel()
        self._forget()
        self._say(self.tr("Select an object to see its content."))

    def _forget(self) -> None:
        self.shown = self._whole = None

    def _say(self, text: str, where: Span | None = None) -> None:
        self._late.stop()
        self.title.clear()
        for part in (self.handle, self.copy, self.menu, self._notes):
            part.hide()
        self._offer((), "")
        self.view, self._where = None, where
        self.location.setVisible(where is not None)
        self.hint.setText(text)
        self.pages.setCurrentWidget(self.empty)

    def _follow(self, selection: Selection) -> None:
        if not selection.complete or self.scope.whole:
            return
        shown, ref = self.shown, selection.ref
        marked = shown.inside(selection.span) if shown is not None else None
        if shown is not None and (ref == shown.ref or (ref is None and marked is not None)):
            if marked is not None and selection.origin is not self and self.view is not None:
                self.view.mark(*marked)
            return
        if selection.origin is self:
            return
        if ref is not None:
            self._late.start()
            self._read(ref, self._first_limit(ref))
        elif not self._is_looked_up(selection.origin):
            self._clear()

    def _is_looked_up(self, origin: object) -> bool:
        trace = origin.trace if isinstance(origin, TraceWalk) else None
        return self.shown is not None and trace is not None and trace.ref == self.shown.ref

    def _show_reading(self) -> None:
        self._forget()
        self._say(self.tr("Reading …"))

    def _show_scope(self, whole: bool) -> None:
        self._clear()
        if whole:
            self.title.set_text(self.volume.title)
            self.pages.setCurrentWidget(self.volume)
        else:
            self._follow(self._session.selection)

    def _first_limit(self, ref: ObjectRef) -> int | None:
        if self._session.request.is_remote:
            return REMOTE
        return MOST_TEXT if ref.size > WHOLE else None

    def _failed(self, error: BaseException) -> None:
        self._forget()
        span = getattr(error, "span", None)
        text = error_text(error)
        if isinstance(span, Span):
            source = self.tr(" of {0}").format(span.source) if span.source else ""
            text = self.tr("{0}\nAt offset {1}{2}").format(text, offset_words(span.start), source)
        self._say(text, span if isinstance(span, Span) else None)

    def _show_location(self) -> None:
        if self._where is not None:
            self._session.select_span(self._where, self)

    def _read(self, ref: ObjectRef, limit: int | None) -> None:
        if ref.error:
            self._forget()
            self._say(ref.error, next(iter(ref.spans), None))
            return
        labels = dict(self._labels)
        work = lambda shard, _job: preview_of(shard, ref, limit, labels)  # noqa: E731
        self._session.ask(work, self._take, failed=self._failed, key=("preview", self))

    def _read_all(self) -> None:
        if self.shown is not None:
            self._read(self.shown.ref, max(min(self.shown.content.size, WHOLE), 1))

    def _take(self, found: tuple[Preview, str]) -> None:
        self._late.stop()
        self.shown, label = found
        if not self.shown.name:
            self._whole = found
        one = self.shown.content
        self._show_title()
        cut = not one.complete and one.size > 0
        self.back.setVisible(bool(self.shown.name))
        self.more.setVisible(cut and len(one.data) < min(one.size, WHOLE))
        words = self.tr("Read all {0}") if one.size <= WHOLE else self.tr("Read {0}")
        self.more.setText(words.format(size_text(min(one.size, WHOLE))))
        notes = [one.note] if one.note else []
        if cut:
            notes.append(self.tr("The first {0} of {1}.").format(size_text(len(one.data)), size_text(one.size)))
        self.note.setText("\n".join(notes))
        self._notes.setVisible(bool(notes or self.shown.name))
        for part in (self.handle, self.menu):
            part.show()
        self._show_view(label)
        marked = self.shown.inside(self._session.selection.span)
        if marked is not None and marked != (0, one.size) and self.view is not None:
            self.view.mark(*marked)

    def _show_title(self) -> None:
        if self.shown is None:
            return
        one, key = self.shown.content, self.shown.ref.key
        name = key if key is not None else self.tr("row {0}").format(self.shown.ref.row)
        size = size_text(one.size) if one.size >= 0 else self.tr("size unknown")
        self.title.set_text(" · ".join(filter(None, (cut_middle(name), self.shown.name, one.title, size))))
        self.title.setToolTip(tip("\n".join((name, plural(one.size, "byte") if one.size >= 0 else size))))

    def _show_view(self, label: str) -> None:
        assert self.shown is not None
        one = self.shown.content
        views = views_of(one)
        kind = next((view for view in views if view.label == label), None)
        self._offer(views, label)
        self.location.hide()
        self.view = self.page(kind) if kind is not None else None
        self._fit_bar()
        if self.view is None:
            self.hint.setText(self._without_view(one))
            self.pages.setCurrentWidget(self.empty)
            return
        self.view.show_preview(self.shown)
        self.pages.setCurrentWidget(self.view)

    def _without_view(self, found: Content) -> str:
        if isinstance(found, ArrayContent) and not found.layout.nbytes:
            shape = " × ".join(map(str, found.layout.shape))
            return self.tr("{0} of {1}, {2}: no elements").format(found.title, shape, found.layout.dtype.name)
        if not found.complete and found.size and not isinstance(found, BytesContent):
            return self.tr("{0}: read all to show it").format(found.title)
        if isinstance(found, BytesContent) and found.size:
            return self.tr("{0}: empty text").format(found.title)
        return self.tr("Empty") if found.size == 0 else found.title

    def _offer(self, views: tuple[type[ContentView], ...], label: str) -> None:
        names = [view.label for view in views] if len(views) > 1 else []
        buttons = [item.widget() for n in range(self._switch.count()) if (item := self._switch.itemAt(n)) is not None]
        if names != [button.property("label") for button in buttons if button is not None]:
            while (item := self._switch.takeAt(0)) is not None:
                if (old := item.widget()) is not None:
                    old.hide()
                    old.deleteLater()
            for name in names:
                self._switch.addWidget(self._switch_button(name))
        for number in range(self._switch.count()):
            item = self._switch.itemAt(number)
            button = item.widget() if item is not None else None
            if isinstance(button, QToolButton):
                button.setChecked(button.property("label") == label)

    def _fit_bar(self) -> None:
        room = self._switch.count() == 0 or self.width() >= px(_WIDE)
        self.copy.setVisible(self.view is not None and room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_bar()

    def _switch_button(self, label: str) -> QToolButton:
        button = QToolButton()
        button.setText(self.tr(label))
        button.setObjectName(f"previewAs{label}")
        button.setProperty("label", label)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(lambda _: self.show_as(label))
        return button

    def show_as(self, label: str) -> None:
        shown = self.shown
        if shown is not None:
            self._labels[shown.content.kind] = label
            labels = dict(self._labels)
            work = lambda shard, _job: prepared(shard, shown, labels)  # noqa: E731
            self._session.ask(work, self._take, failed=self._failed, key=("preview", self))

    # --- parts of what is shown ---

    def _open_part(self, number: int) -> None:
        shown = self.shown
        if shown is None:
            return
        if isinstance(shown.content, ArchiveContent):
            name, labels = shown.content.members[number].name, dict(self._labels)
            if shown.content.inner is not None:
                self.open_member(name)
                return
            work = lambda shard, _job: member_preview(shard, shown, number, labels)  # noqa: E731
            take = lambda found: self._take(found) if found is not None else self.open_member(name)  # noqa: E731
            self._session.ask(work, take, failed=self._not_opened, key=("preview", self))
        elif isinstance(shown.content, TensorsContent):
            labels = dict(self._labels)
            work = lambda shard, _job: tensor_preview(shard, shown, number, labels)  # noqa: E731
            self._session.ask(work, self._take, failed=self._not_opened, key=("preview", self))

    def open_member(self, name: str) -> None:
        if self.shown is not None and self.shown.ref.row >= 0:
            self._session.open_inside(self.shown.ref.row, name)

    def _not_opened(self, error: BaseException) -> None:
        self.note.setText(error_text(error))
        self._notes.show()
        for part in (self.back, self.more):
            part.hide()

    def _go_back(self) -> None:
        if self._whole is not None:
            self._take(self._whole)
            if self.view is not None:
                self.view.keys.setFocus(Qt.FocusReason.OtherFocusReason)

    # --- out of the preview ---

    def _dragged(self) -> tuple[int, ...]:
        return (self.shown.ref.row,) if self.shown is not None else ()

    def _fill_menu(self, menu: QMenu) -> None:
        menu.clear()
        if self.shown is None:
            return
        if self.view is not None:
            menu.addAction(self.tr("&Copy"), self.copy_content)
        menu.addAction(self.tr("Copy &file"), self.drag.copy_files)
        menu.addSeparator()
        menu.addAction(self.tr("&Save as…"), self.ask_save)
        if self.view is not None and self.view.picture() is not None:
            menu.addAction(self.tr("Save &picture…"), self.ask_picture)
        if self.view is not None and type(self.view).open_find is not ContentView.open_find:
            menu.addSeparator()
            menu.addAction(self.tr("F&ind in the text"), self.view.open_find)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_menu(menu)
        if not menu.isEmpty():
            menu.popup(event.globalPos())

    def copy_content(self) -> None:
        if self.view is not None and self.view.copy():
            self._session.message.emit(self.tr("Copied"))

    def _proposed(self, ending: str = "") -> str:
        assert self.shown is not None
        name = self.shown.ref.key or f"row-{self.shown.ref.row}"
        if self.shown.name and self._whole is not None and isinstance(self._whole[0].content, ArchiveContent):
            name = self.shown.name
        elif self.shown.name:
            name = f"{name}.{self.shown.name}"
        one = self.shown.content
        name = Names().give(name.rpartition("/")[2] or name, ending or ending_of(one.data, whole=one.complete))
        return f"{name}{ending}" if ending and not name.endswith(ending) else name

    def ask_save(self) -> None:
        if self.shown is not None and not self._is_sandbox():
            ask_target(self, self.tr("Save as"), lambda path: self.save_to(Path(path)), name=self._proposed())

    def _is_sandbox(self) -> bool:
        if self._session.request.sandbox:
            self._session.say(self.tr("Not available in the sandbox: save a copy and open it"), failed=True)
        return self._session.request.sandbox

    def save_to(self, path: Path) -> None:
        """Write the content to a file in a job; replaces an existing file."""
        shown = self.shown
        if shown is None:
            return

        def work(shard: Shard, job: Job) -> Path:
            if shown.held is not None:
                write_whole(path, iter([shown.content.data]), force=True)
                return path
            if shown.name:
                size = len(shown.content.data) // shown.widened
                data = shard.read_range(shown.ref, shown.begin, shown.begin + size, limit=WHOLE)
                write_whole(path, iter([data]), force=True)
                return path
            done = [0]

            def each(count: int) -> None:
                done[0] += count
                job.progress(done[0], max(shown.ref.size, done[0]))

            write_object(shard, shown.ref, path, force=True, each_piece=each)
            return path

        self._write(work, path)

    def ask_picture(self) -> None:
        if self.shown is not None and not self._is_sandbox():
            kinds = {self.tr("PNG (*.png)"): "png"}
            name = self._proposed(".png")
            ask_target(
                self, self.tr("Save picture"), lambda path: self.save_picture(Path(path)), name=name, kinds=kinds
            )

    def save_picture(self, path: Path) -> None:
        image = self.view.picture() if self.view is not None else None
        if image is not None:
            self._write(lambda _shard, _job: _write_png(image, path), path)

    def _write(self, work: Callable[[Shard, Job], Path], path: Path) -> None:
        self._session.ask(
            work,
            lambda found: self._session.say(self.tr("Saved: {0}").format(found)),
            failed=self.tr("Cannot save the file"),
            title=f"Save {path.name}",
        )

    # --- keys ---

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_ours(event):
            event.accept()
            return True
        return super().event(event)

    def _is_ours(self, event: QKeyEvent) -> bool:
        if self.view is None or isinstance(QApplication.focusWidget(), QLineEdit):
            return False
        if event.matches(QKeySequence.StandardKey.Find):
            return type(self.view).open_find is not ContentView.open_find
        return event.matches(QKeySequence.StandardKey.Copy)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._is_ours(event):
            if event.matches(QKeySequence.StandardKey.Copy):
                self.copy_content()
            elif self.view is not None:
                self.view.open_find()
        else:
            super().keyPressEvent(event)

    # --- the bytes of what is shown ---

    def _point(self, start: int, stop: int) -> None:
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        self._session.point_at([span] if span is not None else [])

    def _choose_bytes(self, start: int, stop: int) -> None:
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        if span is not None:
            self._session.select_span(span, self)


def _write_png(image: QImage, path: Path) -> Path:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise SourceError("the picture cannot be encoded as PNG")
    write_whole(path, iter([bytes(buffer.data().data())]), force=True)
    return path
