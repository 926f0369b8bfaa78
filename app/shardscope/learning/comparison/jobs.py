"""Measuring formats in jobs; the latest request cancels the ones before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled
from shardcore.teaching.comparison.comparison import Comparison, compared_formats, left_out
from shardcore.teaching.comparison.contents import BUILT_IN, ComparedContents, ComparedObject, files_of
from shardcore.teaching.comparison.measure import FormatRow, blank, measured
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive

T = TypeVar("T")


class CompareJobs(QObject):
    begun = Signal()
    changed = Signal()
    failed = Signal(object)

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self._jobs = jobs
        self.contents: ComparedContents = BUILT_IN
        self.count: int | None = None
        self.size: int | None = None
        self.dials: dict[str, str] = {}
        self.codec = "none"
        self.rows: dict[str, FormatRow] = {}
        self.stale: set[str] = set()
        self.objects: Sequence[ComparedObject] = ()

    @property
    def comparison(self) -> Comparison:
        content = sum(len(one.data) for one in self.objects)
        notes = left_out(self.contents, self.count, self.size)
        rows = tuple(self.rows.values())
        return Comparison(self.contents.title, rows, len(self.objects), content, notes, self.codec)

    def begin(self) -> None:
        def take(rows: list[FormatRow]) -> None:
            self.rows = {row.format: row for row in rows}
            self.begun.emit()
            self.ask()

        self._ask(lambda _: [blank(name, {}, self.codec) for name in compared_formats()], take, "formats")

    def read(self, paths: Sequence[str | Path]) -> None:
        self._ask(lambda _: files_of(list(paths)), self.use, "files")

    def use(self, contents: ComparedContents) -> None:
        self.contents, self.count, self.size = contents, None, None
        self.begun.emit()
        self.ask()

    def turn(self, format: str, value: str) -> None:
        self.dials[format] = value
        self._measure(format)

    def ask(self) -> None:
        if not self.rows:
            return
        self.stop()
        self.stale |= set(self.rows)
        contents, count, size = self.contents, self.count, self.size

        def take(objects: list[ComparedObject]) -> None:
            self.objects = objects
            for name in self.rows:
                self._measure(name)

        self._ask(lambda _: contents.objects(count, size), take, "objects")
        self.changed.emit()

    def stop(self) -> None:
        for key in ("formats", "files", "objects", *self.rows):
            if (job := self._jobs.newest((key, self))) is not None:
                job.cancel()

    def value_of(self, format: str) -> str:
        return blank(format, self._options(format), self.codec).value

    def _options(self, format: str) -> dict[str, object]:
        dial = self.rows[format].dial
        return {dial: self.dials[format]} if format in self.dials else {}

    def _measure(self, name: str) -> None:
        objects, options, codec = self.objects, self._options(name), self.codec

        def take(row: FormatRow) -> None:
            self.rows[name] = row
            self.stale.discard(name)
            self.changed.emit()

        self.stale.add(name)
        self.changed.emit()
        self._ask(lambda _: measured(name, objects, options, codec), take, name)

    def _ask(self, work: Callable[[Job], T], take: Callable[[T], None], key: str) -> None:
        def done(result: T | None, error: BaseException | None) -> None:
            if not alive(self.stop) or job.cancelled or isinstance(error, Cancelled):
                return
            if result is None:
                self.failed.emit(plain_words(error))
            else:
                take(result)

        job = self._jobs.submit(work, key=(key, self), pool=Pool.CPU, priority=JobPriority.SELECTED, done=done)
