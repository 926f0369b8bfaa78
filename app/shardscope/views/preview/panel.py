"""Preview of the selected object: what it is, and the bytes of what is pointed at."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from shardcore import Content, FormatError, ObjectRef, Shard, ShardError, TextContent, content
from shardcore.model.number_words import plural
from shardscope.session.error_words import plain_words
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.preview.array_view import ArrayView
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.geometry_view import GeometryView
from shardscope.views.preview.json_view import JsonView
from shardscope.views.preview.picture_view import PictureView
from shardscope.views.preview.rows_view import RowsView
from shardscope.views.preview.text_view import TextView
from shardscope.views.preview.volume_view import VolumeView
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.elided import Elided
from shardscope.widgets.while_visible import WhileVisible

VIEWS: tuple[type[ContentView], ...] = (
    ArrayView,
    PictureView,
    JsonView,
    GeometryView,
    RowsView,
    TextView,
)
"""Views, one line each: the first that shows a content is its default, the panel offers all that do."""

REMOTE = 1 << 16
"""Bytes of a remote object that are read without a click."""

MOST_TEXT = 1 << 18
"""Bytes of a text that are shown at first."""

WHOLE = 64 << 20
"""Bytes that are read on request."""


def views_of(found: Content) -> tuple[type[ContentView], ...]:
    """Return the views that show a content; the first is its default."""
    return tuple(view for view in VIEWS if view.shows(found))


def preview_of(shard: Shard, ref: ObjectRef, limit: int | None, label: str = "") -> tuple[Preview, str]:
    """Read and prepare the content of an object; runs in a job.

    Args:
        shard: The shard.
        ref: The object.
        limit: Bytes that are read at most; None for the default of each kind.
        label: Label of the view that was chosen last.

    Returns:
        The content, and the label of the view that it is prepared for; empty where no view shows it.

    Raises:
        ShardError: It cannot be read.
    """
    found = content(shard, ref, limit=limit)
    try:
        parts = shard.content_parts(ref)
    except ShardError:
        # The content is shown; what stores each byte of it is unknown.
        parts = ()
    return prepared(shard, Preview(ref, found, parts), label)


def prepared(shard: Shard, preview: Preview, label: str) -> tuple[Preview, str]:
    """Prepare a content for the view of a label, or for its default; see `preview_of`."""
    found = preview.content
    views = views_of(found)
    view = next((one for one in views if one.label == label), views[0] if views else None)
    if view is None:
        return preview, ""
    try:
        return replace(preview, prepared=view.prepare(shard, preview.ref, found)), view.label
    except FormatError as error:
        note = "; ".join(filter(None, (found.note, error.message)))
        return replace(preview, content=replace(found, note=note)), ""


class PreviewPanel(QWidget):
    """Follows the selected object while it is visible; reads by jobs.

    Attributes:
        shown: What is shown; None for nothing.
        view: The view that shows it; None for none.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("preview")
        self.setAccessibleName(self.tr("Preview"))
        self._session = session
        self.shown: Preview | None = None
        self.view: ContentView | None = None
        self._views: dict[type[ContentView], ContentView] = {}
        self._labels: dict[type[Content], str] = {}
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
        self.volume = VolumeView(session)
        self.scope = (QPushButton(self.tr("Chunk")), QPushButton(self.tr("Volume")))
        self._build()
        self._build_scope()
        self.more.clicked.connect(self._read_all)
        self.copy.clicked.connect(self._copy_text)
        session.opened.connect(lambda _: self._clear())
        session.closed.connect(self._clear)
        WhileVisible(session.selection_changed, self, self._follow)
        self._clear()

    def sizeHint(self) -> QSize:
        return QSize(360, 420)

    def _build(self) -> None:
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        self.note.setContentsMargins(8, 2, 8, 4)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self.hint.setEnabled(False)
        self._switch = QHBoxLayout()
        self._switch.setSpacing(0)
        self._group = QButtonGroup(self)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 4)
        bar.addWidget(self.title, 1)
        for button in self.scope:
            button.hide()
            bar.addWidget(button)
        bar.addLayout(self._switch)
        bar.addWidget(self.more)
        bar.addWidget(self.copy)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.hint)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self.note)
        column.addWidget(self.pages, 1)

    def _build_scope(self) -> None:
        """Offer the selected chunk and the whole volume, where the shard has chunks of one array."""
        group = QButtonGroup(self)
        for button, name in zip(self.scope, ("previewChunk", "previewVolume"), strict=True):
            button.setObjectName(name)
            button.setCheckable(True)
            group.addButton(button)
        self.scope[0].setChecked(True)
        self.pages.addWidget(self.volume)
        self.scope[1].toggled.connect(self._show_volume)
        self.volume.offered.connect(self._offer_volume)
        WhileVisible(self._session.opened, self, lambda _: self.volume.look_for())

    def _offer_volume(self, there: bool) -> None:
        for button in self.scope:
            button.setVisible(there)
        self.scope[int(there and self._session.selection.ref is None)].setChecked(True)
        self._show_volume(self.scope[1].isChecked())

    def _show_volume(self, whole: bool) -> None:
        """Show the volume, or the selected chunk."""
        if whole:
            self._say("")
            self.title.tell(self.volume.title)
            self.pages.setCurrentWidget(self.volume)
        elif self.pages.currentWidget() is self.volume:
            self._clear()
            self._follow(self._session.selection)

    def page(self, kind: type[ContentView]) -> ContentView:
        """Return the view of a kind; it is created when it is needed first."""
        if kind not in self._views:
            view = self._views[kind] = kind(self._session)
            view.pointed.connect(self._point)
            view.chosen.connect(self._choose_bytes)
            self.pages.addWidget(view)
        return self._views[kind]

    # --- what is shown ---

    def _clear(self) -> None:
        self.shown = None
        self._say(self.tr("Select an object to see its content."))

    def _say(self, text: str) -> None:
        self.title.clear()
        for part in (self.more, self.copy, self.note):
            part.hide()
        self._offer((), "")
        self.view = None
        self.hint.setText(text)
        self.pages.setCurrentWidget(self.hint)

    def _follow(self, selection: Selection) -> None:
        """Show the selected object; bytes of what is shown are marked in it."""
        if not selection.complete or self.scope[1].isChecked():
            return
        shown, ref = self.shown, selection.ref
        if shown is not None and (ref is None or ref == shown.ref):
            marked = shown.inside(selection.span)
            if marked is not None and selection.origin is not self and self.view is not None:
                self.view.mark(*marked)
            return
        if ref is None or selection.origin is self:
            return
        self._read(ref, self._first_limit(ref))

    def _first_limit(self, ref: ObjectRef) -> int | None:
        """Return how many bytes are read without a click; None for the default of each kind."""
        if self._session.request.is_remote:
            return REMOTE
        return MOST_TEXT if ref.size > WHOLE else None

    def _failed(self, error: BaseException) -> None:
        self.shown = None
        self._say(plain_words(error))

    def _read(self, ref: ObjectRef, limit: int | None) -> None:
        if ref.error:
            self.shown = None
            self._say(ref.error)
            return
        work = lambda shard, _job: preview_of(shard, ref, limit)  # noqa: E731
        self._session.ask(work, self._take, failed=self._failed, key=("preview", self))

    def _read_all(self) -> None:
        if self.shown is not None:
            self._read(self.shown.ref, max(min(self.shown.content.size, WHOLE), 1))

    def _take(self, found: tuple[Preview, str]) -> None:
        self.shown, label = found
        one = self.shown.content
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
        self._show_view(label)
        marked = self.shown.inside(self._session.selection.span)
        if marked is not None and marked != (0, one.size) and self.view is not None:
            self.view.mark(*marked)

    def _show_view(self, label: str) -> None:
        assert self.shown is not None
        one = self.shown.content
        views = views_of(one)
        kind = next((view for view in views if view.label == label), None)
        self._offer(views, label)
        if kind is None:
            self.view = None
            self.hint.setText(self.tr("Empty") if one.size == 0 else one.title)
            self.pages.setCurrentWidget(self.hint)
            return
        self.view = self.page(kind)
        self.view.show_preview(self.shown)
        self.pages.setCurrentWidget(self.view)

    def _offer(self, views: tuple[type[ContentView], ...], label: str) -> None:
        """Offer the views of a content, where it has several."""
        while (item := self._switch.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for view in views if len(views) > 1 else ():
            button = QPushButton(self.tr(view.label))
            button.setObjectName(f"previewAs{view.label}")
            button.setCheckable(True)
            button.setChecked(view.label == label)
            self._group.addButton(button)
            button.clicked.connect(lambda _, name=view.label: self.show_as(name))
            self._switch.addWidget(button)

    def show_as(self, label: str) -> None:
        """Show the content in the view of a label."""
        shown = self.shown
        if shown is not None:
            work = lambda shard, _job: prepared(shard, shown, label)  # noqa: E731
            self._session.ask(work, self._take, failed=self._failed, key=("preview", self))

    def open_member(self, name: str) -> None:
        """Open a member of an archive."""

    def _copy_text(self) -> None:
        if self.shown is not None and isinstance(self.shown.content, TextContent):
            copy_text(self.shown.content.text)

    # --- the bytes of what is shown ---

    def _point(self, start: int, stop: int) -> None:
        """Highlight the bytes of what is pointed at; none for an empty range."""
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        self._session.point_at([span] if span is not None else [])

    def _choose_bytes(self, start: int, stop: int) -> None:
        """Select the bytes of what was clicked."""
        span = self.shown.span_of(start, stop) if self.shown is not None and start < stop else None
        if span is not None:
            self._session.select_span(span, self)
