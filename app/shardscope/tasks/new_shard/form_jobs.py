"""Jobs of the form for a new shard: counting, checking the target, planning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer

from shardcore import Cancelled, UsageError
from shardcore.model.text import plural
from shardcore.shards.registry import writes_of
from shardscope.session.debounce import Debounce
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.tasks.new_shard.form import PackForm
from shardscope.tasks.new_shard.inputs import InputCount, count
from shardscope.tasks.new_shard.request import ConvertWork, NewShardJob, NewShardTarget, PackWork, Planned, Refused
from shardscope.tasks.new_shard.target import TargetState, look

T = TypeVar("T")
Take = Callable[[T | None, BaseException | None], None]

SOON_MILLISECONDS = 250
"""Pause in changes, in milliseconds, after which the plan is computed."""

LOOK_MILLISECONDS = 100

AUTO_EXACT = 16 << 20
"""Maximum size in bytes of contents that are read automatically, to compute an exact plan."""


class FormJobs(QObject):
    """Jobs of one form; results are not delivered after `stop`."""

    def __init__(self, form: PackForm, jobs: Jobs) -> None:
        super().__init__(form)
        self._form = form
        self._jobs = jobs
        self._planned: tuple[NewShardJob, Planned] | None = None
        self._soon = Debounce(self, self._plan, SOON_MILLISECONDS)
        self._clock = QTimer(self)
        self._clock.setInterval(LOOK_MILLISECONDS)
        self._clock.timeout.connect(self._look)
        form.contents_changed.connect(self.count)
        form.changed.connect(self._changed)
        form.exact_wanted.connect(lambda: self._plan(unread=False))
        self.count()

    def count(self) -> None:
        if self._form.contents is None:
            self._changed()
            return
        paths = self._form.contents.paths
        self._stop_planning()
        if not paths:
            self._counted(InputCount(), None)
            return
        self._ask(lambda job: count(paths, job.progress), self._counted, "count inputs")
        self._clock.start()

    def _ask(self, work: Callable[[Job], T], take: Take[T], key: str, *, pool: Pool = Pool.IO) -> None:
        def done(result: T | None, error: BaseException | None) -> None:
            # A cancelled job may fail before it notices; its error belongs to an older request.
            if alive(self.stop) and not job.cancelled and not isinstance(error, Cancelled):
                take(result, error)

        job = self._jobs.submit(work, key=(key, self), pool=pool, priority=JobPriority.SCREEN, done=done)

    def stop(self) -> None:
        self._soon.stop()
        self._clock.stop()
        for key in ("count inputs", "plan", "target"):
            if (job := self._jobs.newest((key, self))) is not None:
                job.cancel()

    def _counted(self, counted: InputCount | None, error: BaseException | None) -> None:
        if counted is None:
            self._refuse(error)
            return
        self._planned = None
        self._form.show_counted(counted)
        self._changed()

    def _changed(self) -> None:
        self._look_at_target()
        work = self._form.work
        if work is not None and self._planned is not None and _alike(work, self._planned[0]):
            self._form.show_planned(self._planned[1])
            return
        self._stop_planning()
        if work is None or self._form.options.problem or self._form.counted.problem(skip=self._form.skips):
            self._planned = None
            self._form.plan.show_none(self._form.tr("A preview of the new shard appears here. Nothing is written yet."))
            return
        self._soon.start()

    def _stop_planning(self) -> None:
        self._soon.stop()
        if (job := self._jobs.newest(("plan", self))) is not None:
            job.cancel()

    # --- the target ---

    def _look_at_target(self) -> None:
        target = self._form.target
        if target is None:
            self._form.refresh()
            return
        inputs, members = self._form.inputs, writes_of(self._form.formats.format).members
        self._ask(lambda _: look(target, inputs, members), lambda place, _: self._looked(target, place), "target")

    def _looked(self, target: NewShardTarget, place: TargetState | None) -> None:
        now = self._form.target
        if place is not None and now is not None and (now.path, now.folder) == (target.path, target.folder):
            self._form.place.set_target(place)
            self._form.refresh()

    # --- the plan ---

    def _plan(self, *, unread: bool = True) -> None:
        work = self._form.work
        if work is None:
            return
        self._form.plan.show_busy(self._form.tr("Planning …"))

        def take(planned: Planned | None, error: BaseException | None) -> None:
            if planned is None:
                self._planned = None
                self._refuse(error)
                return
            self._planned = work, planned
            self._form.show_planned(planned)
            if unread and not planned.plan.exact and planned.plan.content <= AUTO_EXACT:
                self._plan(unread=False)

        self._ask(lambda job: work.plan(unread=unread, progress=job.progress), take, "plan", pool=Pool.CPU)
        self._clock.start()

    def _refuse(self, error: BaseException | None) -> None:
        cause = error.error if isinstance(error, Refused) else error
        option = error.option if isinstance(error, Refused) else ""
        # Unreadable input may become readable, so it does not disable *Write*.
        self._form.show_refused(error_text(cause), option, final=isinstance(cause, UsageError))

    # --- how far ---

    def _look(self) -> None:
        if (job := self._jobs.newest(("count inputs", self))) is not None:
            if self._form.contents is not None:
                self._form.contents.show_busy(job.done_amount)
        elif (job := self._jobs.newest(("plan", self))) is not None:
            self._form.plan.show_busy(_planning_text(job))
        else:
            self._clock.stop()


def _planning_text(job: Job) -> str:
    if not job.total_amount:
        return "Planning …"
    return f"Planning … {job.done_amount:,} of {plural(job.total_amount, 'object')}"


def _alike(one: NewShardJob, other: NewShardJob) -> bool:
    """Return whether two jobs have the same plan; the name of the target may differ."""
    if not one.target.alike(other.target):
        return False
    if isinstance(one, PackWork) and isinstance(other, PackWork):
        inputs = [(work.inputs, work.manifest, work.skip_unreadable) for work in (one, other)]
        return inputs[0] == inputs[1]
    if isinstance(one, ConvertWork) and isinstance(other, ConvertWork):
        return one.shard is other.shard and one.keys is other.keys
    return False
