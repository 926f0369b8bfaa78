"""Lessons in the window: the menu *Learn*, welcome cards, and what a lesson requests from the window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QFileSystemWatcher, QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from shiboken6 import delete

from shardcore.teaching.lessons.lesson import Lesson, Show
from shardcore.teaching.lessons.lesson_list import lessons, lessons_of, missions, read_lesson
from shardcore.teaching.lessons.lesson_step import StepTarget
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.debounce import Debounce
from shardscope.session.jobs import Jobs
from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks
from shardscope.views.hex.tabs import DrawingPlace

SOON_MILLISECONDS = 100
"""Delay in milliseconds, so that several writes by an editor count as one change."""


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
COMPARISON = "comparison"
"""Name that a lesson uses to open *Compare formats*."""


class Teaching(QObject):
    refused = Signal(str)
    comparison_wanted = Signal()

    def __init__(self, session: Session, panels: PanelDocks, drawings: DrawingPlace, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._panels, self._drawings = session, panels, drawings
        self._panel = panels.panel(LessonPanel)
        self.all = QAction(self.tr("&Lessons"), self)
        self.all.triggered.connect(self.show)
        self._brought, self._dismissed = False, False
        panels.by_name[PANEL].installEventFilter(self)
        self._fronts: list[str] = []
        self._trying: Lesson | None = None
        self._own_trial = False
        self._refusal = ""
        self.trial = LessonTrial(session.jobs, self)
        self.trial.read.connect(self._read)
        self.trial.refused.connect(self._refuse)
        self._panel.reload_wanted.connect(self.trial.reload)
        self._panel.begun.connect(self._end_trial)
        self._panel.player.wanted.connect(self._wanted)
        self._panel.player.began.connect(self._began)
        self._panel.player.left.connect(self._left)
        drawings.item_chosen.connect(self._panel.player.choose_item)

    @property
    def player(self) -> LessonPlayer:
        return self._panel.player

    def fill(self, menu: QMenu, missions: QAction) -> None:
        menu.addAction(self.all)
        menu.addAction(missions)
        missions.triggered.connect(lambda _=False: self.show_missions())

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
            self._panel.player.start(missions()[0])
        else:
            self._panel.show_missions()
        self._panels.show(PANEL, focus=True)

    def learn(self, format: str) -> bool:
        found = lessons_of(format)
        if found:
            self._panel.begin(found[0])
        return bool(found)

    def try_lesson(self, path: Path, *, own: bool) -> None:
        self._own_trial, self._trying = own, None
        self.trial.start(path)

    def _read(self, lesson: Lesson) -> None:
        player = self._panel.player
        if self._refusal:
            self._refusal = ""
            self.refused.emit("")
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
        self.refused.emit(why)

    def _try_here(self, lesson: Lesson) -> None:
        self._trying = None
        self._panel.player.start(replace(lesson, sample=""), trying=True)

    def _began(self) -> None:
        self._fronts = [name for name in self._panels.by_name if name != PANEL and self._panels.in_front(name)]

    def _left(self) -> None:
        self._end_trial()
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
            self._drawings.hide()

    def opened(self, *, front: bool = True) -> None:
        if self._refusal:
            self.refused.emit(self._refusal)  # opening a file clears the bar; there is no text yet
        if self._trying is not None:
            self._try_here(self._trying)
        if self._panel.player.lesson is not None and front and not self._dismissed:
            self._panels.show(PANEL)

    def _wanted(self, shown: StepTarget) -> None:
        if shown.kind is Show.PANEL and shown.name == COMPARISON:
            self.comparison_wanted.emit()
        elif shown.kind is Show.PANEL and shown.name in self._panels.by_name:
            self._panels.show(shown.name)
            if not self._panels.in_front(PANEL):
                # They share a place, and the lesson shows the question.
                self._panels.show(PANEL)
        elif shown.kind is Show.DRAWING and not shown.name:
            self._put_away()
        elif shown.kind is Show.DRAWING:
            self._brought = self._brought or not self._drawings.in_front
            values = dict(shown.values)
            item = values.pop("item", "")
            self._drawings.show(shown.name, values, item)
