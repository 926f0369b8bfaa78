"""Window of *Diff with*: fields, objects and bytes of two shards side by side."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollBar,
    QSplitter,
    QStyleOptionViewItem,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import DiffDepth, DiffKind, Span
from shardcore.model.record import Value
from shardcore.model.text import plural, size_text
from shardcore.operations.byte_diff import DiffRun
from shardcore.operations.diff_columns import CODES, KINDS
from shardscope.session.display_text import grouped, offset_words, range_words
from shardscope.session.jobs import Job, Jobs, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.views.diff.aligned_bytes import AlignedHexView, AlignedState, DiffStrip
from shardscope.views.diff.diff_jobs import BytesSideBySide, ComparedPair, DiffJobs, ShardPair
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.layouts import grid_in, lay, made
from shardscope.widgets.playback import show_progress
from shardscope.widgets.table import Column, RowTable, TableModel

I64 = NDArray[np.int64]

PAGE = 256
"""Number of rows whose keys are loaded by one job."""

MOST_PAGES = 64

SIGNS = {
    DiffKind.EQUAL: "=",
    DiffKind.MOVED: "↕",
    DiffKind.CHANGED: "≠",
    DiffKind.ADDED: "+",
    DiffKind.REMOVED: "−",
    DiffKind.RENAMED: "→",
    DiffKind.UNREAD: "?",
}


KEY, FIRST_OFFSET = 1, 4
"""Numbers of the columns *Key* and *Offset left*."""

VALUES: tuple[Callable[[ComparedPair], NDArray[np.integer]], ...] = (
    lambda compared: compared.found.kinds,
    lambda compared: compared.found.first,
    lambda compared: compared.columns[0].size,
    lambda compared: compared.columns[1].size,
    lambda compared: compared.columns[0].start,
    lambda compared: compared.columns[1].start,
)
"""For each column, function that returns its values by object number, -1 if missing; for *Key*, rows on the left."""


class DiffObjectModel(TableModel):
    """Model whose entries are indices of compared objects. `wanted` requests keys, `resorted` sorting by `order`."""

    things: I64 = np.zeros(0, np.int64)
    sortable = True

    wanted = Signal(object, object)
    resorted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = (
            Column("Change", self._change, tip=self._change_tip),
            Column("Key", str, 120, stretched=True),
            Column("Size left", partial(self._number, 2), number=True),
            Column("Size right", partial(self._number, 3), number=True),
            Column("Offset left", partial(self._number, FIRST_OFFSET), number=True),
            Column("Offset right", partial(self._number, FIRST_OFFSET + 1), number=True),
        )
        self.compared: ComparedPair | None = None
        self.order = -1, Qt.SortOrder.AscendingOrder
        self._keys: OrderedDict[int, list[str]] = OrderedDict()
        self._asked: set[int] = set()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.order = column, order
        self.resorted.emit()

    def show_compared(self, compared: ComparedPair | None, numbers: I64) -> None:
        self.compared = compared
        self._keys.clear()
        self._asked.clear()
        self.show_things(numbers)

    def take_keys(self, numbers: I64, page: int, keys: list[str]) -> None:
        """Store the keys of a page, unless other objects are shown meanwhile."""
        self._asked.discard(page)
        if self.things[page * PAGE : (page + 1) * PAGE].tolist() != numbers.tolist():
            return
        self._keys[page] = keys
        while len(self._keys) > MOST_PAGES:
            self._keys.popitem(last=False)
        self.change(page * PAGE, min((page + 1) * PAGE, len(self.things)) - 1, KEY)

    def text(self, row: int, column: int) -> str:
        if column != KEY:
            return super().text(row, column)
        page = row // PAGE
        if page in self._keys:
            return self._keys[page][row % PAGE]
        if page not in self._asked:
            self._asked.add(page)
            self.wanted.emit(page, self.things[page * PAGE : (page + 1) * PAGE])
        return "…"

    def _change(self, number: int) -> str:
        assert self.compared is not None
        kind = KINDS[self.compared.found.kinds[number]]
        return f"{SIGNS[kind]} {self.tr(kind.value)}"

    def _change_tip(self, number: int) -> str:
        why = self.compared.found.unread.get(int(number), "") if self.compared is not None else ""
        return "\n".join(part for part in (self._change(number), why) if part)

    def _number(self, column: int, number: int) -> str:
        assert self.compared is not None
        value = int(VALUES[column](self.compared)[number])
        return "–" if value < 0 else offset_words(value) if column >= FIRST_OFFSET else f"{value:,}"


def keys_of(compared: ComparedPair, numbers: I64, pair: ShardPair, _: Job) -> list[str]:
    """Return the keys of objects, `old → new` where they differ. Runs in a job."""
    sides: list[list[str]] = []
    for shard, rows in ((pair.first, compared.found.first[numbers]), (pair.second, compared.found.second[numbers])):
        texts = [""] * len(rows)
        there = np.flatnonzero(rows >= 0)
        for place, text in zip(there.tolist(), shard.objects.key_texts(rows[there]), strict=True):
            texts[place] = text or "–"
        sides.append(texts)
    return [f"{a} → {b}" if a and b and a != b else a or b for a, b in zip(*sides, strict=True)]


def sorted_numbers(compared: ComparedPair, numbers: I64, column: int, down: bool, pair: ShardPair, job: Job) -> I64:
    """Return object numbers sorted by a column. Runs in a job; the key column reads all keys."""
    if column == KEY:
        texts: list[str] = []
        for at in range(0, len(numbers), 1 << 14):
            job.check()
            texts += keys_of(compared, numbers[at : at + (1 << 14)], pair, job)
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    else:
        order = np.argsort(VALUES[column](compared)[numbers], kind="stable")
    return numbers[order[::-1] if down else order]


def value_text(value: Value | None) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case bytes():
            return value.hex(" ")
    return str(value)


FieldRow = tuple[str, Value | None, Value | None]


def _differs(row: FieldRow) -> bool:
    return row[1] != row[2]


def _bold(option: QStyleOptionViewItem, _: theme.Palette, row: FieldRow) -> None:
    option.font.setBold(_differs(row))


FIELD_COLUMNS = (
    Column("", lambda row: "≠" if _differs(row) else "=", spoken=lambda row: "different" if _differs(row) else "equal"),
    Column("Field", lambda row: row[0], 120, look=_bold),
    Column("Left", lambda row: value_text(row[1]), 60, look=_bold),
    Column("Right", lambda row: value_text(row[2]), 60, look=_bold, stretched=True),
)


def _member_size(size: int | None) -> str:
    return f"{size:,}" if size is not None else "–"


MEMBER_COLUMNS = (
    Column("Change", lambda member: f"{SIGNS[member.change]} {member.change.value}"),
    Column("Shard", lambda member: member.name, 120),
    Column("Bytes left", lambda member: _member_size(member.first), number=True),
    Column("Bytes right", lambda member: _member_size(member.second), number=True),
    Column(
        "Objects",
        lambda member: member.why or ", ".join(f"{n:,} {kind.value}" for kind, n in member.counts.items() if n),
        120,
        stretched=True,
    ),
)


_COMPARED = {
    DiffDepth.IDENTITY: "compared: ETags and sizes",
    DiffDepth.SIZES: "compared: keys and sizes",
    DiffDepth.CONTENTS: "compared: contents",
}


class DiffWindow(QDialog):
    tab_wanted = Signal(object, object)
    """Carries an `OpenRequest` to open in a tab, and the span to select or None."""

    def __init__(self, jobs: Jobs, requests: tuple[OpenRequest, OpenRequest], parent: QWidget) -> None:
        super().__init__(parent)
        self.jobs = DiffJobs(jobs, requests)
        self.jobs.setParent(self)
        self.compared: ComparedPair | None = None
        self._number: int | None = None
        made(self, "diffWindow", windowTitle=self.tr("{0} and {1}").format(*(request.name for request in requests)))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.bar = made(QScrollBar(Qt.Orientation.Vertical, self), "diffScroll")
        self.state = AlignedState(self.jobs, self.bar, self)
        self._make_tables()
        self._make_buttons()
        self._lay_out()
        self._connect()
        self.resize(1360, 860)

    def begin(self) -> None:
        """Open and compare both shards in a job; contents are only read if both are local."""
        self._run(contents=not self.jobs.remote)

    def _run(self, *, contents: bool) -> None:
        self._set_busy(True)
        self.say(self.tr("Comparing …"))
        self.jobs.begin(contents=contents)

    # --- making ---

    def minimumSizeHint(self) -> QSize:
        return QSize(600, 400)

    def _make_tables(self) -> None:
        self.objects = DiffObjectModel(self)
        self.fields, self.members = TableModel(self, FIELD_COLUMNS), TableModel(self, MEMBER_COLUMNS)
        self.table = RowTable(self.objects, self, "diffObjects", self.tr("Objects that differ"))
        fields = RowTable(self.fields, self, "diffFields", self.tr("Header fields"))
        members = RowTable(self.members, self, "diffShards", self.tr("Shards"))
        for table in (self.table, fields, members):
            made(table, alternatingRowColors=True, tabKeyNavigation=False)
        self.facts = made(QTabWidget(self), "diffFacts", documentMode=True)
        self.facts.addTab(fields, self.tr("Fields"))
        self.facts.addTab(members, self.tr("Shards"))
        self.facts.setTabVisible(1, False)

    def _make_buttons(self) -> None:
        self._damage = ""
        self.headline = made(Elided(greedy=True, parent=self), "diffHeadline", font=sized(self.font(), LARGE))
        self.line = made(Elided(greedy=True, parent=self), "diffLine")
        self.progress = made(QProgressBar(self), "diffProgress", accessibleName=self.tr("Progress"), textVisible=False)
        self.progress.setMaximumWidth(160)
        self.cancel = self._button(self.tr("&Cancel"), "diffCancel", "", self.jobs.cancel)
        hint = self.tr("Reads all contents from the server")
        run = partial(self._run, contents=True)
        self.contents = made(self._button(self.tr("Compare &contents"), "diffContents", hint, run), visible=False)
        back, forth = partial(self.state.step, back=True), partial(self.state.step, back=False)
        self.previous = self._button(
            self.tr("&Previous difference"), "diffPrevious", self.tr("Shift+F7, or Alt+Up"), back
        )
        self.next = self._button(self.tr("&Next difference"), "diffNext", self.tr("F7, or Alt+Down"), forth)
        for keys, act in (("F7", forth), ("Alt+Down", forth), ("Shift+F7", back), ("Alt+Up", back)):
            QShortcut(QKeySequence(keys), self, act)
        self.chips: dict[DiffKind, QToolButton] = {}
        for kind in KINDS:
            name, shown = f"diffChip{kind.value.capitalize()}", kind is not DiffKind.EQUAL
            chip = made(QToolButton(self), name, checkable=True, checked=shown, toggled=lambda _: self._fill())
            chip.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            chip.hide()
            self.chips[kind] = chip

    def _button(self, text: str, name: str, hint: str, act: Callable[[], object]) -> QPushButton:
        return made(QPushButton(text, self), name, toolTip=hint, autoDefault=False, clicked=lambda _: act())

    def _lay_out(self) -> None:
        objects = QWidget(self)
        chips = lay(QHBoxLayout(), *self.chips.values(), 1, spacing=6)
        lay(QVBoxLayout(objects), chips, (self.table, 1), spacing=4)
        above = self._split("diffAbove", Qt.Orientation.Horizontal, self.facts, objects, [420, 700])
        both = self._split("diffParts", Qt.Orientation.Vertical, above, self._make_bytes(), [300, 420])
        top = lay(QHBoxLayout(), (self.headline, 1), self.progress, self.cancel, self.contents, spacing=8)
        bottom = lay(QHBoxLayout(), (self.line, 1), self.previous, self.next, spacing=8)
        lay(QVBoxLayout(self), top, (both, 1), bottom, margins=(12, 10, 12, 10), spacing=8)

    def _split(
        self, name: str, orientation: Qt.Orientation, one: QWidget, other: QWidget, sizes: list[int]
    ) -> QSplitter:
        split = made(QSplitter(orientation, self), name, childrenCollapsible=False)
        split.addWidget(one)
        split.addWidget(other)
        split.setSizes(sizes)
        return split

    def _make_bytes(self) -> QWidget:
        below = QWidget(self)
        grid = grid_in(below, 6, 2)
        self.strips = [DiffStrip(self.state, side, self) for side in (0, 1)]
        self.views = [AlignedHexView(self.state, side, self) for side in (0, 1)]
        self.titles, self.tabs = [], []
        for side, request in enumerate(self.jobs.requests):
            title, names = Elided(greedy=True, parent=self), ("diffTitleLeft", "diffTitleRight")
            title.setObjectName(names[side])
            title.set_text(titled(request))
            tab = self._button(
                (self.tr("Open &left in tab"), self.tr("Open &right in tab"))[side],
                ("diffTabLeft", "diffTabRight")[side],
                self.tr("Opens the file at the selected bytes"),
                partial(self._open_tab, side),
            )
            self.titles.append(title)
            self.tabs.append(tab)
            grid.addLayout(lay(QHBoxLayout(), (title, 1), tab, spacing=6), 0, side)
            grid.addWidget(self.strips[side], 1, side)
            grid.addWidget(self.views[side], 2, side)
            grid.setColumnStretch(side, 1)
        grid.addWidget(self.bar, 2, 2)
        grid.setRowStretch(2, 1)
        return below

    def _connect(self) -> None:
        for signal, slot in (
            (self.jobs.compared, self._take),
            (self.jobs.failed, lambda words: self._stopped(words, error=True)),
            (self.jobs.cancelled, lambda: self._stopped(self.tr("Cancelled"))),
            (self.jobs.progressed, self._progressed),
            (self.table.selectionModel().currentRowChanged, self._row_chosen),
            (self.objects.wanted, self._ask_keys),
            (self.objects.resorted, self._fill),
            (self.state.chosen, self._show_run),
            (self.state.counted, lambda: self.headline.set_text(self._verdict())),
            (self.state.failed, lambda words: self.say(words, error=True)),
        ):
            signal.connect(slot)

    # --- result ---

    def _take(self, compared: ComparedPair) -> None:
        self.compared = compared
        found = compared.found
        self._set_busy(False)
        self.headline.set_text(self._verdict())
        self.contents.setVisible(found.compared is DiffDepth.SIZES)
        self.fields.show_things(compared.fields)
        self.members.show_things(found.shards)
        self.facts.setTabVisible(1, bool(found.shards))
        for kind, chip in self.chips.items():
            chip.setText(f"{SIGNS[kind]} {self.tr(kind.value).capitalize()} {found.counts[kind]:,}")
            chip.setToolTip(size_text(found.sizes[kind]))
            chip.setVisible(bool(found.counts[kind]))
        self._fill()
        names = self._first_names(compared)
        self._damage = compared.damage(request.name for request in self.jobs.requests)
        self.say(self._damage, error=True)
        if names is None and not self._damage:
            self.say(self.tr("No shard in common. Select an object to see its bytes."))
        if names is not None:
            self.jobs.align(found, names, self._show_bytes)

    def _verdict(self) -> str:
        compared = self.compared
        assert compared is not None
        found = compared.found
        differing = sum(row[1] != row[2] for row in compared.fields)
        words = self.tr("Objects equal") if found.equal else self.tr("Objects differ")
        if compared.pair.first.damage or compared.pair.second.damage:
            words = self.tr("Damaged, partly compared")
        elif found.equal and self.state.runs and not found.across:
            words = self.tr("Objects equal, bytes differ")
        fields = plural(differing, "field differs", "fields differ") if differing else self.tr("fields equal")
        runs = [plural(self.state.runs, "difference")] if self.state.runs else []
        return " · ".join([words, fields, *runs, self.tr(_COMPARED[found.compared])])

    @staticmethod
    def _first_names(compared: ComparedPair) -> tuple[str, str] | None:
        members = [columns.members for columns in compared.columns]
        if members == [("",), ("",)]:
            return "", ""
        both = [one for one in compared.found.shards if one.first is not None and one.second is not None]
        best = next((one for one in both if one.change is not DiffKind.EQUAL), both[0] if both else None)
        return (best.name, best.name) if best is not None else None

    def _fill(self) -> None:
        compared = self.compared
        if compared is None:
            return
        kinds = [CODES[kind] for kind, chip in self.chips.items() if chip.isChecked()]
        found = compared.found
        equal = np.flatnonzero(found.kinds == CODES[DiffKind.EQUAL])
        every = np.concatenate([found.differing, equal])
        numbers = every[np.isin(found.kinds[every], kinds)]
        column, order = self.objects.order
        if column < 0:
            self.objects.show_compared(compared, numbers)
            return
        work = partial(sorted_numbers, compared, numbers, column, order is Qt.SortOrder.DescendingOrder)
        self.jobs.ask(work, partial(self.objects.show_compared, compared), key="order", pool=Pool.CPU)

    def _ask_keys(self, page: int, numbers: NDArray[np.int64]) -> None:
        compared = self.compared
        assert compared is not None
        take = partial(self.objects.take_keys, numbers, page)
        self.jobs.ask(partial(keys_of, compared, numbers), take, key=f"keys {page}")

    def _row_chosen(self, now: QModelIndex) -> None:
        if now.isValid():
            self.choose(int(self.objects.things[now.row()]))

    def choose(self, number: int) -> None:
        compared = self.compared
        assert compared is not None
        self._number = number
        names, shown = [], self.state.sides
        for side, rows in enumerate((compared.found.first, compared.found.second)):
            columns = compared.columns[side]
            names.append(columns.members[int(columns.member[number])] if rows[number] >= 0 else "")
        if "" in names and names != ["", ""]:
            # One side does not have the object: show its shard of the same name, if any.
            name = names[0] or names[1]
            if not all(name in columns.members for columns in compared.columns):
                self.say(self.tr("{0} exists on one side only").format(name))
                return
            names = [name, name]
        self.say(self._damage, error=True)
        if shown is not None and shown.names == (names[0], names[1]):
            self._go()
        else:
            self.jobs.align(compared.found, (names[0], names[1]), self._show_bytes)

    def _show_bytes(self, sides: BytesSideBySide) -> None:
        self.state.show_bytes(sides)
        for title, request, name in zip(self.titles, self.jobs.requests, sides.names, strict=True):
            title.set_text(" › ".join(part for part in (titled(request), name) if part))
        if not self.jobs.remote or (self.compared and self.compared.found.compared is DiffDepth.CONTENTS):
            if self._number is None:
                self.state.step(back=False)
            self.state.count()
        if self._number is not None:
            self._go()

    def _go(self) -> None:
        compared, number = self.compared, self._number
        if compared is None or number is None:
            return
        for side, columns in enumerate(compared.columns):
            if columns.start[number] >= 0:
                self.state.go_to(side, int(columns.start[number]))
                return

    def _show_run(self, run: DiffRun | None) -> None:
        if run is not None:
            parts = [range_words(*place) for place in (run.first, run.second)]
            words = self.tr("Difference at {0} on the left, {1} on the right").format(*parts)
        else:
            words = self.tr("No more differences") if self.state.row else self.tr("No differences")
        self.say("; ".join(part for part in (self._damage, words) if part), error=bool(self._damage))

    def _open_tab(self, side: int) -> None:
        sides, offset = self.state.sides, self.state.offsets_at(self.state.row)[side]
        run, span = self.state.run, None
        if sides is not None and offset >= 0:
            start, stop = (run.first, run.second)[side] if run is not None else (offset, offset + 1)
            span = Span(sides.names[side], start, max(stop, start + 1))
        self.tab_wanted.emit(self.jobs.requests[side], span)

    # --- state ---

    def say(self, words: str, *, error: bool = False) -> None:
        self.line.set_text(grouped(words))
        theme.write_in(self.line, "error" if error else "muted")

    def _set_busy(self, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.progress.setRange(0, 0 if busy else 1)
        self.cancel.setVisible(busy)
        self.contents.setEnabled(not busy)
        for button in (self.next, self.previous, *self.tabs):
            button.setEnabled(not busy)

    def _progressed(self, job: Job) -> None:
        if job.total_amount:
            show_progress(self.progress, job)

    def _stopped(self, words: str, *, error: bool = False) -> None:
        self._set_busy(False)
        self.say(words, error=error)
        if self.compared is None:
            self.headline.set_text(self.tr("Not compared"))
            for button in (self.next, self.previous):
                button.setEnabled(False)

    def done(self, result: int) -> None:
        self.jobs.stop()
        super().done(result)


def titled(request: OpenRequest) -> str:
    sandbox = QCoreApplication.translate("DiffWindow", " (sandbox)") if request.sandbox else ""
    return f"{request.shown}{sandbox}"
