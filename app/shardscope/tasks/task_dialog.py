"""Base of the task dialogs: form with checks and preview in background jobs, progress page, result page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFont, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLayout,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled
from shardscope.session.display_text import error_text, pace_text
from shardscope.session.jobs import Job, JobPriority, Pool, alive
from shardscope.session.session import Session
from shardscope.widgets import fonts
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized, weighted
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.playback import show_progress
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.wrap_text import WrapText

T = TypeVar("T")
Role = QDialogButtonBox.ButtonRole

TYPING_MILLISECONDS = 250
"""Pause in typing, in milliseconds, after which the preview is computed again."""

LOOK_MILLISECONDS = 100
"""Milliseconds between two updates of the progress of counting and planning."""

SMALL_PAGE = QSize(580, 190)
PAGE_MARGINS = (20, 18, 20, 14)
RESULT_PAGE = QSize(640, 360)
"""Size of the result page in pixels at 100 %; `SMALL_PAGE` is the size of the progress page."""


class TaskDialog(QDialog):
    """Base class of the task dialogs.

    - the Return key presses the default button; Escape and *Cancel* close the dialog, which cancels its checks
    - results of a check are dropped if the dialog was closed or a newer check of the same kind has started
    - errors are shown above the buttons; `refresh` of the subclass enables the buttons
    - a closed dialog returns the focus to the window
    - a dialog with `of_file` closes with the file
    - a dialog that runs in the background is hidden; *Activity* shows it again
    """

    name = ""
    words = ""
    modal = True
    of_file = True
    message_lines = 2

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self.session = session
        self.is_closed = False
        self._checks: set[str] = set()
        self._soon = Debounce(self, self.preview, TYPING_MILLISECONDS)
        made(self, self.name, windowTitle=self.tr(self.words), finished=lambda _: self._end())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.modal:
            self.setWindowModality(Qt.WindowModality.WindowModal)
        # The room of the message is reserved, so that the dialog keeps its size when a message appears.
        self.message = WrapText(tone="muted", lines=self.message_lines)
        self.buttons = QDialogButtonBox(self)
        self.pages = QStackedWidget(self)
        lay(QVBoxLayout(self), self.pages)
        if self.of_file:
            session.closed.connect(self.close_with_file)

    # --- called by subclasses ---

    def lay_out(
        self,
        parts: Sequence[QWidget | QLayout],
        name: str,
        spoken: str,
        *,
        tall: QWidget | QLayout | None = None,
        beside: bool = False,
        margin: int = 16,
    ) -> None:
        """Lay out the form, which scrolls if it does not fit, and the buttons.

        `tall` is the part that takes the remaining height; `beside` puts the message to the left of the buttons.
        """
        inner, page = QWidget(self), QWidget(self)
        column = [(part, int(part is tall)) for part in parts]
        rest = () if tall is not None else (1,)
        self._column = lay(QVBoxLayout(inner), *column, *rest, margins=(margin, 12, margin, 4), spacing=9)
        self.area = scrolled(inner, name, spoken, page)
        foot = QHBoxLayout() if beside else QVBoxLayout()
        self._foot = lay(foot, (self.message, 1), self.buttons, margins=(margin, 6, margin, 12), spacing=10)
        lay(QVBoxLayout(page), (self.area, 1), self._foot)
        self.pages.addWidget(page)

    def add_button(
        self, words: str, slot: Callable[[], object], role: Role = Role.ActionRole, name: str = ""
    ) -> QPushButton:
        """Add a button; one with the accept role becomes the default, which the Return key presses."""
        button = made(self.buttons.addButton(words, role), name, autoDefault=False, default=role is Role.AcceptRole)
        button.clicked.connect(lambda _: slot())
        return button

    def add_close(self, kind: QDialogButtonBox.StandardButton = QDialogButtonBox.StandardButton.Cancel) -> None:
        button = made(self.buttons.addButton(kind), autoDefault=False, clicked=lambda _: self.reject())
        if kind is QDialogButtonBox.StandardButton.Close:
            # A list with the focus does not pass Escape on to the dialog.
            button.setShortcut(QKeySequence(Qt.Key.Key_Escape))

    def show_message(self, text: str, tone: str = "muted") -> None:
        self.message.set_text(text)
        self.message.set_tone(tone)

    def show_error(self, error: BaseException) -> None:
        self.show_message(error_text(error), "error")
        self.refresh()

    def check(
        self,
        work: Callable[[Job], T],
        take: Callable[[T], object],
        failed: Callable[[BaseException], object] | None = None,
        *,
        kind: str = "preview",
        pool: Pool = Pool.CPU,
        priority: JobPriority = JobPriority.SCREEN,
    ) -> None:
        """Run `work` in a job, then `take` its result. Closing the dialog or a new check of this kind cancels it."""

        def done(result: T, error: BaseException | None) -> None:
            if not alive(self.check) or self.is_closed:
                return
            if isinstance(error, Cancelled) or job.cancelled:
                self.refresh()
            elif error is None:
                take(result)
            else:
                if self.of_file:
                    self.session.watch.note_error(error)
                (failed or self.show_error)(error)

        self._checks.add(kind)
        job = self.session.jobs.submit(work, key=(kind, self), pool=pool, priority=priority, done=done)

    def running(self, kind: str) -> Job | None:
        return self.session.jobs.newest((kind, self))

    def stop(self, *kinds: str) -> None:
        for kind in kinds or self._checks:
            if (job := self.running(kind)) is not None:
                job.cancel()

    def preview(self) -> None: ...

    def refresh(self) -> None: ...

    def take_files(self, paths: Iterable[str]) -> None:
        """Handle local files that were dropped on the dialog, which Qt allows only after `setAcceptDrops(True)`."""

    def close_with_file(self) -> None:
        if self.isVisible() or not self.session.documents.switching:
            self.reject()

    # --- in the background ---

    def run_in_background(self) -> None:
        self.hide()
        self._return_keyboard()

    def show_in_activity(self, job: Job) -> None:
        job.show = self.show_again
        # Otherwise dialog and job refer to each other, and the garbage collector may delete them in a thread.
        self.finished.connect(lambda _: setattr(job, "show", None))

    def show_again(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()

    def _end(self) -> None:
        self.is_closed = True
        self._soon.stop()
        self.stop()
        self._return_keyboard()

    def _return_keyboard(self) -> None:
        # Some desktops do not return the keyboard to the window.
        if (window := self.parentWidget()) is not None:
            window.window().activateWindow()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and _dropped(event) and not self.pages.currentIndex():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        if not self.pages.currentIndex():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.take_files(_dropped(event))

    # --- sizes and pages ---

    def fit(self) -> None:
        """Enlarge the dialog to show the whole form, but not above the height of the window."""
        column, around = self._column, self.parentWidget()
        column.activate()
        # Before a dialog is shown, its size is in pixels at 100 %.
        zoom = 1.0 if self.isVisible() else fonts.zoom()
        width = max(self.width(), column.totalMinimumSize().width() if self.isVisible() else 0)
        if column.hasHeightForWidth():
            tall = column.totalHeightForWidth(round(width * zoom))
        else:
            tall = column.totalSizeHint().height()
        wish = max(round((tall + self._foot.totalSizeHint().height()) / zoom), self.height())
        self.resize(width, min(wish, max(around.window().height() - 40, 320) if around is not None else wish))

    def raise_to(self, focus: QWidget) -> None:
        """Show the dialog and set the focus in it; some desktops do not give the focus to a new window."""
        self.show_again()
        focus.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_page(self, page: QWidget, size: QSize | None = None) -> None:
        """Show a page instead of the form; `size` is in pixels at 100 %, and limited to the size of the form."""
        if not self.pages.currentIndex():
            self._form_size = self.size()
        if self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self.pages.setCurrentWidget(page)
        if size is not None:
            place = QRect(QPoint(0, 0), (size * fonts.zoom()).boundedTo(self._form_size))
            place.moveCenter(self.geometry().center())
            self.setGeometry(place)

    def show_form(self) -> None:
        if self.pages.currentIndex():
            self.pages.setCurrentIndex(0)
            self.resize(self._form_size)


def _dropped(event: QDropEvent) -> list[str]:
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]


def thin_progress(spoken: str) -> QProgressBar:
    bar = made(QProgressBar(), accessibleName=spoken, textVisible=False, maximum=1)
    bar.setFixedHeight(8)
    return bar


class Task(QObject):
    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._window = session, window


class ProgressPage(QWidget):
    """Page with the progress of a job, which continues in the background after `hide` hides or closes the dialog."""

    def __init__(
        self, dialog: TaskDialog, job: Job, hide: Callable[[], object], title: str = "", words: Callable[[], str] = str
    ) -> None:
        super().__init__(dialog)
        self.setObjectName("writingPage")
        self._job, self._words = job, words
        self.title = large_elided(title or job.title, self)
        self.bar = made(QProgressBar(self), "writingBar", accessibleName=self.tr("Progress"), textVisible=False)
        self.state = plain_label("", "writingState")
        buttons = QDialogButtonBox(self)
        self.stop = made(buttons.addButton(self.tr("&Stop"), Role.DestructiveRole), autoDefault=False)
        self.stop.clicked.connect(lambda _: self.stop.setEnabled(False))
        self.stop.clicked.connect(lambda _: job.cancel())
        self.hide_button = made(buttons.addButton(self.tr("Run in &background"), Role.RejectRole), autoDefault=False)
        self.hide_button.setToolTip(self.tr("Progress is shown in Activity"))
        self.hide_button.clicked.connect(lambda _: hide())
        lay(QVBoxLayout(self), self.title, self.bar, self.state, 1, buttons, margins=PAGE_MARGINS, spacing=10)
        dialog.show_page(self, SMALL_PAGE)
        self.hide_button.setFocus()
        dialog.session.jobs.changed.connect(self._changed)
        self._changed(job)

    def _changed(self, job: Job) -> None:
        if job is self._job and not job.state.ended:
            show_progress(self.bar, job)
            self.state.setText(" · ".join(filter(None, (self._words(), pace_text(job)))) or self.tr("Running …"))


class ResultPage(QWidget):
    def __init__(self, dialog: TaskDialog, title: str, verdict: str, tone: str, text: str) -> None:
        super().__init__(dialog)
        self.setObjectName("resultPage")
        self.title = large_elided(title, self)
        self.verified = WrapText(verdict, tone=tone)
        self.text = made(WrapText(text), focusPolicy=Qt.FocusPolicy.StrongFocus)
        inner = QWidget(self)
        lay(QVBoxLayout(inner), self.verified, self.text, 1, spacing=10)
        area = scrolled(inner, "resultArea", self.tr("Summary"), self)
        self.button = made(QPushButton(self.tr("&Close"), self), "resultClose", clicked=dialog.accept)
        self._buttons = buttons = QDialogButtonBox(self)
        buttons.addButton(self.button, Role.AcceptRole)
        lay(QVBoxLayout(self), self.title, (area, 1), buttons, margins=PAGE_MARGINS, spacing=10)
        dialog.show_page(self, RESULT_PAGE)
        self.button.setDefault(True)
        self.button.setFocus()

    def add_button(self, words: str, act: Callable[[], object]) -> None:
        button = self._buttons.addButton(words, Role.ActionRole)
        button.clicked.connect(self.button.click)
        button.clicked.connect(lambda _: act())


def large_elided(text: str, parent: QWidget) -> Elided:
    label = Elided(greedy=True, parent=parent)
    label.setFont(weighted(sized(label.font(), LARGE), QFont.Weight.DemiBold))
    label.set_text(text)
    return label
