"""The session: open documents, selection, lookup and verification. Views call it and follow its signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from shardcore import Depth, Node, Report, Shard, ShardError, SourceError, Span, UsageError, detect, open_inside
from shardcore.model.inside_path import InsideStep
from shardcore.model.text import short
from shardcore.operations.cold_cost import ColdTrace, cold_trace
from shardcore.operations.references import references_to
from shardcore.shards.inner_source import source_inside
from shardscope.session import selection as completing
from shardscope.session.documents import Document, Documents
from shardscope.session.error_messages import error_text
from shardscope.session.fetch_cost import verifying
from shardscope.session.highlights import MAX_HIGHLIGHTS, Arrow, Highlight, ReferenceQuery
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool
from shardscope.session.lookup_steps import TraceWalk, trace_of_key
from shardscope.session.notes import SessionNotes
from shardscope.session.open_request import OpenRequest
from shardscope.session.opened_shard import IndexState, OpenFailure
from shardscope.session.selection import Selection


class OpenQuestion(QObject):
    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.is_open = False
        self.last_step: int | None = None

    def ask(self, *, is_open: bool, last_step: int | None = None) -> None:
        """Open or end the question; `last_step` is the last step of the lookup shown before the answer, None: all."""
        now = is_open, last_step if is_open else None
        if now != (self.is_open, self.last_step):
            self.is_open, self.last_step = now
            self.changed.emit()

    def hides_step(self, number: int) -> bool:
        return self.last_step is not None and number > self.last_step


MOST = 200

NEAR = 1024
"""Distance in bytes up to which a selection replaces the last entry of the history."""


class History:
    def __init__(self) -> None:
        self._places: list[Selection] = []
        self._at = -1
        self._away = False

    def can_go(self, step: int) -> bool:
        return 0 <= self._at + step + self._returns(step) < len(self._places)

    def go(self, step: int) -> Selection:
        self._at += step + self._returns(step)
        self._away = False
        return self._places[self._at]

    def leave(self, chosen: Selection) -> None:
        place = self._places[self._at] if self._at >= 0 else chosen
        self._away = chosen != place and chosen.span != place.span

    def _returns(self, step: int) -> int:
        return int(self._away and step < 0)

    def add(self, chosen: Selection) -> None:
        """Add a selection after the current entry and drop later entries. It replaces a last entry close to it."""
        self._away = False
        del self._places[self._at + 1 :]
        if self._places and _near(self._places[-1], chosen):
            self._places[-1] = chosen
        else:
            self._places.append(chosen)
            del self._places[: -MOST or None]
        self._at = len(self._places) - 1

    def complete(self, chosen: Selection, found: Selection) -> None:
        if self._places and self._places[self._at] is chosen:
            self._places[self._at] = found

    def clear(self) -> None:
        self._places.clear()
        self._at = -1
        self._away = False


def key_of(shard: Shard, row: int) -> str:
    """Return the key of a row for links. Raises `UsageError` if a lookup of its key does not return the row."""
    key = shard.objects.ref(row).key
    if key is None:
        raise UsageError("a link cannot contain the key of this object")
    if shard.find(key).row != row:
        raise UsageError(f"readers return another object for the key {short(key)}")
    return key


def _near(last: Selection, chosen: Selection) -> bool:
    if last.span is None or chosen.span is None:
        return last.row == chosen.row and last.span is chosen.span
    if last.row is not None and chosen.row is not None:
        return last.row == chosen.row
    same_source = last.span.source == chosen.span.source
    return same_source and abs(last.span.start - chosen.span.start) <= NEAR


__all__ = ["IndexState", "OpenFailure", "Session"]


class Session(Documents):
    """State of a window: open documents, selection and lookup. Lives on the GUI thread; all reading is done by jobs."""

    selection_changed = Signal(object)
    """Carries the `Selection`: at once, and again when it is complete."""
    history_changed = Signal()
    walk_changed = Signal(object)
    """Carries the `TraceWalk`: when a lookup begins, ends or is removed."""
    step_changed = Signal(object)
    """Carries the `TraceWalk`: another step of the same lookup is current."""
    highlights_changed = Signal()
    question_changed = Signal(object)
    """Carries the `ReferenceQuery` when it starts and when it is answered; None when it is cleared."""
    cost_changed = Signal(object)
    """Carries the `TraceWalk`: its cold cost was measured, or cannot be."""
    notation_changed = Signal()
    """The notation of offsets changed: decimal or hexadecimal."""
    findings_changed = Signal(object)
    verifying_changed = Signal(object)
    tab_wanted = Signal(object, object)
    """Carries an `OpenRequest` to open in another tab, and the `Span` to select there or None."""

    PARKED = (
        *Documents.PARKED,
        *("selection", "caret", "walk", "highlights", "arrows", "_pointing", "question", "report", "_history"),
    )

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(jobs, parent)
        self.selection = Selection()
        self.caret: Span | None = None
        self.walk = TraceWalk()
        self.highlights: tuple[Highlight, ...] = ()
        self.arrows: tuple[Arrow, ...] = ()
        self._pointing = False
        self.question: ReferenceQuery | None = None
        self.report: Report | None = None
        self._history = History()
        self.notes = SessionNotes(self)
        self.open_question = OpenQuestion(self)

    def reload(self) -> Job | None:
        if not self.request.uri:
            return None
        return self.open(self.request, select=self.selection.span)

    # --- what is inside ---

    def open_inside(self, what: int | InsideStep, *more: InsideStep) -> Job | None:
        """Open the content of an object in another tab; `what` is its row, key or bytes, `more` are keys inside it."""
        request = self.request

        def work(shard: Shard, _: Job) -> OpenRequest:
            step = key_of(shard, what) if isinstance(what, int) else what
            if more:
                open_inside(shard, step, *more).close()
            else:
                with source_inside(shard, step) as source:
                    # Long content is only decoded once, by the tab, which reports the error.
                    if source.cheap:
                        detect(source)
            return replace(request, inside=(*request.inside, step, *more))

        return self.ask(
            work,
            lambda inner: self.tab_wanted.emit(inner, None),
            failed=lambda error: self.report_error(self.tr("Cannot open the content"), error),
            key=("inside", self),
            priority=JobPriority.SCREEN,
        )

    def _reset(self) -> None:
        super()._reset()
        self._history = History()
        self.selection = Selection()
        self.caret = None
        self.walk = TraceWalk()
        self._set_highlights((), ())
        self._set_question(None)
        self.report = None
        self.history_changed.emit()

    def _emit_state(self) -> None:
        self._pointing = False
        super()._emit_state()
        self.history_changed.emit()
        self.findings_changed.emit(self.report)
        self.verifying_changed.emit(self.jobs.newest(("verify", self)))
        chosen = self.selection = replace(self.selection, origin=self)
        if chosen != Selection():
            self.selection_changed.emit(chosen)
        if not chosen.complete and (chosen.span is not None or chosen.row is not None):
            self._complete(chosen)
        self.highlights_changed.emit()
        if self.question is not None and self.question.references is None and self.question.error is None:
            self._set_question(None)
        elif self.question is not None:
            self.question_changed.emit(self.question)
        if self.walk.key:
            self.walk_changed.emit(self.walk)
            if self.walk.waits:
                self.look_up(self.walk.key)
            elif self.walk.step >= 0:
                self.step_changed.emit(self.walk)

    def _selected_span(self) -> Span | None:
        return self.selection.span

    def _parked_span(self, document: Document) -> Span | None:
        chosen = document.state.get("selection")
        return chosen.span if isinstance(chosen, Selection) else document.select

    def _arrive(self, select: Span | None) -> None:
        damage = self.shard.damage if self.shard is not None else None
        place = select or (damage.span if damage is not None else None)
        if place is not None:
            self.select_span(self._inside(place), self)
        else:
            self.select_nothing(self)

    def _inside(self, span: Span) -> Span:
        """Return a span limited to the file: findings may be past its end, and a reloaded file may be shorter."""
        source = self.shard.source if self.shard is not None else None
        if source is None or span.source:
            return span
        start = min(span.start, max(source.size - 1, 0))
        return Span("", start, max(min(span.stop, source.size), start))

    def _index_done(self) -> None:
        super()._index_done()
        if self.selection.row is None:
            # The loaded index gives more nodes: complete the selection again.
            self._complete_again()

    def show_typed(self, shard: Shard | None) -> None:
        super().show_typed(shard)
        self._complete_again()

    def _complete_again(self) -> None:
        chosen = self.selection
        if chosen.span is not None or chosen.row is not None:
            # The row is derived from the bytes, which stay selected.
            row = None if chosen.span is not None and chosen.span.size else chosen.row
            self.selection = replace(chosen, row=row, complete=False, path=(), ref=None)
            self._complete(self.selection)

    # --- the selection ---

    def select_span(self, span: Span, origin: object = None, *, remember: bool = True) -> None:
        """Select bytes (an empty span is a position); a job looks up their node and object."""
        if self.shard is not None:
            self._select(Selection(span, origin=origin), remember)

    def select_row(self, row: int, origin: object = None, *, remember: bool = True) -> None:
        if self.shard is not None and row >= 0 and (self.listing is None or row < len(self.listing)):
            self._select(Selection(None, row, origin=origin), remember)

    def select_node(self, path: tuple[Node, ...], origin: object = None, *, remember: bool = True) -> None:
        if self.shard is None or not path:
            return
        if len(path) == 1:
            self._select(Selection(None, None, path, complete=True, origin=origin), remember)
        else:
            self._select(Selection(path[-1].span, None, path, origin=origin), remember)

    def back(self) -> None:
        self._travel(-1)

    def forward(self) -> None:
        self._travel(1)

    @property
    def can_go_back(self) -> bool:
        return self._history.can_go(-1)

    @property
    def can_go_forward(self) -> bool:
        return self._history.can_go(1)

    def _travel(self, step: int) -> None:
        if self._history.can_go(step):
            self._select(replace(self._history.go(step), origin=self), remember=False)

    def _select(self, chosen: Selection, remember: bool) -> None:
        self._set_selection(chosen)
        if remember:
            self._history.add(chosen)
        else:
            self._history.leave(chosen)
        self.history_changed.emit()
        self.selection_changed.emit(chosen)
        if chosen.span is not None or chosen.row is not None:
            self._complete(chosen)

    def _set_selection(self, chosen: Selection) -> None:
        self.selection = chosen
        if chosen.span is not None:
            self.caret = Span(chosen.span.source, chosen.span.start, chosen.span.start)

    def _complete(self, chosen: Selection) -> None:
        def work(shard: Shard, job: Job) -> Selection:
            if chosen.row is not None and not (chosen.span and chosen.path):
                return completing.of_row(shard, chosen.row)
            return completing.of_span(shard, chosen.span or Span("", 0, 0), chosen.path)

        def take(found: Selection) -> None:
            if self.selection is not chosen:
                return
            self._set_selection(replace(found, origin=chosen.origin))
            self._history.complete(chosen, self.selection)
            self.selection_changed.emit(self.selection)

        self.ask(
            work,
            take,
            failed=lambda error: take(replace(chosen, complete=True, error=error_text(error))),
            key=("select", self),
        )

    def select_nothing(self, origin: object = None) -> None:
        if self.shard is not None:
            self._select(Selection(complete=True, origin=origin), remember=False)

    # --- what is highlighted ---

    def find_references(self) -> None:
        selection = self.selection
        if self.shard is None or (selection.span is None and selection.row is None):
            return
        span = selection.span

        def work(shard: Shard, _: Job) -> ReferenceQuery:
            asked = span or completing.main_span(shard.objects.ref(selection.row or 0)) or Span("", 0, 0)
            return ReferenceQuery(asked, references_to(shard, asked))

        self._set_question(ReferenceQuery(span or Span("", 0, 0)))
        self.ask(
            work,
            self._set_question,
            failed=lambda error: self._set_question(ReferenceQuery(span or Span("", 0, 0), error=error)),
            key=("references", self),
            priority=JobPriority.SCREEN,
        )

    def clear_question(self) -> None:
        if self.question is not None:
            self._set_question(None)

    def _set_question(self, question: ReferenceQuery | None) -> None:
        self.question = question
        self._set_highlights(self.highlights, question.arrows if question is not None else ())
        self.question_changed.emit(question)

    def point_at(self, spans: Sequence[Span]) -> None:
        if spans or self._pointing:
            self._pointing = bool(spans)
            pointed = tuple(Highlight(number, span) for number, span in enumerate(spans[:MAX_HIGHLIGHTS], 1))
            self._set_highlights(pointed or self.walk.highlights, self.arrows)

    def _set_highlights(self, highlights: tuple[Highlight, ...], arrows: tuple[Arrow, ...]) -> None:
        if (highlights, arrows) != (self.highlights, self.arrows):
            self.highlights, self.arrows = highlights, arrows
            self.highlights_changed.emit()

    # --- the walk through a lookup ---

    def look_up(self, key: str, *, selects: bool = False) -> None:
        def begin() -> None:
            self.go_to_step(0)
            if selects:
                self.select_found(self)

        if self.shard is not None and key:
            self._trace(key, begin)

    def select_found(self, origin: object = None) -> None:
        ref = self.walk.trace.ref if self.walk.trace is not None else None
        if ref is not None and ref.row >= 0:
            self.select_row(ref.row, origin)
        elif ref is not None and ref.spans:
            self.select_span(ref.spans[0], origin)

    def look_up_again(self, walk: TraceWalk) -> None:
        """Repeat a lookup in the bytes open now; keeps the step and the selection."""
        if self.shard is None or not walk.key:
            return

        def stay() -> None:
            if self.walk.steps:
                self.walk = replace(self.walk, step=min(max(walk.step, 0), self.walk.steps - 1))
                self.step_changed.emit(self.walk)
                self._set_highlights(self.walk.highlights, self.arrows)

        self._trace(walk.key, stay)

    def _trace(self, key: str, then: Callable[[], None]) -> None:
        self.walk = TraceWalk(key)
        self._set_highlights((), self.arrows)
        self.walk_changed.emit(self.walk)

        def take(walk: TraceWalk) -> None:
            self.walk = walk
            self.walk_changed.emit(walk)
            then()

        def failed(error: BaseException) -> None:
            # The panel shows the error; a notice has the button of its remedy.
            if not isinstance(error, ShardError) or error.remedy is not None:
                self.report_error(self.tr("Lookup failed"), error)
            take(TraceWalk(key, error=error))

        self.ask(
            lambda shard, _: trace_of_key(shard, key),
            take,
            failed=failed,
            key=("trace", self),
            priority=JobPriority.SCREEN,
        )

    def walk_along(self, walk: TraceWalk) -> None:
        if self.shard is None:
            return
        self.walk = replace(walk, step=-1)
        self.walk_changed.emit(self.walk)
        self.go_to_step(max(walk.step, 0))

    def go_to_step(self, number: int) -> None:
        if not 0 <= number < self.walk.steps or self.open_question.hides_step(number):
            return
        self.walk = replace(self.walk, step=number)
        self.step_changed.emit(self.walk)
        if self.walk.span is not None:
            self.select_span(self.walk.span, self.walk, remember=False)
        else:
            # The previous selection does not belong to this step.
            self.select_nothing(self.walk)
        self.clear_question()
        self._set_highlights(self.walk.highlights, ())

    def measure_cost(self) -> None:
        before = self.walk
        if before.trace is None or before.cold is not None:
            return

        def take(cold: ColdTrace | None, error: BaseException | None = None) -> None:
            if self.walk.trace is before.trace:
                self.walk = replace(self.walk, cold=cold, cold_error=error)
                self.cost_changed.emit(self.walk)

        key = before.trace.key
        self.ask(
            lambda shard, _: cold_trace(shard, key),
            take,
            failed=lambda error: take(None, error),
            key=("cold", self),
        )

    # --- verification ---

    def set_report(self, report: Report) -> None:
        self.report = report
        self.findings_changed.emit(report)

    def verify(self, depth: Depth) -> None:
        if self.shard is not None:
            what = f"Verifying the {depth.value}"
            self.with_consent(what, verifying(self.shard, depth), lambda: self._verify(depth))

    def _verify(self, depth: Depth) -> None:
        def take(report: Report) -> None:
            ended()
            self.report = report
            if job is not None:
                job.note = report.summary
            self.findings_changed.emit(report)

        def failed(error: BaseException) -> None:
            if isinstance(error, SourceError) and isinstance(error.partial, Report):
                # Show the partial report; another notice reports the lost source.
                take(error.partial)
                return
            ended()
            self.report_error(self.tr("Verification stopped"), error)

        def ended() -> None:
            if self.jobs.newest(("verify", self)) is None:
                self.verifying_changed.emit(None)

        job = self.ask(
            lambda shard, job: shard.verify(depth, job.progress),
            take,
            failed=failed,
            stopped=ended,
            key=("verify", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=f"Verify {depth.value}",
        )
        if job is not None:
            self.verifying_changed.emit(job)
