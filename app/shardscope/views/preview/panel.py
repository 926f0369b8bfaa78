"""Preview of the selected object, with links between elements and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QBuffer, QEvent, QIODevice, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import LimitExceeded, ObjectRef, Shard, ShardError, SourceError, Span, Unsupported
from shardcore.dataclasses import replace
from shardcore.model.text import plural, size_text
from shardscope.session.display_text import cut_middle, error_text, offset_words
from shardscope.session.jobs import Job
from shardscope.session.selection import Selection, TraceWalk
from shardscope.session.session import Session
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.preview import ContentView, Preview, button, row, value_line, view_class
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import discard, drop_menu, lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.table import context_menu

if TYPE_CHECKING:
    from shardcore import Content
    from shardscope.views.preview.volume_slice import FoundGrid
    from shardscope.views.preview.volume_view import VolumeView

T = TypeVar("T")

REMOTE = 1 << 16
"""Maximum number of bytes of a remote object that are read automatically."""

MOST_TEXT = 1 << 18
"""Number of bytes that are read at first from a local object larger than `WHOLE`."""

LATE_MILLISECONDS = 120
"""Maximum milliseconds for which the previous object stays visible."""

WHOLE = 64 << 20
"""Maximum number of bytes of an object or of its part that are read, also by *Read all*."""

_WIDE = 420
"""Width of the panel in pixels from which all buttons are shown."""


# --- reading, in jobs ---


def preview_of(shard: Shard, ref: ObjectRef, limit: int | None, chosen: Mapping[str, str]) -> tuple[Preview, str]:
    """Read an object and prepare its preview; return it with the name of its view, empty if no view can show it.

    `limit` is the number of bytes read, None for the default of each kind. `chosen` has the last view by kind.
    """
    from shardcore.operations.content import content

    found = content(shard, ref, limit=limit)
    try:
        parts = shard.content_parts(ref)
    except ShardError:
        # Show the content without links to its bytes.
        parts = ()
    return prepared(shard, Preview(ref, found, parts), chosen)


def prepared(shard: Shard, preview: Preview, chosen: Mapping[str, str]) -> tuple[Preview, str]:
    found = preview.content
    note = found.note
    for name in sorted(found.views, key=lambda name: name != chosen.get(found.kind)):
        try:
            ready = view_class(name).prepare(shard, preview.ref, found)
        except SourceError:
            raise
        except ShardError as error:
            note = "; ".join(filter(None, (note, error.message)))
        else:
            if ready is not None:
                return replace(preview, content=replace(found, note=note), prepared=ready), name
    return replace(preview, content=replace(found, note=note)), ""


def part_preview(shard: Shard, shown: Preview, number: int, chosen: Mapping[str, str]) -> tuple[Preview, str] | None:
    """Read a tensor or a member of an archive; None if the member opens in its own tab instead. See `preview_of`."""
    from shardcore.operations.content import content_of

    part, is_file = shown.content.part(number), shown.content.parts == "member"
    read = lambda start, stop: shard.read_range(shown.ref, start, stop, limit=WHOLE)  # noqa: E731
    try:
        found = shown.content.member(part.name, read, lambda data, _, name: content_of(data, name), WHOLE)
    except (LimitExceeded, Unsupported):
        if is_file:
            return None
        raise
    if is_file and found.opens:
        return None
    size = part.stop - part.start
    one = replace(
        shown,
        content=found,
        prepared=None,
        begin=shown.begin + part.start if part.exact else 0,
        name=part.name,
        widened=max(found.size // size, 1) if size > 0 and not is_file else 1,
        held=None if part.exact else (part.start, part.stop),
    )
    return prepared(shard, one, chosen)


def _volume_of(shard: Shard) -> FoundGrid | None:
    if shard.chunk_grid("") is None:
        return None
    from shardscope.views.preview.volume_slice import grid_of

    return grid_of(shard, "")


# --- controls ---


class DragHandle(QWidget):
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        spoken, about = self.tr("Drag to another program"), self.tr("Drag the object to another program")
        made(self, "previewDrag", accessibleName=spoken, toolTip=about)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        # Paints again when the pointer enters or leaves.
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
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


class PreviewPanel(QWidget):
    """Preview of the selected object; built when it is first visible, and reads in jobs only while it is visible."""

    look_up_requested = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "preview", accessibleName=self.tr("Preview"))
        self._session = session
        self.shown: Preview | None = None
        self.view: ContentView | None = None
        self._whole: tuple[Preview, str] | None = None
        self._views: dict[str, ContentView] = {}
        self._chosen: dict[str, str] = {}
        self._where: Span | None = None
        self._built = False
        self.handle = made(DragHandle(self), visible=False)
        self.drag = DragOut(session, self.handle, lambda: (self.shown.ref.row,) if self.shown is not None else ())

    def sizeHint(self) -> QSize:
        return QSize(360, 420)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._built:
            self._built = True
            self._build()

    def _build(self) -> None:
        session = self._session
        self.title = value_line("previewTitle")
        self.scope, group = QWidget(), QButtonGroup(self)
        self.scope.setObjectName("previewScope")
        chunk = button("previewChunk", self.tr("Chunk"), lambda: None, checkable=True)
        self.chunk_button = made(chunk, checked=True)
        self.volume_button = button("previewVolume", self.tr("Volume"), lambda: None, checkable=True)
        lay(QHBoxLayout(self.scope), self.chunk_button, self.volume_button, spacing=2)
        group.addButton(self.chunk_button)
        group.addButton(self.volume_button)
        self.scope.hide()
        self._buttons: dict[str, QToolButton] = {}
        self._switch = lay(QHBoxLayout(), spacing=2)
        about = self.tr("Copy the content, or what is selected of it (Ctrl+C)")
        self.copy = button("previewCopy", self.tr("Copy"), self.copy_content, tip=about)
        spoken, about = self.tr("More actions"), self.tr("Save, copy")
        self.menu = button("previewMenu", "⋯", lambda: None, tip=about, spoken=spoken)
        self.menu.setStyleSheet("QToolButton { padding: 3px 6px; } QToolButton::menu-indicator { image: none; }")
        menu = drop_menu(self.menu, QMenu(self.menu))
        menu.aboutToShow.connect(lambda: self._fill_menu(menu))
        bar = row(self.handle, self.title, self.scope, self._switch, self.copy, self.menu, edges=(8, 5, 8, 4))
        self.back = made(QPushButton(self.tr("Back to list")), "previewBack", clicked=self._go_back)
        self.more = made(QPushButton(self.tr("Read all")), "previewMore", clicked=self._read_all)
        self.note = plain_label("", "previewNote", wrap=True)
        self._notes = QWidget()
        lay(QHBoxLayout(self._notes), self.back, (self.note, 1), self.more, margins=(8, 0, 8, 4), spacing=6)
        self.hint = made(plain_label("", wrap=True, quiet=True), "previewHint", alignment=Qt.AlignmentFlag.AlignCenter)
        self.location = made(QPushButton(self.tr("Show location")), "previewLocation", clicked=self._show_location)
        self.empty = QWidget()
        empty = lay(QVBoxLayout(self.empty), 1, self.hint, self.location, 1, margins=(9, 9, 9, 9), spacing=6)
        empty.setAlignment(self.location, Qt.AlignmentFlag.AlignCenter)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        lay(QVBoxLayout(self), bar, self._notes, (self.pages, 1))
        self._late = Debounce(self, self._show_reading, LATE_MILLISECONDS)
        self.volume_button.toggled.connect(self._show_scope)
        session.opened.connect(lambda _: self._close())
        session.closed.connect(self._close)
        session.typed_changed.connect(self._forget)
        WhileVisible(session.selection_changed, self, self._follow)
        WhileVisible(session.opened, self, lambda _: self._look_for_volume())
        self._clear()
        self._look_for_volume()
        self._follow(session.selection)

    @cached_property
    def volume(self) -> VolumeView:
        from shardscope.views.preview.volume_view import VolumeView

        view = made(VolumeView(self._session), look_up_requested=self.look_up_requested)
        self.pages.addWidget(view)
        return view

    def page(self, name: str) -> ContentView:
        if name not in self._views:
            view = self._views[name] = view_class(name)(self._session)
            made(view, pointed=self._point, chosen=self._choose_bytes, part_wanted=self._open_part)
            self.pages.addWidget(view)
        return self._views[name]

    # --- what is shown ---

    def _close(self) -> None:
        self._clear()
        if "volume" in self.__dict__:
            self.volume.forget()
        self._offer_volume(False)

    def _clear(self) -> None:
        self._session.jobs.cancel(("preview", self))
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
        if not selection.complete or self.volume_button.isChecked():
            return
        shown, ref = self.shown, selection.ref
        marked = shown.inside(selection.span) if shown is not None else None
        if shown is not None and (ref == shown.ref or (ref is None and marked is not None)):
            if marked is not None and selection.origin is not self and self.view is not None:
                self.view.mark(*marked)
        elif selection.origin is self:
            return
        elif ref is not None:
            self._late.start()
            remote = self._session.request.is_remote
            self._read(ref, REMOTE if remote else MOST_TEXT if ref.size > WHOLE else None)
        else:
            # The steps of a lookup keep the object that it found.
            trace = selection.origin.trace if isinstance(selection.origin, TraceWalk) else None
            if shown is None or trace is None or trace.ref != shown.ref:
                self._clear()

    def _show_reading(self) -> None:
        self._forget()
        self._say(self.tr("Reading …"))

    # --- the whole volume ---

    def _look_for_volume(self) -> None:
        self._session.ask(lambda shard, _: _volume_of(shard), self._take_volume, key=("volume grid", self))

    def _take_volume(self, found: FoundGrid | None) -> None:
        if found is not None:
            self.volume.show_grid(found)
        self._offer_volume(found is not None)

    def _offer_volume(self, there: bool) -> None:
        self.scope.setVisible(there)
        whole = there and self._session.selection.ref is None
        (self.volume_button if whole else self.chunk_button).setChecked(True)

    def _show_scope(self, whole: bool) -> None:
        self._clear()
        if whole:
            self.title.set_text(self.volume.title)
            self.pages.setCurrentWidget(self.volume)
        else:
            self._follow(self._session.selection)

    # --- reading ---

    def _ask(
        self,
        work: Callable[[Shard], T],
        take: Callable[[T], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Run a job that replaces the previous one."""
        self._session.ask(lambda shard, _: work(shard), take, failed=failed or self._failed, key=("preview", self))

    def _failed(self, error: BaseException) -> None:
        self._forget()
        text, span = error_text(error), getattr(error, "span", None)
        if span is not None:
            source = self.tr(" of {0}").format(span.source) if span.source else ""
            text = self.tr("{0}\nAt offset {1}{2}").format(text, offset_words(span.start), source)
        self._say(text, span)

    def _show_location(self) -> None:
        if self._where is not None:
            self._session.select_span(self._where, self)

    def _read(self, ref: ObjectRef, limit: int | None) -> None:
        if ref.error:
            self._forget()
            self._say(ref.error, next(iter(ref.spans), None))
            return
        chosen = dict(self._chosen)
        self._ask(lambda shard: preview_of(shard, ref, limit, chosen), self._take)

    def _read_all(self) -> None:
        if self.shown is not None:
            self._read(self.shown.ref, max(min(self.shown.content.size, WHOLE), 1))

    def _take(self, found: tuple[Preview, str]) -> None:
        self._late.stop()
        self.shown, view = found
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
        self._show_view(view)
        marked = self.shown.inside(self._session.selection.span)
        if marked is not None and marked != (0, one.size) and self.view is not None:
            self.view.mark(*marked)

    def _show_title(self) -> None:
        assert self.shown is not None
        one, key = self.shown.content, self.shown.ref.key
        name = key if key is not None else self.tr("row {0}").format(self.shown.ref.row)
        size = size_text(one.size) if one.size >= 0 else self.tr("size unknown")
        self.title.set_text(" · ".join(filter(None, (cut_middle(name), self.shown.name, one.title, size))))
        self.title.setToolTip(tip("\n".join((name, plural(one.size, "byte") if one.size >= 0 else size))))

    def _show_view(self, name: str) -> None:
        assert self.shown is not None
        self._offer(self.shown.content.views, name)
        self.location.hide()
        self.view = self.page(name) if name else None
        self._fit_bar()
        if self.view is None:
            self.hint.setText(self._without_view(self.shown.content))
            self.pages.setCurrentWidget(self.empty)
            return
        self.view.show_preview(self.shown)
        self.pages.setCurrentWidget(self.view)

    def _without_view(self, found: Content) -> str:
        if not found.size:
            return self.tr("Empty")
        if found.kind == "bytes":
            return self.tr("{0}: empty text").format(found.title)
        return found.title if found.complete else self.tr("{0}: press Read all to show it").format(found.title)

    def _offer(self, names: tuple[str, ...], chosen: str) -> None:
        names = names if len(names) > 1 else ()
        if names != tuple(self._buttons):
            for old in self._buttons.values():
                discard(old)
            self._buttons.clear()
            for name in names:
                label, show = view_class(name).label, partial(self.show_as, name)
                self._buttons[name] = button(f"previewAs{label}", self.tr(label), show, checkable=True)
                self._switch.addWidget(self._buttons[name])
        for name, one in self._buttons.items():
            one.setChecked(name == chosen)

    def show_as(self, name: str) -> None:
        shown = self.shown
        if shown is not None:
            self._chosen[shown.content.kind] = name
            chosen = dict(self._chosen)
            self._ask(lambda shard: prepared(shard, shown, chosen), self._take)

    def _fit_bar(self) -> None:
        room = not self._buttons or self.width() >= px(_WIDE)
        self.copy.setVisible(self.view is not None and room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._built:
            self._fit_bar()

    # --- parts of the shown content ---

    def _open_part(self, number: int) -> None:
        shown = self.shown
        if shown is None or not shown.content.parts:
            return
        part, chosen = shown.content.part(number), dict(self._chosen)
        if part.in_tab:
            self.open_member(part.name)
            return
        take = lambda found: self._take(found) if found is not None else self.open_member(part.name)  # noqa: E731
        self._ask(lambda shard: part_preview(shard, shown, number, chosen), take, self._not_opened)

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

    # --- copying and saving ---

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
        if self.view is not None and self.view.has_find:
            menu.addSeparator()
            menu.addAction(self.tr("F&ind in the text"), self.view.open_find)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = context_menu(self, ())
        self._fill_menu(menu)
        if not menu.isEmpty():
            menu.popup(event.globalPos())

    def copy_content(self) -> None:
        if self.view is not None:
            self.view.copy()
            self._session.message.emit(self.tr("Copied"))

    def _proposed(self, ending: str = "") -> str:
        from shardcore.operations.extraction.names import Names, ending_of

        assert self.shown is not None
        name = self.shown.ref.key or f"row-{self.shown.ref.row}"
        if self.shown.name:
            is_file = self._whole is not None and self._whole[0].content.parts == "member"
            name = self.shown.name if is_file else f"{name}.{self.shown.name}"
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
        if self.shown is not None:
            shown = self.shown
            self._write(lambda shard, job: _save(shard, job, shown, path), path)

    def ask_picture(self) -> None:
        if self.shown is not None and not self._is_sandbox():
            kinds = {self.tr("PNG (*.png)"): "png"}
            save = lambda path: self.save_picture(Path(path))  # noqa: E731
            ask_target(self, self.tr("Save picture"), save, name=self._proposed(".png"), kinds=kinds)

    def save_picture(self, path: Path) -> None:
        image = self.view.picture() if self.view is not None else None
        if image is not None:
            self._write(lambda _shard, _job: _write_png(image, path), path)

    def _write(self, work: Callable[[Shard, Job], None], path: Path) -> None:
        saved = self.tr("Saved: {0}").format(path)
        take = lambda _: self._session.say(saved)  # noqa: E731
        self._session.ask(work, take, failed=self.tr("Cannot save the file"), title=f"Save {path.name}")

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
            return self.view.has_find
        return event.matches(QKeySequence.StandardKey.Copy)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._is_ours(event):
            super().keyPressEvent(event)
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.copy_content()
        elif self.view is not None:
            self.view.open_find()

    # --- bytes of the shown content ---

    def _span_of(self, start: int, stop: int) -> Span | None:
        return self.shown.span_of(start, stop) if self.shown is not None and start < stop else None

    def _point(self, start: int, stop: int) -> None:
        span = self._span_of(start, stop)
        self._session.lookup.point_at([span] if span is not None else [])

    def _choose_bytes(self, start: int, stop: int) -> None:
        if (span := self._span_of(start, stop)) is not None:
            self._session.select_span(span, self)


def _save(shard: Shard, job: Job, shown: Preview, path: Path) -> None:
    from shardcore.operations.extraction.files import write_object
    from shardcore.writing.temporary import write_whole

    if shown.held is not None:
        write_whole(path, iter([shown.content.data]), force=True)
    elif shown.name:
        size = len(shown.content.data) // shown.widened
        data = shard.read_range(shown.ref, shown.begin, shown.begin + size, limit=WHOLE)
        write_whole(path, iter([data]), force=True)
    else:
        done = 0

        def each(count: int) -> None:
            nonlocal done
            done += count
            job.progress(done, max(shown.ref.size, done))

        write_object(shard, shown.ref, path, force=True, each_piece=each)


def _write_png(image: QImage, path: Path) -> None:
    from shardcore.writing.temporary import write_whole

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise SourceError("the picture cannot be encoded as PNG")
    write_whole(path, iter([bytes(buffer.data().data())]), force=True)
