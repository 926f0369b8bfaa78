"""Charts of the open file. A job counts the data of a chart when it is shown, and again after the index is loaded."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import DataSet, Shard, Span
from shardcore.dataclasses import dataclass, field
from shardcore.errors import source_lost
from shardcore.model.text import plural, shown, size_text
from shardcore.model.usage import Load, Share
from shardcore.progress import Progress
from shardcore.teaching.charts import FEW_PLACES, Chart, Sizes, load_chart, many, object_sizes, spread_chart
from shardscope.learning.charts.byte_shares_view import BudgetView
from shardscope.learning.charts.plot import Plot
from shardscope.session.display_text import error_text, grouped
from shardscope.session.index import whole
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.session import IndexState, Session
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.wrap_text import WrapText

CHEAP = 64 << 20
"""Maximum number of bytes that a chart reads from a local file without asking the user."""


class ChartKind(Enum):
    BUDGET = "budget"
    SIZES = "sizes"
    LOAD = "load"


@dataclass(frozen=True, slots=True)
class ChartData:
    """Data of a chart. `cost` is the number of bytes to read if the user must agree to that first, else 0."""

    shares: tuple[Share, ...] = ()
    chart: Chart | None = None
    second: Chart | None = None
    why: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    chosen: str = ""
    cost: int = 0
    lost: bool = False
    act: Callable[[int, int], BinTarget] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BinTarget:
    """Description of a range of bins, and what a click on it shows: filtered objects, one row, or bytes."""

    words: str
    filter: str = ""
    row: int | None = None
    place: tuple[int, int] | None = None


def count_budget(shard: Shard, progress: Progress, *, remote: bool, agreed: bool) -> ChartData:
    if not isinstance(shard, DataSet):
        shares = shard.byte_shares
        return ChartData(shares) if shares else ChartData(why="The file has no bytes.")
    if not shard.listed and not agreed:
        return ChartData(why="The files of this data set are not listed yet. Load the index to see how large they are.")
    cost = 0 if shard.loaded else min(shard.index_bytes, whole(shard))
    if cost > (0 if remote else CHEAP) and not agreed:
        why = f"Byte budget: reading the index of each file reads up to {cost:,} bytes."
        return ChartData(why=why, cost=cost)
    return ChartData(shard.count_shares(progress))


def count_sizes(shard: Shard, kind: str, progress: Progress) -> ChartData:
    if not shard.loaded:
        return ChartData(why="Load the index to see the sizes of the objects.")
    sizes = object_sizes(shard.objects, kind, progress)
    kinds = tuple((kind, f"{kind} ({count:,})") for kind, count in sizes.kinds) if len(sizes.kinds) > 1 else ()
    data = partial(ChartData, choices=kinds, chosen=sizes.kind)
    if not sizes.objects:
        return data(why="The sizes of the objects are unknown." if sizes.unknown else "There are no objects.")
    return data(chart=sizes.chart(), act=partial(_size_target, sizes))


def _size_target(sizes: Sizes, first: int, last: int) -> BinTarget:
    low, high = int(sizes.edges[first]), int(sizes.edges[last]) - 1
    if last == len(sizes.counts):
        # The last bin of a histogram includes its upper edge.
        high = max(high, sizes.largest)
    count = int(sizes.counts[first:last].sum())
    noun = sizes.kind if count == 1 else many(sizes.kind)
    between = f"{low:,} bytes" if low == high else f"{low:,} to {high:,} bytes"
    words = f"{between}: {count:,} {noun}"
    name = "stored" if sizes.stored else "size"
    rule = f"{name}:{low}..{high}"
    return BinTarget(words, f"kind:{sizes.kind} {rule}" if len(sizes.kinds) > 1 else rule)


def count_load(shard: Shard, name: str, progress: Progress, *, remote: bool, agreed: bool) -> ChartData:
    sources = shard.loads
    if not sources:
        return ChartData(why=shard.no_loads)
    chosen = next((source for source in sources if source.name == name), sources[0])
    choices = tuple((source.name, source.title) for source in sources) if len(sources) > 1 else ()
    data = partial(ChartData, choices=choices, chosen=chosen.name)
    if chosen.reads and isinstance(shard, DataSet) and not shard.listed and not agreed:
        return data(why=f"{chosen.title}: the files of this data set are not listed yet. Load the index to count them.")
    cost = min(chosen.reads, whole(shard))
    if cost > (0 if remote else CHEAP) and not agreed:
        return data(why=f"{chosen.title}: counting them reads up to {cost:,} bytes.", cost=cost)
    load = chosen.make(progress)
    chart = load_chart(load)
    if not load.places or not load.total:
        return data(why=f"{load.title}: there is nothing to count.")
    return data(chart=chart, second=spread_chart(load), act=partial(_load_target, load, chart))


def _load_target(load: Load, chart: Chart, first: int, last: int) -> BinTarget:
    low, high = int(chart.edges[first]), int(chart.edges[last])
    count = int(load.counts[low:high].sum())
    things = f"{count:,} {load.thing if count == 1 else many(load.thing)}"
    if high - low == 1:
        name = load.names[low] if load.names else f"{low:,}"
        words = f"{load.place} {name}: {things}"
    else:
        words = f"{many(load.place)} {low:,} to {high - 1:,}: {things}"
    rows, place = load.rows_in(low, high), load.bytes_in(low, high)
    if rows is not None and rows[1] > rows[0]:
        only = rows[0] if rows[1] - rows[0] == 1 else None
        text = f"row:{rows[0]}" if only is not None else f"row:{rows[0]}..{rows[1] - 1}"
        return BinTarget(words, text, only, place)
    if load.key_prefixes and high - low == 1:
        return BinTarget(words, load.key_prefixes[low], None, place)
    return BinTarget(words, "", None, place)


def spread_target(chart: Chart, first: int, last: int) -> BinTarget:
    low, high = int(chart.edges[first]), int(chart.edges[last]) - 1
    count = int(chart.values[first:last].sum())
    amount = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    ideal = f"; {chart.ideal_name} {chart.ideal[first:last].sum():,.1f}" if chart.ideal is not None else ""
    return BinTarget(f"{amount} {chart.x}: {count:,} {chart.y}{ideal}")


LOW = 230


class ChartPages(QWidget):
    spoken_role = QAccessible.Role.Grouping

    filter_wanted = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Charts"))
        self._session = session
        self._found: dict[ChartKind, ChartData] = {}
        self._wanted: dict[ChartKind, str] = {}
        self._agreed: set[tuple[ChartKind, str]] = set()
        self._by_number: bool | None = None
        self._soon = Debounce(self, self._count)
        self._build()
        session.opened.connect(self._forget)
        session.closed.connect(self._forget)
        session.index.loaded.connect(self._forget_counts)
        session.index.changed.connect(self._show)
        session.notation_changed.connect(self._show)

    def _build(self) -> None:
        self.kinds = made(QComboBox(), "chartKind", accessibleName=self.tr("Charts"))
        for number, (kind, name, meaning) in enumerate(
            (
                (ChartKind.BUDGET, self.tr("Bytes"), self.tr("Use of the bytes of the file")),
                (ChartKind.SIZES, self.tr("Sizes"), self.tr("Sizes of the objects")),
                (ChartKind.LOAD, self.tr("Load"), self.tr("Number of objects per slot, minishard, xorb or file")),
            )
        ):
            self.kinds.addItem(name, kind)
            self.kinds.setItemData(number, meaning, Qt.ItemDataRole.ToolTipRole)
        self.choice = made(QComboBox(), "chartChoice", accessibleName=self.tr("Chart data"))
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        turns = self.tr("Show how many slots or shards have each load, and how many would by chance")
        self.turn = made(QToolButton(), "chartTurn", checkable=True, text=self.tr("Spread"), toolTip=turns)
        self.title, self.note, self.why = WrapText(bold=True), WrapText(tone="muted"), WrapText(tone="muted")
        self.budget, self.plot, empty = BudgetView(), Plot(), QWidget()
        self.read_out = made(Elided(greedy=True), "chartReadOut")
        self.more = made(QPushButton(), "chartMore")
        lay(QVBoxLayout(empty), self.why, 1, margins=(0, 8, 0, 8), spacing=-1)
        self.pages = QStackedWidget()
        self.pages.setMinimumSize(0, 0)
        for page in (self.budget, self.plot, empty):
            self.pages.addWidget(page)
        self.choices = QWidget()
        lay(QHBoxLayout(self.choices), (self.choice, 1), self.turn, spacing=6)
        head = lay(QHBoxLayout(), self.kinds, (self.choices, 1), 0, spacing=6)
        column = head, self.title, (self.pages, 1), self.read_out, self.note, self.more
        layout = lay(QVBoxLayout(self), *column, margins=(10, 6, 10, 6), spacing=6)
        layout.setAlignment(self.more, Qt.AlignmentFlag.AlignLeft)
        self.setFocusProxy(self.kinds)
        self.kinds.currentIndexChanged.connect(lambda _: self._turn_to())
        self.choice.activated.connect(self._choose)
        self.turn.toggled.connect(self._turn_round)
        self.more.clicked.connect(lambda _=False: self._read_more())
        self.budget.chosen.connect(self._go_to_share)
        self.plot.pointed.connect(self._point)
        self.plot.chosen.connect(self._go_to_bins)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (event.size().height() < LOW) != (event.oldSize().height() < LOW):
            self._make_room()

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 120)

    # --- counting ---

    @property
    def kind(self) -> ChartKind:
        return ChartKind(self.kinds.currentData())

    @property
    def found(self) -> ChartData | None:
        return self._found.get(self.kind)

    @property
    def chart(self) -> Chart | None:
        found = self.found
        return None if found is None else found.second if self._counts_places(found) else found.chart

    def _counts_places(self, found: ChartData) -> bool:
        if found.second is None or found.chart is None:
            return False
        return len(found.chart) > FEW_PLACES if self._by_number is None else self._by_number

    def _forget(self, *_: object) -> None:
        self._wanted.clear()
        self._agreed.clear()
        self._by_number = None
        self._forget_counts(anew=False)

    def _forget_counts(self, *, anew: bool = True) -> None:
        self._found.clear()
        self._show()
        self._count(anew=anew)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.kind not in self._found:
            self._soon.start()

    def _turn_to(self) -> None:
        self._by_number = None
        self._show()
        self._count()

    def _count(self, *, anew: bool = False) -> None:
        kind, chosen = self.kind, self._wanted.get(self.kind, "")
        if self.visibleRegion().isEmpty() or self._session.shard is None or kind in self._found:
            return
        if not anew and self._session.jobs.newest(("chart", kind, self)) is not None:
            return
        remote, agreed = self._session.request.is_remote, (kind, chosen) in self._agreed

        def work(shard: Shard, job: Job) -> ChartData:
            if kind is ChartKind.BUDGET:
                return count_budget(shard, job.progress, remote=remote, agreed=agreed)
            if kind is ChartKind.SIZES:
                return count_sizes(shard, chosen, job.progress)
            return count_load(shard, chosen, job.progress, remote=remote, agreed=agreed)

        self._session.ask(
            work,
            partial(self._take, kind),
            failed=lambda error: self._take(kind, ChartData(why=error_text(error), lost=source_lost(error))),
            stopped=lambda: self._stopped(kind, chosen),
            key=("chart", kind, self),
            pool=Pool.CPU,
            priority=JobPriority.PREFETCH,
            title=self.tr("Reading all bytes for a chart") if agreed else "",
        )

    def _take(self, kind: ChartKind, found: ChartData) -> None:
        self._found[kind] = found
        if kind is self.kind:
            self._show()

    def _stopped(self, kind: ChartKind, chosen: str) -> None:
        if self._session.jobs.newest(("chart", kind, self)) is None:
            self._agreed.discard((kind, chosen))
            self._count()

    # --- showing ---

    def _show(self, *_: object) -> None:
        if not self.isVisible():
            return
        found, chart, shard = self.found, self.chart, self._session.shard
        shares = found.shares if found is not None else ()
        why = found.why if found is not None else self.tr("Counting …")
        self.why.set_text(grouped(why) if shard is not None else self.tr("Open a shard to see the use of its bytes."))
        title = note = ""
        if shares:
            title = self.tr("{0} by use").format(plural(sum(share.size for share in shares), "byte"))
            note = self.tr("Click a row to go to its bytes, or to the first of several ranges.")
            self.budget.show_shares(shares)
        elif chart is not None:
            title, note = grouped(shown(chart.title)), grouped(chart.note)
            note += self.tr(" Dashed: {0}.").format(chart.ideal_name) if chart.ideal is not None else ""
        self.title.set_text(title)
        self.note.set_text(note)
        if not shares:
            self.plot.show_chart(chart)
        self.pages.setCurrentIndex(0 if shares else 1 if chart is not None else 2)
        self.read_out.setText(self._hint())
        self.read_out.setVisible(chart is not None)
        self._make_room()
        self._show_choices(found)
        self._show_more(found, shard)

    def _make_room(self) -> None:
        low, there = self.height() < LOW, bool(self.title.text)
        for part in (self.title, self.note):
            part.setVisible(there and not low)
        self.budget.horizontalHeader().setVisible(not low)
        self.pages.setToolTip(f"{self.title.text}\n{self.note.text}" if there and low else "")

    def _hint(self) -> str:
        return self.tr("Click a bar, or drag over several.") if self.chart is not None else ""

    def _show_choices(self, found: ChartData | None) -> None:
        choices = dict(found.choices) if found is not None else {}
        names, second = list(choices), found is not None and found.second is not None
        if [self.choice.itemData(n) for n in range(self.choice.count())] != names:
            self.choice.clear()
            for name, title in choices.items():
                self.choice.addItem(shown(title), name)
        if found is not None and found.chosen in names:
            self.choice.setCurrentIndex(names.index(found.chosen))
        self.choice.setVisible(bool(choices))
        self.turn.setVisible(second)
        with QSignalBlocker(self.turn):
            self.turn.setChecked(found is not None and self._counts_places(found))
        self.choices.setVisible(bool(choices) or second)

    def _show_more(self, found: ChartData | None, shard: Shard | None) -> None:
        loading, text = False, ""
        if found is not None and found.lost:
            text = self.tr("Retry")
        elif found is not None and found.cost:
            text = self.tr("Read and count ({0})").format(size_text(found.cost))
        elif found is not None and found.why and self.kind is not ChartKind.LOAD and shard and not shard.loaded:
            loading = self._session.index.state is IndexState.LOADING
            text = self.tr("The index is being read …") if loading else self.tr("Load index")
        self.more.setText(text)
        self.more.setEnabled(not loading)
        self.more.setVisible(bool(text))

    # --- choosing ---

    def _choose(self, number: int) -> None:
        self._wanted[self.kind] = str(self.choice.itemData(number))
        self._by_number = None
        self._found.pop(self.kind, None)
        self._count(anew=True)

    def _turn_round(self, by_number: bool) -> None:
        self._by_number = by_number
        self._show()

    def _read_more(self) -> None:
        found, kind = self.found, self.kind
        if found is None or self._session.shard is None:
            return

        def again() -> None:
            self._found.pop(kind, None)
            self._show()
            self._count(anew=True)

        def agreed() -> None:
            self._agreed.add((kind, self._wanted.get(kind, "")))
            again()

        if found.lost:
            again()
        elif found.cost:
            self._session.with_consent(found.why.partition(":")[0], found.cost, agreed)
        else:
            self._session.index.want()

    def _target(self, first: int, last: int) -> BinTarget | None:
        found, chart = self.found, self.chart
        if found is None or chart is None or not 0 <= first < last <= len(chart):
            return None
        if chart is found.second:
            return spread_target(chart, first, last)
        return found.act(first, last) if found.act is not None else None

    def _point(self, first: int, last: int) -> None:
        target = self._target(first, last)
        self.read_out.setText(shown(target.words) if target is not None else self._hint())

    def _go_to_bins(self, first: int, last: int) -> None:
        target = self._target(first, last)
        if target is None:
            return
        if target.filter:
            self.filter_wanted.emit(target.filter)
        if target.row is not None:
            self._session.select_row(target.row, self)
        elif target.place is not None and not target.filter:
            self._session.select_span(Span("", *target.place), self)

    def _go_to_share(self, share: Share) -> None:
        if share.span is not None:
            self._session.select_span(share.span, self)
