"""Array as a picture or as numbers, with value range and colours; each element is linked to its bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLocale, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QDoubleValidator, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import ArrayContent, LimitExceeded, ObjectRef, Shard
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.text import number_text
from shardcore.operations.content.arrays import label_colours
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, ItemLinks, Preview, button, choice, row, selected_cells
from shardscope.views.preview.picture_view import PictureFrame, PlaneView, ZoomBar
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.fonts import SMALL, mono
from shardscope.widgets.layouts import discard, lay, made
from shardscope.widgets.table import Column, TableModel

LOOKS = ("Grey", "Viridis", "Magma", "Labels", "Numbers")
GREY, VIRIDIS, MAGMA, LABELS, NUMBERS = range(len(LOOKS))

MOST_COLUMNS = 1000

_CHANNELS = 4
_LONG = 200
_MEASURED = 50

BINS = 128
"""Number of bins of the histogram; fewer for a small range of integers."""

SAMPLE = 1 << 20
"""Maximum number of elements for histogram and percentiles."""

NAN = 0xFFB0306A
"""ARGB colour of NaN."""

_ROWS = 1 << 20
_LARGE = 1e30


@dataclass(frozen=True, slots=True)
class ArrayStatistics:
    """Range, 1st and 99th percentile (`auto`) and histogram of the finite elements; `odd` counts the others."""

    low: float = 0.0
    high: float = 1.0
    auto: tuple[float, float] = (0.0, 1.0)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    odd: int = 0


def scalars(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "c":
        magnitude: NDArray[Any] = np.abs(array)
        return magnitude
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def is_pictured(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iufbc"


def statistics_of(array: NDArray[Any]) -> ArrayStatistics:
    if not is_pictured(array.dtype) or not array.size:
        return ArrayStatistics()
    flat = array.reshape(-1, order="A")
    sample = scalars(flat[:: -(-len(flat) // SAMPLE)])
    kept = sample[np.isfinite(sample)] if sample.dtype.kind == "f" else sample
    if not kept.size:
        return ArrayStatistics(odd=array.size)
    low, high, odd = float(kept.min()), float(kept.max()), 0
    for start in range(0, len(flat), _ROWS):
        block = scalars(flat[start : start + _ROWS])
        if block.dtype.kind == "f":
            finite = np.isfinite(block)
            odd += len(block) - int(np.count_nonzero(finite))
            block = block[finite]
        if block.size:
            low, high = min(low, float(block.min())), max(high, float(block.max()))
    whole = kept.dtype.kind in "iu" and high - low < BINS
    bins = int(high - low) + 1 if whole else BINS
    values = kept.astype(np.float64)
    # The difference of distant bounds overflows, so halve them first.
    spread = high / 2 - low / 2
    share = (values / 2 - low / 2) / spread if spread else np.zeros(len(values))
    counts = np.bincount(np.minimum((share * bins).astype(np.int64), bins - 1), minlength=bins)
    first, last = np.percentile(values, (1, 99))
    auto = (float(first), float(last)) if first < last else (low, high)
    return ArrayStatistics(low, high, auto, counts.astype(np.int64), odd)


# Sampled colour maps, to avoid the slow import of a plotting library.
_MAPS = {
    "grey": (0x000000, 0xFFFFFF),
    "viridis": (
        0x440154, 0x482878, 0x3E4A89, 0x31688E, 0x26828E, 0x1F9E89, 0x35B779, 0x6DCD59, 0xB4DE2C, 0xFDE725
    ),
    "magma": (0x000004, 0x1C1044, 0x4F127B, 0x812581, 0xB5367A, 0xE55064, 0xFB8761, 0xFEC287, 0xFCFDBF),
}  # fmt: skip


@functools.cache
def colour_table(name: str) -> NDArray[np.uint32]:
    steps = np.array(_MAPS[name], np.uint32)
    places, at = np.linspace(0, 255, len(steps)), np.arange(256)
    table = np.full(256, 0xFF000000, np.uint32)
    for shift in (0, 8, 16):
        channel = np.interp(at, places, (steps >> np.uint32(shift)) & np.uint32(0xFF))
        table |= np.rint(channel).astype(np.uint32) << np.uint32(shift)
    return table


def level_colours(plane: NDArray[Any], low: float, high: float, name: str = "grey") -> NDArray[np.uint32]:
    """Return the ARGB pixels of a plane of shape `(rows, columns)`; values are clipped to `low` and `high`."""
    table = colour_table(name)
    if plane.dtype.itemsize == 1:
        # Use a table of the 256 possible values.
        values = scalars(np.arange(256, dtype=np.uint8).view(plane.dtype))
        return table[_shades(values, low, high)][plane.view(np.uint8)]
    pixels = np.empty(plane.shape, np.uint32)
    step = max(_ROWS // max(plane.shape[1], 1), 1)
    for first in range(0, len(plane), step):
        block = scalars(plane[first : first + step])
        shades = table[_shades(block, low, high)]
        if block.dtype.kind == "f":
            shades[np.isnan(block)] = NAN
        pixels[first : first + step] = shades
    return pixels


def _shades(block: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    if not high > low:
        return (block >= high).astype(np.uint8) * np.uint8(255)
    # Halve first: the difference of distant bounds overflows.
    wide = block.dtype.itemsize > 4 or max(abs(low), abs(high)) > _LARGE
    values: NDArray[np.floating[Any]] = block.astype(np.float64 if wide else np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        values *= 0.5
        values -= low / 2
        values *= 255 / (high / 2 - low / 2)
        np.clip(values, 0, 255, out=values)
        values += 0.5
    np.nan_to_num(values, copy=False, nan=0.0)
    return values.astype(np.uint8)


class Histogram(QWidget):
    levels_changed = Signal(float, float)
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "previewHistogram", accessibleName=self.tr("Histogram"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self._statistics = ArrayStatistics()
        self._levels = (0.0, 1.0)
        self._dragged = -1

    def sizeHint(self) -> QSize:
        return QSize(120, 30)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, 30)

    def show_statistics(self, statistics: ArrayStatistics, low: float, high: float) -> None:
        self._statistics, self._levels = statistics, (low, high)
        odd = self._statistics.odd
        self.setToolTip(self.tr("{0} elements are not finite").format(f"{odd:,}") if odd else "")
        self.update()

    def _x(self, value: float) -> float:
        one = self._statistics
        spread = one.high / 2 - one.low / 2
        share = (value / 2 - one.low / 2) / spread if spread else 0.5
        return 3 + min(max(share, 0.0), 1.0) * (self.width() - 6)

    def _value(self, x: float) -> float:
        one = self._statistics
        share = min(max((x - 3) / max(self.width() - 6, 1), 0.0), 1.0)
        return one.low * (1 - share) + one.high * share

    def paintEvent(self, event: QPaintEvent) -> None:
        colours, counts = theme.of(self), self._statistics.counts
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.fillRect(area, colours.base)
        # Logarithmic, so that rare values are visible.
        heights = np.log1p(counts) / max(float(np.log1p(counts.max())), 1.0)
        wide = (area.width() - 6) / len(counts)
        low, high = (self._x(value) for value in self._levels)
        for number, height in enumerate(heights.tolist()):
            left = area.left() + 3 + number * wide
            inside = low <= left + wide / 2 <= high
            tall = height * (area.height() - 4)
            if tall:
                box = QRectF(left, area.bottom() - 1 - tall, max(wide, 1.0), tall)
                painter.fillRect(box, colours.muted if inside else colours.faint)
        painter.setPen(QPen(colours.accent, 2))
        for x in (low, high):
            painter.drawLine(QPointF(x, area.top() + 1), QPointF(x, area.bottom() - 1))
        painter.setPen(QPen(colours.border, 1))
        painter.drawRect(area)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            x = event.position().x()
            apart = [abs(self._x(value) - x) for value in self._levels]
            self._dragged = 0 if apart[0] < apart[1] or (apart[0] == apart[1] and x < self._x(self._levels[0])) else 1
            self._drag(x)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged >= 0:
            self._drag(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged = -1

    def _drag(self, x: float) -> None:
        value, (low, high) = self._value(x), self._levels
        low, high = (min(value, high), high) if self._dragged == 0 else (low, max(value, low))
        self.levels_changed.emit(low, high)


def level_text(value: float) -> str:
    return number_text(value) if float(value).is_integer() else f"{value:.5g}"


class LevelsBar(QWidget):
    levels_changed = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("previewLevels")
        self._statistics = ArrayStatistics()
        self.levels = (0.0, 1.0)
        self.histogram = made(Histogram(), levels_changed=self.set_levels)
        self.low = self._field("previewLow", self.tr("Lowest value of the colour scale"))
        self.high = self._field("previewHigh", self.tr("Highest value of the colour scale"))
        # The owner puts these buttons into its layout.
        tip = self.tr("From 1 % to 99 % of the elements")
        self.auto = button("previewAuto", self.tr("Auto"), lambda: self.set_levels(*self._statistics.auto), tip=tip)
        tip = self.tr("From the minimum to the maximum")
        all_levels = lambda: self.set_levels(self._statistics.low, self._statistics.high)  # noqa: E731
        self.whole = button("previewAllLevels", self.tr("All"), all_levels, tip=tip)
        self.setLayout(row(self.low, self.histogram, self.high))

    def _field(self, name: str, spoken: str) -> QLineEdit:
        line = made(QLineEdit(), name, accessibleName=spoken, toolTip=spoken)
        validator = QDoubleValidator(line)
        # Use a decimal point in every locale.
        validator.setLocale(QLocale.c())
        line.setValidator(validator)
        line.setFixedWidth(line.fontMetrics().horizontalAdvance("-0.0000e-00") + 18)
        return made(line, editingFinished=self._typed)

    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        for part in (self.auto, self.whole):
            part.setVisible(visible)

    def show_statistics(self, statistics: ArrayStatistics, levels: tuple[float, float]) -> None:
        self._statistics, self.levels = statistics, levels
        self._fill()

    def set_levels(self, low: float, high: float) -> None:
        self.levels = low, high
        self._fill()
        self.levels_changed.emit(low, high)

    def _fill(self) -> None:
        low, high = self.levels
        self.low.setText(level_text(low))
        self.high.setText(level_text(high))
        for line in (self.low, self.high):
            line.setCursorPosition(0)
        self.histogram.show_statistics(self._statistics, low, high)

    def _typed(self) -> None:
        try:
            low, high = float(self.low.text()), float(self.high.text())
        except ValueError:
            self._fill()
            return
        shown = tuple(float(level_text(value)) for value in self.levels)
        if low <= high and (low, high) != shown:
            self.set_levels(low, high)
        else:
            self._fill()


class AxisSliders(QGridLayout):
    """A slider and a number field for each axis that is not in the picture; `sliders` has the axis numbers as keys."""

    def __init__(self, names: tuple[str, str], spoken: str) -> None:
        super().__init__()
        self.setContentsMargins(8, 2, 8, 4)
        self.setHorizontalSpacing(8)
        self._names, self._spoken = names, spoken
        self.sliders: dict[int, QSlider] = {}

    def clear(self) -> None:
        while (item := self.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                discard(widget)
        self.sliders.clear()

    def add(self, axis: int, name: str, ends: tuple[int, int], value: int, moved: Callable[[int], object]) -> None:
        """Add the slider of an axis (-1: channels); `ends` are its first and last position."""
        slider, box = QSlider(Qt.Orientation.Horizontal), QSpinBox()
        # Without its buttons, the spin box has room for the number.
        box.setStyleSheet("QSpinBox::up-button, QSpinBox::down-button { width: 0; border: none; }")
        box.setAlignment(Qt.AlignmentFlag.AlignCenter)
        box.setFixedWidth(max(box.fontMetrics().horizontalAdvance(f"{end}") for end in (ends[0], ends[1] + 1)) + 36)
        for kind, one in zip(self._names, (slider, box), strict=True):
            made(one, f"{kind}{axis if axis >= 0 else 'Channel'}", accessibleName=self._spoken.format(name))
        slider.setRange(*ends)
        box.setRange(*ends)
        slider.setValue(value)
        box.setValue(value)
        slider.valueChanged.connect(box.setValue)
        box.valueChanged.connect(slider.setValue)
        slider.valueChanged.connect(moved)
        line = self.rowCount()
        for place, widget in enumerate((QLabel(name), slider, box)):
            self.addWidget(widget, line, place)
        self.sliders[axis] = slider


def offer_planes(
    axes: QComboBox, pairs: Sequence[tuple[int, int]], name: Callable[[int], str], current: int = 0
) -> None:
    with QSignalBlocker(axes):
        axes.clear()
        for across, down in pairs:
            axes.addItem(f"{name(across)} × {name(down)}" if down != across else name(across), (across, down))
        axes.setCurrentIndex(current)
    axes.setVisible(len(pairs) > 1)


class NumbersModel(TableModel):
    def __init__(self) -> None:
        super().__init__()
        self.plane: NDArray[Any] = np.zeros((0, 0))

    def show_plane(self, plane: NDArray[Any]) -> None:
        self.plane = plane
        count = min(plane.shape[1], MOST_COLUMNS)
        self.columns = [Column(f"{at}", partial(self._element, at), number=True) for at in range(count)]
        self.show_things(range(len(plane)))

    def _element(self, column: int, row: int) -> str:
        return number_text(self.plane[row, column])

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return str(section)
        return super().headerData(section, orientation, role)


def _plane_of(array: NDArray[Any], large: list[int]) -> tuple[int, int]:
    if len(large) < 2:
        return large[0], large[0]
    kept = large[:-1] if len(large) > 2 and array.shape[large[-1]] <= _CHANNELS else large
    return kept[-1], kept[-2]


def _is_line(array: NDArray[Any], pair: tuple[int, int]) -> bool:
    lengths = sorted(array.shape[axis] for axis in pair)
    return bool(lengths[1] > _LONG * lengths[0])


class ArrayView(ContentView):
    label = "Array"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewArray")
        self.keys = self.plane = PlaneView()
        self.zoom_bar = ZoomBar(self.plane)
        self.levels = made(LevelsBar(), levels_changed=lambda *_: self._show())
        self.numbers = NumbersModel()
        self.table = QTableView()
        self.axes = choice("previewAxes", self.tr("Axes of the picture"))
        self.look = choice("previewLook", self.tr("Colours"), [self.tr(look) for look in LOOKS])
        self._array: NDArray[Any] = np.zeros((0, 0))
        self._pixels: NDArray[np.uint32] = np.zeros((0, 0), np.uint32)
        self._layout = ArrayLayout(np.dtype("u1"), (0,), "C")
        self._statistics = ArrayStatistics()
        self._grid = AxisSliders(("previewSlice", "previewIndex"), self.tr("Index on {0}"))
        self._sliders = self._grid.sliders
        self.pages = QStackedWidget()
        self._build_table()
        self.pages.addWidget(self.plane)
        self.pages.addWidget(self.table)
        above, picture = QWidget(), QWidget()
        bar = row(self.axes, self.look, 1, self.levels.auto, self.levels.whole, gap=6)
        lay(QVBoxLayout(above), bar, self._grid, self.levels)
        lay(QVBoxLayout(picture), (self.pages, 1), self.zoom_bar)
        lay(QVBoxLayout(self), PictureFrame(above, picture))
        self.axes.currentIndexChanged.connect(lambda _: self._choose_axes())
        self.look.currentIndexChanged.connect(lambda _: self._show())
        self.plane.pointed.connect(lambda x, y: self._point(self.index_of(x, y) if x >= 0 else None))
        self.plane.chosen.connect(lambda x, y: self.chosen.emit(*self._layout.bytes_of(self.index_of(x, y))))

    def _build_table(self) -> None:
        table = self.table
        made(table, "previewNumbers", accessibleName=self.tr("Elements of the array"), tabKeyNavigation=False)
        table.setModel(self.numbers)
        table.setFont(mono(SMALL))
        made(table.verticalHeader(), defaultSectionSize=self.fontMetrics().height() + 6, minimumWidth=40)
        table.horizontalHeader().setResizeContentsPrecision(_MEASURED)
        bytes_of = lambda cell: self._layout.bytes_of(self.index_of(cell.column(), cell.row()))  # noqa: E731
        self._links = ItemLinks(self, table, bytes_of)
        self.pointed.connect(lambda start, stop: self._show_value(self._layout.index_at(start) if stop else None))
        self.chosen.connect(lambda start, stop: self._show_value(self._layout.index_at(start)))

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: ArrayContent) -> tuple[NDArray[Any], ArrayStatistics]:
        if not content.read_layout.nbytes:
            shape = " × ".join(map(str, content.layout.shape))
            reason = "no complete element was read" if content.layout.nbytes else "no elements"
            raise LimitExceeded(f"{shape}, {content.layout.dtype.name}: {reason}")
        array = content.array
        return array, statistics_of(array)

    def show_preview(self, preview: Preview) -> None:
        assert isinstance(preview.content, ArrayContent)
        (array, self._statistics), layout = preview.prepared, preview.content.read_layout
        if not array.ndim:
            array, layout = array.reshape(1), replace(layout, shape=(1,))
        same = layout == self._layout
        self._array, self._layout = array, layout
        self.levels.show_statistics(self._statistics, (self._statistics.low, self._statistics.high))
        if not same:
            self._offer_axes()
        self._choose_axes()

    def _offer_axes(self) -> None:
        array, named = self._array, bool(self._layout.axes)
        usual = named or self._layout.order == "F"
        large = [axis for axis in range(array.ndim) if array.shape[axis] > 1] or [0]
        pairs = list(combinations(large, 2)) or [(large[0], large[0])]
        if not named:
            # Matrices are shown row by row; of named axes (x, y, z) the first is horizontal.
            pairs = [(across, down) for down, across in pairs]
        offer_planes(self.axes, pairs, self._name, 0 if usual else pairs.index(_plane_of(array, large)))
        flat = len(large) < 2 or not is_pictured(array.dtype) or _is_line(array, self.axes.currentData())
        wide = array.dtype.kind == "u" and array.dtype.itemsize >= 4
        with QSignalBlocker(self.look):
            self.look.setCurrentIndex(NUMBERS if flat else LABELS if wide else GREY)

    def _name(self, axis: int) -> str:
        return self._layout.axes[axis] if self._layout.axes else self.tr("axis {0}").format(axis)

    def _choose_axes(self) -> None:
        self._grid.clear()
        for axis, length in enumerate(self._array.shape):
            if axis not in self._shown and length > 1:
                # Start in the middle, which shows more than the edge.
                ends, middle = (0, length - 1), length // 2
                self._grid.add(axis, self._name(axis), ends, middle, lambda _: self._turn())
        self._turn()

    def _turn(self) -> None:
        # The mark belongs to another plane.
        self.plane.set_mark(None)
        self._show()

    @property
    def _shown(self) -> tuple[int, int]:
        across, down = self.axes.currentData() or (0, 0)
        return across, down

    def _place(self) -> list[int]:
        sliders = self._sliders
        return [sliders[axis].value() if axis in sliders else 0 for axis in range(self._array.ndim)]

    def plane_shown(self) -> NDArray[Any]:
        """Return the plane in the picture, shape `(rows, columns)`."""
        across, down = self._shown
        places: Any = tuple(slice(None) if axis in (across, down) else at for axis, at in enumerate(self._place()))
        plane: NDArray[Any] = self._array[places]
        if across == down:
            # A single axis is shown as a column.
            return plane.reshape(-1, 1)
        return plane.T if across < down else plane

    def _show(self) -> None:
        plane, look = self.plane_shown(), self.look.currentIndex()
        pictured = is_pictured(plane.dtype)
        self.look.setVisible(pictured)
        numbers = look == NUMBERS or not pictured
        self.pages.setCurrentIndex(int(numbers))
        self.keys = self.table if numbers else self.plane
        self.levels.setVisible(not numbers and look != LABELS)
        self.zoom_bar.show_zoom(not numbers)
        self._show_value(None)
        if numbers:
            self.numbers.show_plane(plane)
            if plane.dtype.names is not None:
                self.table.resizeColumnsToContents()
            return
        name = LOOKS[look].lower()
        colours = label_colours(plane) if look == LABELS else level_colours(plane, *self.levels.levels, name)
        # Keep a reference: QImage does not copy the pixels.
        self._pixels = np.ascontiguousarray(colours, np.uint32)
        rows, columns = self._pixels.shape
        self.plane.show_image(QImage(self._pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGB32))

    def copy(self) -> None:
        if not self.pages.currentIndex():
            super().copy()
            return
        plane = self.numbers.plane[:, :MOST_COLUMNS]
        lines = selected_cells(self.table, lambda row, column: str(plane[row, column]))
        lines = lines or [list(map(str, row)) for row in plane[:MOST_COLUMNS]]
        copy_lines("\n".join(map("\t".join, lines)))

    def picture(self) -> QImage | None:
        return None if self.pages.currentIndex() else self.plane.image.copy()

    def index_of(self, x: int, y: int) -> tuple[int, ...]:
        across, down = self._shown
        index = self._place()
        index[down] = y
        if across != down:
            index[across] = x
        return tuple(index)

    def mark(self, start: int, stop: int) -> None:
        box = self._layout.box_of(start, stop)
        if box is None:
            self.plane.set_mark(None)
            return
        index, last = box
        for axis, slider in self._sliders.items():
            slider.setValue(index[axis])
        across, down = self._shown
        size = last[across] - index[across] + 1, last[down] - index[down] + 1
        self.plane.set_mark((index[across], index[down]), size)
        if self.pages.currentIndex():
            cell = index[across] if across != down else 0
            self._links.mark(self.numbers.index(index[down], min(cell, MOST_COLUMNS - 1)))
        self._show_value(index if last == index else None)

    def _point(self, index: tuple[int, ...] | None) -> None:
        self.pointed.emit(*(self._layout.bytes_of(index) if index is not None else (0, 0)))

    def _show_value(self, index: tuple[int, ...] | None) -> None:
        if index is None:
            self.zoom_bar.set_text(self._about())
            return
        begin = self._layout.begin or (0,) * len(index)
        place = ", ".join(str(one + first) for one, first in zip(index, begin, strict=True))
        self.zoom_bar.set_text(f"[{place}] = {self._array[index]!s}")

    def _about(self) -> str:
        dtype = self._array.dtype
        text = dtype.str.lstrip("<>=|") if dtype.kind in "US" else dtype.name
        words = [self.tr("record") if dtype.names is not None else text, " × ".join(map(str, self._array.shape))]
        if dtype.kind == "c" and not self.pages.currentIndex():
            words.append(self.tr("magnitude"))
        if self._statistics.odd:
            words.append(self.tr("{0} not finite").format(f"{self._statistics.odd:,}"))
        return " · ".join(words)
