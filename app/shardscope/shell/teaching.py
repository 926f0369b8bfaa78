"""Entry points of lessons: the menu *Learn*, cards of the welcome page, and the requests of a lesson to the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from shardcore.teaching.lessons.lesson import Lesson, Show
from shardcore.teaching.lessons.library import lessons, lessons_of, missions
from shardcore.teaching.lessons.stage import StepTarget
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.learning.lessons.trial import LessonTrial
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks
from shardscope.views.hex.drawing_place import DrawingPlace

PANEL = "lessons"


class Teaching(QObject):
    """Leads to lessons.

    Attributes:
        refused: Carries why a text is no lesson; empty when it is one again.
        trial: The text that somebody tries.
        all: Lists all lessons.
        this_file: Teaches what is open, on the file itself.
    """

    refused = Signal(str)

    def __init__(self, session: Session, panels: PanelDocks, drawings: DrawingPlace, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._panels, self._drawings = session, panels, drawings
        self._panel = panels.panel(LessonPanel)
        self.all = QAction(self.tr("&Lessons"), self)
        self.all.triggered.connect(self.show)
        self.this_file = QAction(self.tr("&Teach me this file"), self)
        self.this_file.setShortcut(QKeySequence("Ctrl+Shift+L"))
        self.this_file.triggered.connect(self._teach_file)
        self.this_file.setEnabled(False)
        session.closed.connect(lambda: self.this_file.setEnabled(False))
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
        self._panel.player.built.connect(panels.panel(SandboxPanel).sandbox.build)
        drawings.item_chosen.connect(self._panel.player.choose_item)

    @property
    def player(self) -> LessonPlayer:
        """Return what plays the lessons."""
        return self._panel.player

    def fill(self, menu: QMenu, missions: QAction, comparing: QAction) -> None:
        """Fill the menu *Learn*.

        Args:
            menu: The menu.
            missions: Lists the missions.
            comparing: Compares the formats.
        """
        menu.addActions([self.all, self.this_file])
        menu.addSeparator()
        menu.addAction(missions)
        missions.triggered.connect(lambda _=False: self.show_missions())
        menu.addSeparator()
        menu.addAction(comparing)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note whether the user closed the panel: then only the user opens it again."""
        if event.type() in (QEvent.Type.Close, QEvent.Type.Show):
            self._dismissed = event.type() == QEvent.Type.Close
        return False

    def show(self) -> None:
        """Show the lessons; on the welcome page the first one begins, as there are no panels."""
        if self._session.shard is None:
            self._panel.begin(lessons()[0])
        self._panel.teach()
        self._panels.show(PANEL, focus=True)

    def show_missions(self) -> None:
        """Show the missions; on the welcome page the first one begins."""
        if self._session.shard is None:
            self._panel.player.start(missions()[0])
        else:
            self._panel.show_missions()
        self._panels.show(PANEL, focus=True)

    def learn(self, format: str) -> bool:
        """Begin the first lesson of a format on its sample; False where there is none."""
        found = lessons_of(format)
        if found:
            self._panel.begin(found[0])
        return bool(found)

    def try_lesson(self, path: Path, *, own: bool) -> None:
        """Begin a lesson that somebody wrote, from its file; what is wrong with the text is reported with its line.

        When the file is written, the lesson goes on with the new text, at the same step.

        Args:
            path: The text.
            own: Whether it is walked through on what is being opened, not on its sample.
        """
        self._own_trial, self._trying = own, None
        self.trial.start(path)

    def _read(self, lesson: Lesson) -> None:
        """The text that is tried is a lesson: it begins, or what is walked through goes on with it."""
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
        self._panel.player.start(lesson, own=True, trying=True)

    def _began(self) -> None:
        self._fronts = [name for name in self._panels.by_name if name != PANEL and self._panels.in_front(name)]

    def _left(self) -> None:
        """Panels and bytes are as they were before the lesson; where it was is the list, with what comes next."""
        self._end_trial()
        self._put_away()
        for name in self._fronts:
            if not self._panels.folded and not self._panels.in_front(name):
                self._panels.raise_(name)
        if self._fronts:
            self._panels.show(PANEL)
        self._fronts = []

    def _end_trial(self) -> None:
        """The text is not watched any more: written again, it would take the place of another lesson."""
        self.trial.stop()
        self._trying, self._refusal = None, ""

    def _put_away(self) -> None:
        """A drawing that a step brought goes; one that somebody looked at before stays."""
        if self._brought:
            self._brought = False
            self._drawings.hide()

    def _teach_file(self) -> None:
        shard = self._session.shard
        if shard is None:
            return
        found = lessons_of(shard.format)
        if found and (self._panel.player.lesson is None or self._panel.player.astray):
            self._panel.begin(found[0], own=True)
        self._panels.show(PANEL, focus=True)

    def opened(self, *, front: bool = True) -> None:
        """Something was opened, and the window shows it: a lesson stays in front.

        Args:
            front: Whether it comes there; not where a sandbox opens the same file with other changes.
        """
        self.this_file.setEnabled(True)
        if self._refusal:
            self.refused.emit(self._refusal)  # what is opened clears the bar, and the text is none yet
        if self._trying is not None:
            self._try_here(self._trying)
        if self._panel.player.lesson is not None and front and not self._dismissed:
            self._panels.show(PANEL)

    def _wanted(self, shown: StepTarget) -> None:
        if shown.kind is Show.PANEL and shown.name in self._panels.by_name:
            self._panels.show(shown.name)
            if not self._panels.in_front(PANEL):
                # They share a place; without the lesson nobody knows what is asked.
                self._panels.show(PANEL)
        elif shown.kind is Show.DRAWING and not shown.name:
            self._put_away()
        elif shown.kind is Show.DRAWING:
            self._brought = self._brought or not self._drawings.in_front
            values = dict(shown.values)
            item = values.pop("item", "")
            self._drawings.show(shown.name, values, item)
