"""Lessons, lecture and help in the window: shows the panels, drawings and pages that they request; *About* dialog."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import PySide6
from PySide6.QtCore import QCoreApplication, QEvent, QFileSystemWatcher, QObject, QSize, Qt, Signal, qVersion
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMessageBox, QWidget
from shiboken6 import delete

import shardcore
from shardcore import Shard
from shardcore.dataclasses import replace
from shardcore.shards.registry import FORMATS
from shardcore.teaching.lessons.lesson import COMPARISON, Lesson, Show
from shardcore.teaching.lessons.lesson_list import lessons, lessons_of, missions, read_lesson
from shardcore.teaching.lessons.lesson_step import StepTarget
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.help.help_pages import GLOSSARY, WINDOW, titles
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.display_text import set_decimal
from shardscope.session.jobs import Jobs
from shardscope.session.session import Session
from shardscope.shell.actions import LectureActions
from shardscope.shell.docks import PanelDocks, focused_in
from shardscope.shell.notices import Notices
from shardscope.startup.settings import Settings
from shardscope.views.hex.actions import RowMode, RowWidth
from shardscope.views.hex.panel import HexPanel
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets.deferred_signals import Debounce

if TYPE_CHECKING:
    from shardscope.shell.lecture import LectureScreen

SOON_MILLISECONDS = 100
"""Delay in milliseconds before a changed lesson is read, so that several writes by an editor count as one change."""


class LessonTrial(QObject):
    read = Signal(object)
    refused = Signal(str)
    """Carries the error of an invalid lesson, with its line."""

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.path: Path | None = None
        self._files: QFileSystemWatcher | None = None
        self._soon = Debounce(self, self.reload, SOON_MILLISECONDS)

    def start(self, path: Path) -> None:
        self.stop()
        self.path = path
        self._files = QFileSystemWatcher([str(path)])
        self._files.fileChanged.connect(self._soon.again)
        self.reload()

    def stop(self) -> None:
        self.path = None
        self._soon.stop()
        if self._files is not None:
            # Delete it on this thread: the garbage collector may run on any other.
            delete(self._files)
            self._files = None

    def reload(self) -> None:
        path = self.path
        if path is None:
            return
        if self._files is not None:
            # For the system, a replaced file is another file; watch it again.
            self._files.removePath(str(path))
            self._files.addPath(str(path))

        def done(lesson: Lesson | None, error: BaseException | None) -> None:
            if path != self.path:
                return
            if lesson is not None:
                self.read.emit(lesson)
            else:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                self.refused.emit(self.tr("{0} is not a lesson yet: {1}").format(path.name, why))

        self._jobs.submit(lambda _: read_lesson(path), key=("lesson text", self), lasting=True, done=done)


PANEL = "lessons"
PAGE = "formatPage"
_PAGES = {"findings": "check", "hits": "hex", "transfers": "activity"}


class Teaching(QObject):
    def __init__(
        self,
        session: Session,
        panels: PanelDocks,
        bytes_: HexPanel,
        notices: Notices,
        settings: Settings,
        compare: Callable[[], QWidget],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._panels, self._bytes, self._notices = session, panels, bytes_, notices
        self._settings, self._compare, self._window = settings, compare, window
        self._panel, self._page = panels.panel(LessonPanel), panels.panel(FormatPage)
        self.player: LessonPlayer = self._panel.player
        self._brought, self._dismissed = False, False
        self._rows: RowWidth | None = None
        panels.by_name[PANEL].installEventFilter(self)
        self._fronts: list[str] = []
        self._trying: Lesson | None = None
        self._own_trial = False
        self._refusal = ""
        self.trial = LessonTrial(session.jobs, self)
        for signal, slot in (
            (self.trial.read, self._read),
            (self.trial.refused, self._refuse),
            (self._panel.reload_wanted, self.trial.reload),
            (self._panel.begun, self._end_trial),
            (self.player.wanted, self._wanted),
            (self.player.began, self._began),
            (self.player.left, self._left),
            (bytes_.drawings.item_chosen, self.player.choose_item),
            (panels.panel(Inspector).page_wanted, self.show_page),
        ):
            signal.connect(slot)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Close, QEvent.Type.Show):
            self._dismissed = event.type() == QEvent.Type.Close
        return False

    def show(self) -> None:
        if self._session.shard is None:
            self._panel.begin(lessons()[0])
        self._panel.teach()
        self._panels.show(PANEL, focus=True)

    def show_missions(self) -> None:
        if self._session.shard is None:
            self.player.start(missions()[0])
        else:
            self._panel.show_missions()
        self._panels.show(PANEL, focus=True)

    def learn(self, format: str) -> None:
        """Begin the first lesson on a format; if there is none, show *Format reference*."""
        if found := lessons_of(format):
            self._panel.begin(found[0])
        else:
            self._panels.show(PAGE)

    def learn_opened(self, shard: Shard) -> None:
        self.learn(shard.format)
        self.opened()

    def show_page(self) -> None:
        self._page.show_page_of_file()
        self._panels.show(PAGE, focus=True)

    def show_glossary(self) -> None:
        self._show_page(GLOSSARY)

    def show_help(self) -> None:
        """Show the page of the panel that has the keyboard, or of the window."""
        parts: dict[str, QWidget] = {**self._panels.by_name, "hex": self._bytes}
        focused = focused_in(self._window)
        found = [name for name, part in parts.items() if focused is not None and part.isAncestorOf(focused)]
        name = _PAGES.get(found[0], found[0]) if found else WINDOW
        self._show_page(name if name in titles() else WINDOW)

    def _show_page(self, name: str) -> None:
        self._page.show_page(name)
        self._panels.show(PAGE, focus=True)

    def start_lecture(self, actions: LectureActions, zooms: Sequence[QAction], *, full: bool = True) -> LectureScreen:
        from shardscope.shell.lecture import LectureScreen

        pages = self._bytes.pages
        screen = LectureScreen(self._session, pages, self._settings, self.player, actions, self._window)
        screen.addActions(zooms)
        screen.resize(self._window.size())
        screen.begin(full=full)
        return screen

    def try_lesson(self, path: Path, *, own: bool) -> None:
        self._own_trial, self._trying = own, None
        self.trial.start(path)

    def _read(self, lesson: Lesson) -> None:
        player = self.player
        if self._refusal:
            self._refusal = ""
            self._notices.clear("lesson")
        if player.trying and player.lesson is not None and player.lesson.name == lesson.name:
            player.replace(lesson)
        elif not self._own_trial:
            player.start(lesson, trying=True)
            self._panels.show(PANEL, focus=True)
        elif self._session.shard is None:
            self._trying = lesson
        else:
            self._try_here(lesson)
            self._panels.show(PANEL, focus=True)

    def _refuse(self, why: str) -> None:
        self._refusal = why
        self._notices.add_notice(why, about="lesson")

    def _try_here(self, lesson: Lesson) -> None:
        self._trying = None
        self.player.start(replace(lesson, sample=""), trying=True)

    def _began(self, first: bool) -> None:
        lesson = self.player.lesson
        self._show_offsets(decimal=lesson.offsets == "decimal" if lesson is not None and lesson.offsets else None)
        if first:
            self._fronts = [name for name in self._panels.by_name if name != PANEL and self._panels.in_front(name)]

    def _show_offsets(self, *, decimal: bool | None = None) -> None:
        """Show offsets in decimal or hexadecimal, as the lesson does; None: as chosen in the settings."""
        if set_decimal(self._settings.decimal_offsets if decimal is None else decimal):
            self._session.notation_changed.emit()

    def _set_rows(self, rows: str) -> None:
        """Set the bytes per row that a step requests; if `rows` is empty, restore those from before the lesson."""
        if rows:
            self._rows = self._rows or self._bytes.rows.width
            fixed = RowWidth(RowMode.FIXED, int(rows)) if rows.isdecimal() else RowWidth(RowMode.RECORD)
            stage = self.player.stage
            self._bytes.rows.choose(fixed, stage.origin if stage is not None else 0)
        elif self._rows is not None:
            self._bytes.rows.choose(self._rows)
            self._rows = None

    def _left(self) -> None:
        self._end_trial()
        self._set_rows("")
        self._show_offsets()
        self._put_away()
        for name in self._fronts:
            if not self._panels.folded and not self._panels.in_front(name):
                self._panels.raise_(name)
        if self._fronts:
            self._panels.show(PANEL)
        self._fronts = []

    def _end_trial(self) -> None:
        self.trial.stop()
        self._trying, self._refusal = None, ""

    def _put_away(self) -> None:
        if self._brought:
            self._brought = False
            self._bytes.drawings.hide()

    def opened(self, *, front: bool = True) -> None:
        if self._refusal:
            self._refuse(self._refusal)  # opening a file removed the notice
        if self._trying is not None:
            self._try_here(self._trying)
        if self.player.lesson is not None and front and not self._dismissed:
            self._panels.show(PANEL)

    def _wanted(self, shown: StepTarget) -> None:
        if shown.kind is Show.PANEL and shown.name == COMPARISON:
            sheet, room = self._compare(), self._panels.by_name[PANEL].x()
            if room > sheet.minimumSizeHint().width():  # the question stays in sight
                sheet.move(self._window.pos())
                sheet.resize(room, self._window.height())
        elif shown.kind is Show.PANEL and shown.name in self._panels.by_name:
            self._panels.show(shown.name)
            if not self._panels.in_front(PANEL):
                # Both are tabs of one area, and the lesson panel shows the question.
                self._panels.show(PANEL)
        elif shown.kind is Show.ROWS:
            self._set_rows(shown.name)
        elif shown.kind is Show.DRAWING and not shown.name:
            self._put_away()
        elif shown.kind is Show.DRAWING:
            self._brought = self._brought or not self._bytes.drawings.in_front
            values = dict(shown.values)
            item = values.pop("item", "")
            self._bytes.drawings.show(shown.name, values, item, tall=True)


def versions() -> list[str]:
    # Imported late: it takes long, and the start does not need it.
    from importlib import metadata

    return [
        f"Formats: {', '.join(FORMATS)}",
        f"Python {platform.python_version()} ({platform.system()} {platform.machine()})",
        f"Qt {qVersion()}, PySide6 {PySide6.__version__}",
        *(f"{name} {metadata.version(name)}" for name in ("NumPy", "pyqtgraph")),
    ]


def about_box(window: QWidget, reference: QAction) -> QMessageBox:
    box = QMessageBox(window)
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(QCoreApplication.translate("About", "About Shardscope"))
    box.setIconPixmap(window.windowIcon().pixmap(QSize(64, 64), window.devicePixelRatioF()))
    about = QCoreApplication.translate("About", "Explorer for shard files: bytes, fields, objects, lookups.")
    licence = QCoreApplication.translate("About", "MIT licence.")
    box.setText(f"<b>Shardscope {shardcore.__version__}</b><br>{about}<br>{licence}")
    box.setInformativeText("<br>".join(versions()))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.addButton(QMessageBox.StandardButton.Close)
    docs = box.addButton(QCoreApplication.translate("About", "&Documentation"), QMessageBox.ButtonRole.HelpRole)
    docs.clicked.connect(reference.trigger)
    return box
