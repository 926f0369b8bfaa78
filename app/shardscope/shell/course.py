"""Exercises, exams, handing in and missions of one's own, in the menu *Learn*."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from shardcore import Shard
from shardcore.sources.local import FileSource
from shardcore.sources.patched import PatchedSource
from shardcore.teaching.exercises.exercise import ExerciseName, make_exercise
from shardcore.teaching.exercises.mission import bytes_of, write_mission
from shardcore.teaching.hand_in import Work, write_hand_in
from shardcore.teaching.lessons.lesson import Lesson
from shardscope.learning.exercises.dialogs import ExerciseDialog, HandInDialog
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, Pool
from shardscope.session.session import Session
from shardscope.shell.notices import Notices
from shardscope.widgets.file_dialogs import ask_file, ask_target


class Course(QObject):
    """Begins exercises, and writes what is handed in.

    Args:
        session: The session.
        player: Plays the exercise.
        notices: Tells what could not be done.
        show: Brings the lessons to the front.
        window: Parent of the dialogs.

    Attributes:
        exercises: Asks which exercise begins.
        hand_in: Asks in whose name what was answered is handed in.
        mission: Makes a mission of the damaged file that is open.
    """

    def __init__(
        self, session: Session, player: LessonPlayer, notices: Notices, show: Callable[[], object], window: QWidget
    ) -> None:
        super().__init__(window)
        self._session, self._player, self._notices, self._show, self._window = session, player, notices, show, window
        self._name = ""
        self.exercises = self._action(self.tr("&Exercises…"), self._ask_exercise)
        self.hand_in = self._action(self.tr("&Hand in…"), self._ask_name)
        self.mission = self._action(self.tr("Ma&ke a mission…"), self._ask_mission)
        player.changed.connect(self._tell)
        player.finished.connect(self._finished)
        session.opened.connect(lambda *_: self._tell())
        session.closed.connect(self._tell)
        self._tell()

    def _action(self, text: str, act: Callable[[], object]) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda _=False: act())
        return action

    def _tell(self) -> None:
        done = self._player.done
        self.hand_in.setEnabled(done is not None and bool(done.answers))
        source = self._session.shard.source if self._session.shard is not None else None
        self.mission.setEnabled(source is not None and not self._player.exam)

    # --- exercises ---

    def _ask_exercise(self) -> None:
        shard = self._session.shard
        dialog = ExerciseDialog(shard.format if shard is not None else "", self._window)
        dialog.wanted.connect(self.begin)
        dialog.open()

    def begin(self, name: ExerciseName, exam: bool = False, minutes: int = 0) -> None:
        """Make an exercise, in a job, and begin it."""

        def work(_: Job) -> Lesson:
            with TemporaryDirectory(prefix="shardscope-exercise-", ignore_cleanup_errors=True) as folder:
                return make_exercise(name, Path(folder), exam=exam, minutes=minutes)[0]

        def done(lesson: Lesson | None, error: BaseException | None) -> None:
            if lesson is None:
                self._fail(error)
            else:
                self._player.start(lesson)
                self._show()

        self._session.jobs.submit(work, key=("exercise", self), pool=Pool.CPU, lasting=True, done=done)

    def _finished(self) -> None:
        """Ask for the name that an exam is handed in under."""
        if self._player.exam:
            self._ask_name()

    # --- handing in ---

    def _ask_name(self) -> None:
        done = self._player.done
        if done is None:
            return
        dialog = HandInDialog(done, self._name, self._window)
        dialog.wanted.connect(lambda name: self._ask_place(done, name))
        dialog.open()

    def _ask_place(self, done: Work, name: str) -> None:
        self._name = name
        handed = done.hand_in(name)
        proposed = re.sub(r"[^\w.-]+", "-", f"{name}-{handed.lesson}").strip("-.")[:80]
        kinds = {self.tr("Hand-in (*.json)"): "json"}

        def write(place: str) -> None:
            path = Path(place)
            self._job(lambda: write_hand_in(path, handed, force=True), self.tr("Handed in: {0}").format(path.name))

        ask_target(self._window, self.tr("Hand in"), write, name=f"{proposed or 'hand-in'}.json", kinds=kinds)

    # --- missions ---

    def _ask_mission(self) -> None:
        """Of the sandbox over a file; without changes, of the open file and the intact one that is asked for."""
        shard = self._session.shard
        if shard is None or shard.source is None:
            return
        if isinstance(shard.source, PatchedSource) and shard.source.changes:
            self._ask_out(None)
            return
        title = self.tr("Choose the intact file")
        ask_file(self._window, title, lambda original: self._ask_out(Path(original)))

    def _ask_out(self, original: Path | None) -> None:
        name = Path(self._session.request.name).stem
        kinds = {self.tr("Mission (*.zip)"): "zip"}

        def chosen(place: str) -> None:
            out = Path(place)
            said = self.tr("Mission written: {0}").format(out.name)
            self._session.ask(
                lambda shard, _: _write_mission(shard, original, out),
                lambda _: self._session.succeeded.emit(said),
                failed=self._fail,
                key=("mission", self),
            )

        ask_target(self._window, self.tr("Make a mission"), chosen, name=f"mission-{name}.zip", kinds=kinds)

    def _job(self, work: Callable[[], object], said: str) -> None:
        def done(_: object, error: BaseException | None) -> None:
            if error is not None:
                self._fail(error)
            else:
                self._session.succeeded.emit(said)

        self._session.jobs.submit(lambda _: work(), key=("course", self), lasting=True, done=done)

    def _fail(self, error: BaseException | None) -> None:
        if error is not None:
            self._notices.tell(plain_words(error))


def _write_mission(shard: Shard, original: Path | None, out: Path) -> None:
    """Write a mission of the open bytes, and of the intact file; without one, of what is under the sandbox."""
    source = shard.source
    assert source is not None
    if original is None:
        assert isinstance(source, PatchedSource)
        was = bytes_of(source.base)
    else:
        with FileSource(original) as file:
            was = bytes_of(file)
    write_mission(was, bytes_of(source), Path(source.name).name, out, force=True)
