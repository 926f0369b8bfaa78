"""Jobs of the comparison: reading, packing and measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled
from shardcore.teaching.comparison import (
    BUILT_IN,
    ComparedContents,
    ComparedObject,
    Comparison,
    FormatRow,
    PackedFormat,
    blank,
    compared_formats,
    files_of,
    left_out,
    looked_up,
    uncompressed,
    with_costs,
)
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive

T = TypeVar("T")


class CompareJobs(QObject):
    """Serves one sheet. The newest question wins: what was asked before is given up.

    `begun` tells that formats are known, `changed` that rows are others; `failed` carries why there are no contents.

    Attributes:
        contents: Where the objects come from.
        count: How many are wanted; None for those that are there.
        size: Bytes of each; None for their own.
        dials: What each format's main parameter is, by the format, where it is not the usual one.
        own_codecs: Whether each format compresses by its default codec; otherwise contents are stored uncompressed.
        rows: One for each format, as far as they are known.
        stale: Formats whose rows are not what was asked for last.
        objects: The objects, once they are made.
        count_now: How many they are.
        content: Bytes of all of them.
    """

    begun = Signal()
    changed = Signal()
    failed = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.contents: ComparedContents = BUILT_IN
        self.count: int | None = None
        self.size: int | None = None
        self.dials: dict[str, str] = {}
        self.own_codecs = False
        self.rows: dict[str, FormatRow] = {}
        self.stale: set[str] = set()
        self.objects: Sequence[ComparedObject] = ()
        self.count_now = 0
        self.content = 0

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that are compared."""
        return tuple(self.rows)

    @property
    def comparison(self) -> Comparison:
        """All of it, as far as it is known."""
        notes = left_out(self.contents, self.count, self.size)
        return Comparison(
            self.contents.title, tuple(self.rows.values()), self.count_now, self.content, notes, self.own_codecs
        )

    def begin(self) -> None:
        """Asks for the formats; the first time all of them are imported."""

        def take(rows: list[FormatRow]) -> None:
            self.rows = {row.format: row for row in rows}
            self.begun.emit()
            self.ask()

        self._ask(
            lambda _: [blank(name, {}) for name in compared_formats()], take, "formats", priority=JobPriority.SCREEN
        )

    def read(self, paths: Sequence[str | Path]) -> None:
        """Compares the files of folders, as they are."""
        self._ask(lambda _: files_of(list(paths)), self.use, "files", priority=JobPriority.SCREEN)

    def use(self, contents: ComparedContents) -> None:
        """Compares other contents, as they are."""
        self.contents, self.count, self.size = contents, None, None
        self.begun.emit()
        self.ask()

    def turn(self, format: str, value: str) -> None:
        """Turns the main parameter of one format; the others stay as they are."""
        self.dials[format] = value
        self.stale.add(format)
        if self.objects:
            self._measure((format,))
        self.changed.emit()

    def ask(self) -> None:
        """Asks for everything anew."""
        self._give_up(self.formats)
        self.stale |= set(self.formats)
        self.objects = ()
        self.count_now, self.content = self.contents.amount(self.count, self.size)
        self._make()
        self.changed.emit()

    def stop(self) -> None:
        """Nobody waits for any of it any more."""
        self._give_up(self.formats)
        for key in ("formats", "files"):
            self._cancel(key)

    def usual(self, format: str) -> str:
        """Return the value of the main parameter of a format where none was chosen."""
        return blank(format, {} if self.own_codecs else uncompressed(format, {})).value

    # --- inside ---

    def _give_up(self, formats: Sequence[str]) -> None:
        for key in ("objects", *formats):
            self._cancel(key)

    def _cancel(self, key: str) -> None:
        if (job := self._jobs.newest((key, self))) is not None:
            job.cancel()

    def _options(self, format: str) -> dict[str, Any]:
        dial = self.rows[format].dial
        chosen = {dial: self.dials[format]} if dial and format in self.dials else {}
        return chosen if self.own_codecs else uncompressed(format, chosen)

    def _make(self) -> None:
        """Creates the objects; then they are packed."""
        contents, count, size = self.contents, self.count, self.size

        def take(objects: list[ComparedObject]) -> None:
            self.objects = objects
            self._measure(self.formats)

        self._ask(lambda _: contents.objects(count, size), take, "objects", priority=JobPriority.SELECTED)

    def _measure(self, formats: Sequence[str]) -> None:
        """Packs and measures; what is still being packed for these formats is given up."""
        for name in formats:
            self._measure_one(name)

    def _measure_one(self, name: str) -> None:
        objects, options = self.objects, self._options(name)

        def take(found: tuple[FormatRow, PackedFormat | None]) -> None:
            row, packed = found
            self.rows[name] = row
            self.stale.discard(name)
            self.changed.emit()
            if packed is not None:
                self._ask(lambda _: with_costs(row, packed, options), done, name, priority=JobPriority.PREFETCH)

        def done(row: FormatRow) -> None:
            self.rows[name] = row
            self.changed.emit()

        self._ask(lambda _: looked_up(name, objects, options), take, name, priority=JobPriority.SELECTED)

    def _ask(self, work: Callable[[Job], T], take: Callable[[T], None], key: str, *, priority: JobPriority) -> None:
        """Runs work, and brings the result home if somebody still waits for it."""

        def done(result: T | None, error: BaseException | None) -> None:
            if not alive(self.stop) or job.cancelled or isinstance(error, Cancelled):
                return
            if result is None:
                self.failed.emit(plain_words(error))
            else:
                take(result)

        job = self._jobs.submit(work, key=(key, self), pool=Pool.CPU, priority=priority, done=done)
