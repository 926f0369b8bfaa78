"""Dragging objects and nodes to other programs as files, and copying them as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QObject, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import (
    QCursor,
    QDrag,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractItemView, QApplication, QTableView, QToolTip, QWidget

from shardcore import Cancelled, Shard
from shardcore.model.text import plural, size_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.views.objects.temporary_files import (
    MOST_FILES,
    SMALL,
    DragFolders,
    DraggedNode,
    Prepared,
    TooLarge,
    prepare,
)
from shardscope.widgets import theme
from shardscope.widgets.plain_text import plain_label


def files_text(prepared: Prepared) -> str:
    return f"{plural(len(prepared.files), 'file')} ({size_text(prepared.size)})"


def drag_pixmap(prepared: Prepared, widget: QWidget) -> QPixmap:
    colours = theme.of(widget)
    first = prepared.files[0].name if len(prepared.files) == 1 else plural(len(prepared.files), "file")
    name = widget.fontMetrics().elidedText(first, Qt.TextElideMode.ElideMiddle, 220)
    label = plain_label(f"{name}\n{size_text(prepared.size)}")
    label.setStyleSheet(
        f"background: {colours.raised.name()}; color: {colours.text.name()}; padding: 6px 12px;"
        f" border: 1px solid {colours.accent.name()}; border-radius: 6px;"
    )
    return label.grab()


FAR_SMALL = 1 << 20
"""Maximum size in bytes of remote objects fetched on mouse press, before a drag starts."""

FAR_MOST = 64 << 20
"""Maximum size in bytes of remote objects fetched for a drag; larger selections must be extracted."""

Selected = Callable[[], Sequence[int] | DraggedNode | None]

_Key = tuple[int, str, tuple[int, ...] | DraggedNode]
_Then = Callable[[Prepared], None]


class DragOut(QObject):
    """Makes the selection of a view draggable; owned by the view.

    Other programs may read the files before the drop. So files are written on mouse press if they have at most `small`
    bytes, else when the drag starts. `selected` returns rows of `Shard.objects` (at most `MOST_FILES` + 1) or a node.
    """

    def __init__(self, session: Session, view: QWidget, selected: Selected, *, small: int = SMALL) -> None:
        super().__init__(view)
        self.small = small
        self.run_drag: Callable[[QMimeData, QPixmap], None] = self._run_drag
        self._session = session
        self._view = view
        self._selected = selected
        self._folders = DragFolders()
        self._ready: dict[_Key, Prepared] = {}
        self._handed: set[_Key] = set()
        self._job: Job | None = None
        self._asked: _Key | None = None
        self._then: _Then | None = None
        self._pressed: QPoint | None = None
        self._kept: QModelIndex | None = None
        self._dragging = False
        self._port = view.viewport() if isinstance(view, QAbstractItemView) else view
        self._port.installEventFilter(self)
        session.jobs.changed.connect(self._progressed)
        session.closed.connect(self._forget)
        session.jobs.submit(lambda _: self._folders.remove_stale(), priority=JobPriority.SCAN, lasting=True)

    # --- called from outside ---

    def copy_files(self) -> None:
        def take(prepared: Prepared) -> None:
            QGuiApplication.clipboard().setMimeData(_mime(prepared, clipboard=True))
            self._session.message.emit(self.tr("{0} copied: paste in a file manager").format(files_text(prepared)))

        self._prepare(take, whole=True)

    def close(self) -> None:
        """Remove all files; call it at exit, when no job writes any more."""
        self._port.removeEventFilter(self)
        self._view.removeEventFilter(self)
        self._folders.remove()

    # --- the mouse ---

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape and self._job is not None:
                self._cancel()
                return True
            return False
        # The table may already be deleted when its last events arrive.
        if watched is not self._port or not isinstance(event, QMouseEvent):
            return False
        match event.type():
            case QEvent.Type.MouseButtonPress:
                return self._press(event)
            case QEvent.Type.MouseMove:
                return self._move(event)
            case QEvent.Type.MouseButtonRelease:
                return self._release(event)
        return False

    def _press(self, event: QMouseEvent) -> bool:
        self._pressed = self._kept = None
        place = event.position().toPoint()
        index = self._view.indexAt(place) if isinstance(self._view, QAbstractItemView) else None
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        if not plain or (index is not None and not index.isValid()) or self._session.shard is None:
            return False
        self._pressed = place
        # The table selects the row first.
        QTimer.singleShot(0, self, self._prepare_small)
        if index is not None and isinstance(self._view, QTableView) and self._view.selectionModel().isSelected(index):
            # A press on one of several selected rows may start a drag of all, so it selects that row on release.
            self._kept = index
            self._view.setFocus(Qt.FocusReason.MouseFocusReason)
            return True
        # Accept the press, so that the widget receives the moves.
        return index is None

    def _move(self, event: QMouseEvent) -> bool:
        if self._pressed is None or not event.buttons() & Qt.MouseButton.LeftButton:
            return False
        far = (event.position().toPoint() - self._pressed).manhattanLength() >= QApplication.startDragDistance()
        if far and not self._dragging:
            self._dragging = True
            self._prepare(self._drag, whole=True)
        return True

    def _release(self, event: QMouseEvent) -> bool:
        pressed, kept, dragging = self._pressed, self._kept, self._dragging
        self._pressed = self._kept = None
        self._dragging = False
        if event.button() != Qt.MouseButton.LeftButton or pressed is None:
            return False
        QToolTip.hideText()
        if dragging:
            return True
        if self._job is not None and self._then is None:
            # It was a click.
            self._cancel()
        if kept is None or not isinstance(self._view, QTableView):
            return False
        flags = self._view.selectionModel().SelectionFlag
        self._view.selectionModel().setCurrentIndex(kept, flags.ClearAndSelect | flags.Rows)
        self._view.clicked.emit(kept)
        return True

    # --- preparing ---

    def _prepare_small(self) -> None:
        if self._pressed is not None and not self._dragging:
            self._prepare(None, whole=False)

    def _prepare(self, then: _Then | None, *, whole: bool) -> None:
        """Write the selection to files in a job, then call `then`; without `whole`, only if small, without messages."""
        shard, chosen = self._session.shard, self._selected()
        if shard is None or not chosen:
            return
        if self._session.request.sandbox:
            if whole:
                text = self.tr("Cannot drag out of the sandbox: save a copy and open it")
                self._session.say(text, failed=True)
            return
        if not isinstance(chosen, DraggedNode):
            chosen = tuple(chosen)
            if len(chosen) > MOST_FILES:
                if whole:
                    text = self.tr("More than {0} objects are selected: extract them instead")
                    self._session.say(text.format(f"{MOST_FILES:,}"), failed=True)
                return
        key = (id(shard), shard.source.identity if shard.source is not None else "", chosen)
        if self._job is not None and self._asked == key:
            # Writing started on the press; call `then` when it ends.
            self._then = then or self._then
            return
        self._then = then
        self._submit(shard, key, whole=whole)

    def _submit(self, shard: Shard, key: _Key, *, whole: bool) -> None:
        chosen, old = key[2], self._ready.get(key)
        limit = None if whole else self.small
        if self._session.request.is_remote:
            limit = FAR_MOST if whole else min(self.small, FAR_SMALL)
        deleted = self._session.request.deleted

        def work(job: Job) -> Prepared | None:
            if old is not None and old.there:
                return old
            try:
                return prepare(shard, chosen, self._folders, job.progress, limit=limit, deleted=deleted)
            except TooLarge:
                return None

        def done(prepared: Prepared | None, error: BaseException | None) -> None:
            if self._job is not job:
                return
            then, self._job, self._asked = self._then, None, None
            self._catch_escape(wanted=False)
            if error is not None:
                self._failed(error, report=then is not None)
            elif prepared is not None:
                for other in [other for other in self._ready if other not in self._handed and other != key]:
                    self._drop(self._ready.pop(other))
                self._ready[key] = prepared
                if then is not None:
                    self._hand_over(key, prepared, then)
            elif then is not None and whole:
                QToolTip.hideText()
                self._session.say(self.tr("Too large to drag: extract the objects instead"), failed=True)
            elif then is not None:
                self._submit(shard, key, whole=True)

        what = chosen.name if isinstance(chosen, DraggedNode) else plural(len(chosen), "object")
        title = f"Prepare {what} to drag" if whole and old is None else ""
        job = self._session.jobs.submit(
            work,
            key=("drag", self),
            title=title,
            done=done,
            discard=lambda prepared: prepared.remove() if prepared is not None and prepared is not old else None,
        )
        self._job, self._asked = job, key
        self._catch_escape(wanted=True)

    def _catch_escape(self, *, wanted: bool) -> None:
        if self._view is not self._port:
            (self._view.installEventFilter if wanted else self._view.removeEventFilter)(self)

    def _drop(self, prepared: Prepared) -> None:
        self._session.jobs.submit(lambda _: prepared.remove(), priority=JobPriority.PREFETCH, lasting=True)

    def _hand_over(self, key: _Key, prepared: Prepared, then: _Then) -> None:
        QToolTip.hideText()
        if prepared.problems:
            text = self.tr("Not readable: {0}").format(prepared.problems[0])
            if (more := len(prepared.problems) - 1) > 0:
                text = self.tr("{0}, and {1} more").format(text, f"{more:,}")
            self._session.troubled.emit(text, prepared.remedy)
        if prepared.left_out:
            one = self.tr("1 tombstoned object skipped: extract it instead")
            several = self.tr("{0} tombstoned objects skipped: extract them instead")
            words = one if prepared.left_out == 1 else several.format(f"{prepared.left_out:,}")
            self._session.say(words, failed=True)
        if prepared.files:
            self._handed.add(key)
            then(prepared)

    def _failed(self, error: BaseException, *, report: bool) -> None:
        QToolTip.hideText()
        if not isinstance(error, Cancelled):
            self._session.watch.note_error(error)
            if report:
                self._session.report_error(self.tr("Cannot create the files"), error)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
        QToolTip.hideText()

    def _progressed(self, job: Job) -> None:
        if job is self._job and self._dragging and job.total_amount:
            share = 100 * job.done_amount // job.total_amount
            QToolTip.showText(QCursor.pos(), self.tr("Preparing {0} % · Esc cancels").format(share), self._view)

    def _forget(self) -> None:
        for key, prepared in self._ready.items():
            if key not in self._handed:
                self._drop(prepared)
        self._ready.clear()
        self._handed.clear()
        self._pressed = self._kept = None

    # --- dragging ---

    def _drag(self, prepared: Prepared) -> None:
        if not self._dragging:
            self._session.message.emit(self.tr("{0} ready: drag again").format(files_text(prepared)))
            return
        self.run_drag(_mime(prepared), drag_pixmap(prepared, self._view))
        # The drag consumed the release event.
        self._pressed = self._kept = None
        self._dragging = False

    def _run_drag(self, mime: QMimeData, pixmap: QPixmap) -> None:
        drag = QDrag(self._view)
        drag.setMimeData(mime)
        drag.setPixmap(pixmap)
        drag.setHotSpot(QPoint(-10, -6))
        drag.exec(Qt.DropAction.CopyAction, Qt.DropAction.CopyAction)


def _mime(prepared: Prepared, *, clipboard: bool = False) -> QMimeData:
    mime = QMimeData()
    urls = [QUrl.fromLocalFile(str(path)) for path in prepared.handed]
    mime.setUrls(urls)
    mime.setText("\n".join(map(str, prepared.handed)))
    if clipboard:
        lines = ["copy", *(url.toString(QUrl.ComponentFormattingOption.FullyEncoded) for url in urls)]
        mime.setData("x-special/gnome-copied-files", "\n".join(lines).encode())
    return mime
