"""The fields on the screen by name: requested in jobs, stretch by stretch, and kept."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, Node, Span
from shardcore.model.text import shown
from shardscope.session.jobs import Job
from shardscope.session.pages import PageCache, Readable
from shardscope.session.words import cut_end, cut_middle, grouped_value

STRETCH = 1024
"""Bytes whose fields are requested at once."""

KEPT = 256
"""Stretches that are kept; the longest unused go first."""

MOST = 64
"""Stretches requested by one job."""

_NAME, _VALUE, _RECORD = 24, 26, 14


@dataclass(frozen=True, slots=True)
class NamedField:
    span: Span
    name: str
    value: str
    path: str
    target: Span | None

    @staticmethod
    def of(path: Sequence[Node]) -> NamedField:
        leaf, name = path[-1], cut_middle(shown(path[-1].name), _NAME)
        record = path[-2] if len(path) > 3 else None
        if record is not None and record.span.start == leaf.span.start:
            name = f"{cut_middle(shown(record.name), _RECORD)} › {name}"
        value = grouped_value(leaf)
        cut = cut_middle if isinstance(leaf.value, bytes) and value == leaf.value.hex() else cut_end
        names = " › ".join(cut_middle(node.name) for node in path[1:])
        return NamedField(leaf.span, name, cut(shown(value), _VALUE), shown(names), leaf.target)


class FieldNames(QObject):
    changed = Signal()

    def __init__(self, pages: PageCache, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pages = pages
        self._known: OrderedDict[tuple[str, int], tuple[NamedField, ...]] = OrderedDict()
        self._round = 0
        pages.cleared.connect(self.forget)

    def forget(self) -> None:
        self._round += 1
        self._known.clear()
        self.changed.emit()

    def want(self, name: str, ranges: Iterable[tuple[int, int]]) -> None:
        numbers = {number for start, stop in ranges for number in range(start // STRETCH, -(-stop // STRETCH))}
        missing = sorted(number for number in numbers if (name, number) not in self._known)[:MOST]
        if not missing:
            return
        current = self._round

        def work(readable: Readable, job: Job) -> list[tuple[NamedField, ...]]:
            found = []
            for number in missing:
                job.check()
                paths = readable.fields_in(number * STRETCH, (number + 1) * STRETCH, name, limit=STRETCH)
                found.append(tuple(NamedField.of(path) for path in paths))
            return found

        def done(found: list[tuple[NamedField, ...]] | None, error: BaseException | None) -> None:
            if current != self._round or isinstance(error, Cancelled):
                return
            # What cannot be named is not requested again.
            for number, fields in zip(missing, found or [()] * len(missing), strict=True):
                self._keep((name, number), fields)
            self.changed.emit()

        self._pages.ask(work, key=("fields", id(self)), done=done)

    def _keep(self, key: tuple[str, int], fields: tuple[NamedField, ...]) -> None:
        self._known[key] = fields
        while len(self._known) > KEPT:
            self._known.popitem(last=False)

    def begin_in(self, name: str, start: int, stop: int) -> list[NamedField]:
        found: list[NamedField] = []
        for number in range(max(start, 0) // STRETCH, -(-stop // STRETCH)):
            if (fields := self._known.get((name, number))) is None:
                continue
            self._known.move_to_end((name, number))
            first = bisect_left(fields, start, key=_start)
            found += fields[first : bisect_left(fields, stop, key=_start)]
        return found


def _start(field: NamedField) -> int:
    return field.span.start
