"""Player of a lesson: opens its files, shows its steps, and checks answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from shardcore import Shard, ShardError, Span
from shardcore.dataclasses import replace
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons import lesson_step
from shardcore.teaching.lessons.answers import AnswerVerdict, Given, judged, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.lesson_list import sample_key
from shardcore.teaching.lessons.lesson_step import LessonStage, StepTarget, fresh_file, is_fresh, staged
from shardcore.teaching.lessons.placeholders import NotHereError
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import Selection, TraceWalk
from shardscope.session.session import OpenFailure, Session
from shardscope.startup.settings import Settings

T = TypeVar("T")


class LessonPlayer(QObject):
    """State of the current lesson.

    `astray`: name of the file open instead of the lesson's, or empty. `trouble`: why a step is not shown, or empty.
    """

    changed = Signal()
    """The step, its file, or its verdict changed."""
    wanted = Signal(object)
    """Carries a `StepTarget` to show, such as a panel or a drawing; a drawing without a name hides the drawings."""
    began = Signal(bool)
    """A lesson was started. Carries True if no other lesson was running before."""
    left = Signal()
    shown_answer = Signal(object)
    """Carries the correct answer as `Given`, after *Show me*."""
    finished = Signal()

    def __init__(self, session: Session, settings: Settings, random: Random | None = None) -> None:
        super().__init__(session)
        self._session = session
        self._settings = settings
        self._random = random or SystemRandom()
        self.lesson: Lesson | None = None
        self.number = 0
        self.stage: LessonStage | None = None
        self.verdict: AnswerVerdict | None = None
        self.hints = 0
        self.trouble = ""
        self.astray = ""
        self.trying = False
        self.chosen: Selection | Given | None = None
        self._document = session.document
        self._before: OpenRequest | None = None
        self._selected_before: Span | None = None
        self._made: dict[int, Path] = {}
        self._keys: dict[str, str] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._old: list[TemporaryDirectory[str]] = []
        session.lookup.open_question.asker = self
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.documents.failed.connect(self._not_opened)
        self.changed.connect(self._update_open_question)

    # --- going ---

    def start(self, lesson: Lesson, *, step: int = 0, trying: bool = False) -> None:
        """Start a lesson. With `trying`, it is a preview: `replace` can change its text, and no progress is saved."""
        before, selected, self._document = self._before, self._selected_before, self._session.document
        if self.lesson is None or self.astray:
            before, selected = self._open_now(), self._session.selection.span
        first = self.lesson is None
        self._end()
        self.lesson, self._before, self._selected_before, self.trying = lesson, before, selected, trying
        self._session.selection_changed.connect(self._selected)
        self.began.emit(first)
        self.go(min(max(step, 0), len(lesson.steps) - 1))

    def replace(self, lesson: Lesson) -> None:
        """Show the changed text of a lesson in preview; keep generated files that the new text describes as before."""
        before = self.lesson
        if before is None or not self.trying:
            return
        pairs = enumerate(zip(before.steps, lesson.steps, strict=False))
        same = {at for at, (old, new) in pairs if old.fresh == new.fresh}
        self._made = {at: place for at, place in self._made.items() if at in same}
        if lesson.key != before.key:
            self._keys = {uri: key for uri, key in self._keys.items() if is_fresh(uri)}
        self.lesson = lesson
        if not self.astray:
            self.go(min(self.number, len(lesson.steps) - 1))

    def leave(self) -> None:
        if self.lesson is None:
            return
        back, selected = self._way_back(), self._selected_before
        stays = back is None and not self.astray and not self._session.request.sandbox
        self._end()
        self.left.emit()
        self.changed.emit()
        if back is not None:
            self._session.open(back, select=selected)
            return
        if not is_fresh(self._session.request.uri):
            self._clean()  # otherwise it is removed when another file is opened
        if stays and selected is not None:
            self._session.select_span(selected, self)
        elif stays:
            self._session.select_nothing(self)

    def _end(self) -> None:
        if self.lesson is not None:
            self._session.selection_changed.disconnect(self._selected)
        self.lesson, self.stage, self.verdict, self.astray = None, None, None, ""
        self._made, self._keys, self._before, self._selected_before = {}, {}, None, None
        if self._folder is not None:
            # The open file may be in this folder: remove it when another file is opened.
            self._old.append(self._folder)
            self._folder = None

    def _clean(self) -> None:
        uri = self._session.request.uri if self._session.shard is not None else ""
        self._old, old = [one for one in self._old if uri.startswith(one.name)], self._old
        for folder in old:
            if folder not in self._old:
                folder.cleanup()

    def _open_now(self) -> OpenRequest | None:
        return self._session.request if self._session.shard is not None else None

    def _way_back(self) -> OpenRequest | None:
        """Return the request that reopens the file shown before the lesson; None if nothing has to be reopened."""
        lesson, now = self.lesson, self._open_now()
        if lesson is None or now is None or self.astray or (now.sandbox and not is_fresh(now.uri)):
            return None
        back = self._before
        if back is None and self._fresh_at(lesson, self.number) is not None and lesson.sample:
            back = OpenRequest(self._sample(lesson))
        # The changes of a sandbox were saved or dropped when the lesson opened its file.
        back = back.without_changes() if back is not None else None
        return back if back is not None and back.uri != now.uri else None

    def go(self, number: int) -> None:
        lesson = self.lesson
        if lesson is None or not 0 <= number < len(lesson.steps):
            return
        self.number = number
        self.stage, self.verdict, self.chosen, self.hints, self.trouble, self.astray = None, None, None, 0, "", ""
        if not self.trying:
            self._settings.set_lesson_step(lesson.name, number)
        self.changed.emit()
        place = self._place(lesson, number)
        if place is None:
            self._make(lesson, number)
        elif place != self._session.request.uri or self._session.shard is None:
            self._open(place)
        else:
            self._stage(lesson, number)

    @property
    def last(self) -> bool:
        return self.lesson is not None and self.number == len(self.lesson.steps) - 1

    @property
    def solved(self) -> bool:
        if self.astray:
            return False
        if self.trouble or (self.stage is not None and self.stage.question is None):
            return True
        return self.verdict is not None and self.verdict.right

    def finish(self) -> None:
        self.finished.emit()
        if self.lesson is not None and not self.trying:
            self._settings.set_lesson_done(self.lesson.name)
            self._settings.set_lesson_step(self.lesson.name, 0)
        self.leave()

    def _update_open_question(self) -> None:
        if self.lesson is not None and self.stage is None and not (self.trouble or self.astray):
            return  # the next step is being prepared, and may have a question
        stage = None if self.astray or self.solved else self.stage
        last = stage.last_step if stage is not None else None
        asks, in_drawing = stage is not None and stage.waits, self._asks(Answer.ITEM)
        self._session.lookup.open_question.ask(is_open=asks, last_step=last, in_drawing=in_drawing)

    # --- answering ---

    def answer(self, given: Given) -> None:
        stage = self.stage
        if stage is not None and (question := stage.question) is not None:
            self._ask(lambda _: judged(question, given, stage.scene), lambda verdict: self._judge(stage, verdict))

    def _ask(self, work: Callable[[Shard], T], take: Callable[[T], None]) -> None:
        key = ("lesson", self)
        self._session.ask(lambda shard, _: work(shard), take, failed=self._failed, key=key, priority=JobPriority.SCREEN)

    def hint(self) -> None:
        if self.stage is not None and self.stage.question is not None:
            self.hints = min(self.hints + 1, len(self.stage.question.hints))
            self.changed.emit()

    def show_answer(self) -> None:
        stage = self.stage
        if stage is None or (question := stage.question) is None:
            return

        def work(_: Shard) -> tuple[Given, AnswerVerdict]:
            given = solution(question, stage.scene)
            return given, judged(question, given, stage.scene)

        def take(found: tuple[Given, AnswerVerdict]) -> None:
            given, verdict = found
            if given.span is not None:
                self._session.select_span(given.span, self)
            elif question.kind is Answer.ITEM:
                self.wanted.emit(StepTarget(Show.DRAWING, given.sketch, values=(("item", given.text),)))
            self.shown_answer.emit(given)
            self.chosen = given
            self._judge(stage, replace(verdict, shown=True))

        self._ask(work, take)

    def choose(self, given: Given) -> None:
        if not self.solved:
            self.chosen, self.verdict = given, None
            self.changed.emit()

    def choose_item(self, sketch: str, item: str) -> None:
        if self._asks(Answer.ITEM):
            self.choose(Given(item, sketch=sketch))

    def _asks(self, kind: Answer) -> bool:
        question = self.stage.question if self.stage is not None else None
        return question is not None and question.kind is kind and not self.solved

    def _selected(self, selection: Selection) -> None:
        ours = (
            selection.origin is self
            or isinstance(selection.origin, TraceWalk)
            or selection.origin is self._session.selector
        )
        if self._asks(Answer.NODE) and selection.complete and selection.span is not None and not ours:
            self.chosen, self.verdict = selection, None
            self.changed.emit()

    def _judge(self, stage: LessonStage, verdict: AnswerVerdict) -> None:
        if self.stage is stage:
            self.verdict = verdict
            self.changed.emit()
            if verdict.right:
                self._show(stage.revealed, stage)

    # --- the file ---

    def _fresh_at(self, lesson: Lesson, number: int) -> int | None:
        """Return the index of the step that generated the file of step `number`; None if this step uses the sample."""
        return next((at for at in range(number, -1, -1) if lesson.steps[at].fresh is not None), None)

    def _place(self, lesson: Lesson, number: int) -> str | None:
        if (fresh := self._fresh_at(lesson, number)) is not None:
            return str(self._made[fresh]) if fresh in self._made else None
        return self._sample(lesson) if lesson.sample else self._session.request.uri

    def _sample(self, lesson: Lesson) -> str:
        return str(resource_paths.resources() / "samples" / lesson.sample)

    @property
    def can_repeat(self) -> bool:
        """True at the last step if its question is about a generated file."""
        return self.lesson is not None and self.last and self._fresh_at(self.lesson, self.number) is not None

    def another_file(self) -> None:
        at = self._fresh_at(self.lesson, self.number) if self.lesson is not None and self.can_repeat else None
        if at is not None:
            self._made.pop(at, None)
            self.go(at)

    def _make(self, lesson: Lesson, number: int) -> None:
        at = self._fresh_at(lesson, number)
        fresh = lesson.steps[at].fresh if at is not None else None
        if at is None or fresh is None:
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix=lesson_step.FRESH, ignore_cleanup_errors=True)
        folder = self._folder.name

        def work(_: Job) -> tuple[Path, str]:
            return fresh_file(lesson, at, fresh, Path(folder), self._random)

        def done(made: tuple[Path, str] | None, error: BaseException | None) -> None:
            if self.lesson is not lesson:
                return
            here = self._fresh_at(lesson, self.number) == at
            if made is not None:
                place, key = made
                self._made[at], self._keys[str(place)] = place, key
                if here and not self.astray:
                    self._open(str(place))
            elif here:
                self._failed(error or ShardError("no file was generated"))

        self._session.jobs.submit(work, key=("lesson file", self), pool=Pool.CPU, lasting=True, done=done)

    def _open(self, place: str) -> None:
        if self._document in self._session.documents.all:
            self._session.documents.show(self._document)
            if self._session.request.uri == place:
                return
        elif self._session.shard is not None:
            self._session.open_tab(OpenRequest(place))
            return
        if self._session.open(OpenRequest(place)) is None:
            self.astray = self._session.request.name
            self.changed.emit()

    def _opened(self, *_: object) -> None:
        self._clean()
        if self.lesson is None:
            return
        # The same file with other bytes: the code that changed them keeps the selection.
        again = self._session.documents.switching or (self.stage is not None and not self.astray)
        self.stage, self.verdict = None, None
        if self._session.request.uri == self._place(self.lesson, self.number):
            self.astray, self._document = "", self._session.document
            self._stage(self.lesson, self.number, again=again)
        else:
            # Another file is open: the panel says so and offers to go back.
            self.astray = self._session.request.name
            self.trouble = ""
            self.changed.emit()

    def _not_opened(self, failure: OpenFailure) -> None:
        if self.lesson is not None and failure.request.uri == self._place(self.lesson, self.number):
            self._failed(failure.error)

    def _closed(self) -> None:
        if self._session.documents.replacing:
            return
        ended = self.lesson is not None
        self._end()
        self._clean()
        if ended:
            self.left.emit()
            self.changed.emit()

    def _stage(self, lesson: Lesson, number: int, *, again: bool = False) -> None:
        """Prepare a step in a job. With `again`, its file was only reopened with other bytes: the selection is kept."""
        uri = self._session.request.uri
        known = self._keys.get(uri) or ("" if is_fresh(uri) else sample_key(lesson))

        def work(shard: Shard, _: Job) -> LessonStage:
            return staged(lesson, number, shard, known)

        def take(stage: LessonStage) -> None:
            if self.lesson is not lesson or self.number != number:
                return
            self._keys[uri] = stage.scene.key
            self.stage, self.trouble = stage, stage.missing
            self._update_open_question()
            trace = stage.scene.trace
            if stage.before >= 0 and trace is not None and self._session.lookup.walk.key != trace.key:
                self._session.lookup.follow(TraceWalk(trace.key, trace, step=stage.before))
            if not any(shown.kind is Show.DRAWING for shown in stage.shown):
                self.wanted.emit(StepTarget(Show.DRAWING))
            if not any(shown.kind is Show.ROWS for shown in stage.shown):
                self.wanted.emit(StepTarget(Show.ROWS))
            self._show(stage.shown, stage, again=again)
            self.changed.emit()

        def failed(error: BaseException) -> None:
            if self.lesson is lesson and self.number == number:
                self._failed(error)

        self._session.ask(work, take, failed=failed, key=("lesson", self), priority=JobPriority.SCREEN, pool=Pool.CPU)

    def _show(self, targets: Sequence[StepTarget], stage: LessonStage, *, again: bool = False) -> None:
        trace, walked = stage.scene.trace, self._session.lookup.walk.trace
        drawings = any(shown.kind is Show.DRAWING for shown in targets)
        if drawings and trace is not None and (walked is None or walked.key != trace.key):
            self._session.lookup.follow(TraceWalk(trace.key, trace))
        for shown in () if again else targets:
            if shown.kind is Show.NODE:
                self._session.select_node(shown.path, self)
            elif shown.kind is Show.BYTES and shown.span is not None:
                self._session.select_span(shown.span, self)
            elif shown.kind is Show.STEP and trace is not None:
                self._session.lookup.follow(TraceWalk(trace.key, trace, step=shown.step))
            else:
                self.wanted.emit(shown)

    def _failed(self, error: BaseException) -> None:
        self.trouble = error.message if isinstance(error, NotHereError) else error_text(error)
        self.changed.emit()
