"""State of lookups: the steps of a key, the search for references to bytes, and the current question of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from PySide6.QtCore import QObject, Signal

from shardcore import Shard, ShardError, Span, UsageError
from shardcore.dataclasses import replace
from shardcore.operations.cold_cost import ColdTrace, cold_trace
from shardcore.operations.references import references_to
from shardcore.shards.trace import ABSENT
from shardscope.session.documents import Documents
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.selection import MAX_HIGHLIGHTS, Arrow, Highlight, ReferenceQuery, TraceWalk, main_span
from shardscope.session.selector import Selector

LEAST_PREFIX = 4
"""Minimum length in characters of a prefix that is completed to a key."""

STEP = 1 << 16


class ReferenceSearch(QObject):
    changed = Signal(object)
    """Carries the `ReferenceQuery` when it starts and when it is answered; None when it is cleared."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._documents = documents
        documents.closed.connect(lambda: self.changed.emit(None))

    @property
    def question(self) -> ReferenceQuery | None:
        return self._documents.current.question

    def find(self) -> None:
        chosen = self._documents.current.selection
        if self._documents.current.shard is None or chosen.is_file:
            return
        begun = ReferenceQuery(chosen.span or Span("", 0, 0))

        def work(shard: Shard, _: Job) -> ReferenceQuery:
            asked = chosen.span or main_span(shard.objects.ref(chosen.row or 0)) or begun.span
            return ReferenceQuery(asked, references_to(shard, asked))

        self._set(begun)
        self._documents.ask(
            work,
            self._set,
            failed=lambda error: self._set(replace(begun, error=error)),
            key=("references", self),
            priority=JobPriority.SCREEN,
        )

    def clear(self) -> None:
        if self.question is not None:
            self._set(None)

    def _set(self, question: ReferenceQuery | None) -> None:
        self._documents.current.question = question
        self.changed.emit(question)

    def announce(self) -> None:
        question = self.question
        # If there is no answer, the job of the query was cancelled when the other document was shown.
        answered = question is not None and (question.references is not None or question.error is not None)
        self._set(question if answered else None)


class OpenQuestion(QObject):
    """Question of a lesson that is not answered yet; views hide the steps of the lookup that would answer it."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.is_open = False
        self.last_step: int | None = None
        self.in_drawing = False
        # Origin of the selections that the lesson makes.
        self.asker: object = None

    def ask(self, *, is_open: bool, last_step: int | None = None, in_drawing: bool = False) -> None:
        """Open or end the question.

        Args:
            is_open: Whether an answer is awaited.
            last_step: Index of the last step of the lookup that is shown before the answer; None for all steps.
            in_drawing: Whether the answer is an item of the drawing, which then does not follow the selection.
        """
        now = is_open, last_step if is_open else None, is_open and in_drawing
        if now != (self.is_open, self.last_step, self.in_drawing):
            self.is_open, self.last_step, self.in_drawing = now
            self.changed.emit()

    def hides_step(self, number: int) -> bool:
        return self.last_step is not None and number > self.last_step


class KeyLookup(QObject):
    """Lookup of a key in the current document; `highlights` are the bytes of its step, or those set by `point_at`."""

    walk_changed = Signal(object)
    """Carries the `TraceWalk`: a lookup began, ended or was removed."""
    step_changed = Signal(object)
    """Carries the `TraceWalk`: another step of the same lookup is current."""
    cost_changed = Signal(object)
    """Carries the `TraceWalk`: its cold cost was measured, or measuring it failed."""
    highlights_changed = Signal()

    def __init__(self, documents: Documents, selector: Selector, references: ReferenceSearch) -> None:
        super().__init__(documents)
        self._documents, self._selector, self._references = documents, selector, references
        self.highlights: tuple[Highlight, ...] = ()
        self.arrows: tuple[Arrow, ...] = ()
        self.open_question = OpenQuestion(self)
        documents.closed.connect(self._refresh)
        references.changed.connect(self._refresh)

    @property
    def walk(self) -> TraceWalk:
        return self._documents.current.walk

    def start(self, key: str, *, selects: bool = False) -> None:
        """Look up a key and show its first step; with `selects`, also select the object."""

        def begin() -> None:
            self.go_to_step(0)
            if selects:
                self.select_found()

        self._trace(key, begin)

    def repeat(self, walk: TraceWalk) -> None:
        """Repeat a lookup in the bytes open now; keeps the step and the selection."""

        def stay() -> None:
            if self.walk.steps:
                self._set_step(min(max(walk.step, 0), self.walk.steps - 1))
                self._refresh()

        self._trace(walk.key, stay)

    def _trace(self, key: str, then: Callable[[], None]) -> None:
        if self._documents.current.shard is None or not key:
            return

        def failed(error: BaseException) -> None:
            # The panel shows the error; a notice has the button of its remedy.
            if not isinstance(error, ShardError) or error.remedy is not None:
                self._documents.report_error(self.tr("Lookup failed"), error)
            take(TraceWalk(key, error=error))

        def take(walk: TraceWalk) -> None:
            self._set_walk(walk)
            then()

        self._set_walk(TraceWalk(key))
        self._refresh()
        self._documents.ask(
            lambda shard, _: trace_of_key(shard, key),
            take,
            failed=failed,
            key=("trace", self),
            priority=JobPriority.SCREEN,
        )

    def follow(self, walk: TraceWalk) -> None:
        if self._documents.current.shard is not None:
            self._set_walk(replace(walk, step=-1))
            self.go_to_step(max(walk.step, 0))

    def go_to_step(self, number: int) -> None:
        if not 0 <= number < self.walk.steps or self.open_question.hides_step(number):
            return
        self._set_step(number)
        walk = self.walk
        if walk.span is not None:
            self._selector.select_span(walk.span, walk, remember=False)
        else:
            # The previous selection does not belong to this step.
            self._selector.select_nothing(walk)
        self._documents.current.pointed = ()
        self._references.clear()
        self._refresh()

    def select_found(self, origin: object = None) -> None:
        ref = self.walk.trace.ref if self.walk.trace is not None else None
        if ref is not None and ref.row >= 0:
            self._selector.select_row(ref.row, origin)
        elif ref is not None and ref.spans:
            self._selector.select_span(ref.spans[0], origin)

    def measure_cost(self) -> None:
        before = self.walk
        if before.trace is None or before.cold is not None:
            return

        def take(cold: ColdTrace | None, error: BaseException | None = None) -> None:
            if self.walk.trace is before.trace:
                self._documents.current.walk = replace(self.walk, cold=cold, cold_error=error)
                self.cost_changed.emit(self.walk)

        key = before.trace.key
        self._documents.ask(
            lambda shard, _: cold_trace(shard, key),
            take,
            failed=lambda error: take(None, error),
            key=("cold", self),
        )

    def _set_walk(self, walk: TraceWalk) -> None:
        self._documents.current.walk = walk
        self.walk_changed.emit(walk)

    def _set_step(self, number: int) -> None:
        walk = self._documents.current.walk = replace(self.walk, step=number)
        self.step_changed.emit(walk)

    def announce(self) -> None:
        """Emit the signals for the lookup of a document that is shown again; an unfinished lookup is started again."""
        self._documents.current.pointed = ()
        self._refresh()
        if self.walk.key:
            self.walk_changed.emit(self.walk)
            if self.walk.waits:
                self.start(self.walk.key)
            elif self.walk.step >= 0:
                self.step_changed.emit(self.walk)

    # --- what is highlighted ---

    def point_at(self, spans: Sequence[Span]) -> None:
        """Highlight `spans` instead of the bytes of the current step; without spans, the bytes of the step again."""
        self._documents.current.pointed = tuple(
            Highlight(number, span) for number, span in enumerate(spans[:MAX_HIGHLIGHTS], 1)
        )
        self._refresh()

    def _refresh(self) -> None:
        document = self._documents.current
        before = self.highlights, self.arrows
        self.highlights = document.pointed or document.walk.highlights
        self.arrows = document.question.arrows if document.question is not None else ()
        if before != (self.highlights, self.arrows):
            self.highlights_changed.emit()


def trace_of_key(shard: Shard, key: str) -> TraceWalk:
    """Trace a key; if the index is loaded, also a prefix that a single key has. Raises `UsageError` for other texts."""
    stripped = key.strip()
    try:
        trace = shard.trace(key)
        if trace.outcome == ABSENT and key != stripped:
            trace = shard.trace(stripped)
    except UsageError as error:
        if key != stripped:
            return replace(trace_of_key(shard, stripped), key=key)
        if (whole := _completed(shard, stripped)) is not None:
            return TraceWalk(key, shard.trace(whole))
        if not shard.loaded:
            raise
        more = "no key has this prefix" if len(stripped) >= LEAST_PREFIX else f"type at least {LEAST_PREFIX} characters"
        raise UsageError(f"{error.message}; {more}") from error
    if trace.outcome != ABSENT:
        return TraceWalk(key, trace)
    with suppress(UsageError):
        return TraceWalk(key, trace, begins=_completed(shard, stripped) or "")
    return TraceWalk(key, trace)


def _completed(shard: Shard, prefix: str) -> str | None:
    """Return the only key with a prefix; None if there is none, or if the index is not loaded. O(objects)."""
    if len(prefix) < LEAST_PREFIX or not shard.loaded:
        return None
    objects, found = shard.objects, dict[str, None]()
    for start in range(0, len(objects), STEP):
        texts = objects.key_texts(np.arange(start, min(start + STEP, len(objects)), dtype=np.int64))
        found.update((text, None) for text in texts if text is not None and text.startswith((prefix, prefix.lower())))
        if len(found) > 1:
            first, second = list(found)[:2]
            raise UsageError(f"several keys begin with {prefix}: {first}, {second} …; type more characters")
    return next(iter(found), None)
