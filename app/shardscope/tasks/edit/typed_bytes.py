"""Bytes that the user types over bytes of the file, kept in memory until an edit writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from PySide6.QtCore import QObject, Signal

from shardcore import Shard, ShardError
from shardcore.dataclasses import replace
from shardcore.sources.base import on_failure
from shardcore.sources.patched_source import Change, check_room, overwriting, redo_step, steps_of, undo_step
from shardscope.session.byte_marks import Proposed, ProposedRange
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.widgets.deferred_signals import Debounce

Changes = tuple[Change, ...]

SOON_MILLISECONDS = 300
"""Pause in typing, in milliseconds, after which the views read the typed bytes."""


class TypedBytes(QObject):
    """Typed bytes, in memory until they are written or discarded. The last entry of `undone` is redone next."""

    changed = Signal()
    place_wanted = Signal(object)
    """Carries the offset of the change that was undone or redone."""

    def __init__(self, session: Session, switch: EditSwitch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._switch = switch
        self.changes: Changes = ()
        self.undone: Changes = ()
        self._soon = Debounce(self, self._show, SOON_MILLISECONDS)
        session.closed.connect(self.discard)
        switch.changed.connect(lambda: None if switch.allowed else self.discard())

    @property
    def possible(self) -> bool:
        shard = self._session.shard
        return shard is not None and shard.source is not None and self._switch.allowed and not self._switch.why_not

    @property
    def count(self) -> int:
        return steps_of(self.changes)

    @property
    def proposed(self) -> Proposed | None:
        return proposed_bytes(self.changes)

    def put(self, pieces: Sequence[tuple[int, bytes]], what: str = "", *, second: bool = False) -> None:
        if self.possible:
            self._set(overwriting(self.changes, pieces, what, second=second), ())

    def undo(self) -> None:
        self._step(undo_step, self.changes)

    def redo(self) -> None:
        self._step(redo_step, self.undone)

    def _step(self, step: Callable[[Changes, Changes], tuple[Changes, Changes]], moved: Changes) -> None:
        if moved:
            self._set(*step(self.changes, self.undone))
            self.place_wanted.emit(moved[-1].start)

    def discard(self) -> None:
        if self.changes or self.undone:
            self._set((), ())

    def view_state(self) -> object:
        return self.changes, self.undone

    def restore_view_state(self, state: object) -> None:
        if isinstance(state, tuple) and any(state):
            self._set(*state)

    def _set(self, changes: Changes, undone: Changes) -> None:
        try:
            check_room(changes)
        except ShardError as error:
            self._session.say(error_text(error), failed=True)
            return
        self.changes, self.undone = changes, undone
        self._soon.start()
        if not changes:
            self._show()
        self.changed.emit()

    def _show(self) -> None:
        changes, shard = self.changes, self._session.shard
        if not changes or shard is None or shard.source is None:
            self._session.show_typed(None)
            return
        # Keep the format: the typed bytes may be those by which it is detected.
        request = replace(self._session.request.with_changes(changes, shard.source.identity), format=shard.format)

        def work(job: Job) -> Shard:
            found = request.open(job.progress)
            with on_failure(found.close):
                if shard.loaded:
                    # If the typed bytes damage the index, the views show the rest.
                    with suppress(ShardError):
                        found.load_index(job.progress)
            return found

        def done(found: Shard | None, error: BaseException | None) -> None:
            if found is not None and changes == self.changes:
                self._session.show_typed(found)
            elif found is not None:
                found.close()

        self._session.jobs.submit(
            work,
            key=("typed", self),
            priority=JobPriority.SCREEN,
            done=done,
            discard=lambda found: found.close(),
        )


def proposed_bytes(changes: Sequence[Change]) -> Proposed | None:
    """Merge the overwritten ranges, where later changes win, for the bytes view; None without changes."""
    found: list[tuple[int, bytes]] = []
    for change in changes:
        data = change.data or b""
        start, stop = change.start, change.stop
        touching = [one for one in found if one[0] <= stop and start <= one[0] + len(one[1])]
        found = [one for one in found if one not in touching]
        low = min([start, *(one[0] for one in touching)])
        joined = bytearray(max([stop, *(one[0] + len(one[1]) for one in touching)]) - low)
        for at, old in (*touching, (start, data)):
            joined[at - low : at - low + len(old)] = old
        found.append((low, bytes(joined)))
    if not found:
        return None
    stretches = Proposed.of("", (ProposedRange(at, at + len(data), data) for at, data in found)).stretches
    return Proposed("", stretches, shows_new=True)
