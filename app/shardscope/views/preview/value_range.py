"""Value range of an array: statistics, colour maps and histogram."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLocale, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QDoubleValidator, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSizePolicy, QToolButton, QWidget

from shardcore.model.text import number_text
from shardscope.widgets import theme

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
    """Statistics of an array; `low` and `high` are finite, `auto` are the 1st and 99th percentile.

    `counts` is the histogram from `low` to `high`, of a sample if the array is large.
    `odd` counts values that are not finite.
    """

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
    for row in range(0, len(plane), step):
        block = scalars(plane[row : row + step])
        shades = table[_shades(block, low, high)]
        if block.dtype.kind == "f":
            shades[np.isnan(block)] = NAN
        pixels[row : row + step] = shades
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
        self.setObjectName("previewHistogram")
        self.setAccessibleName(self.tr("Histogram"))
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
        self.histogram = Histogram()
        self.low = self._field("previewLow", self.tr("Lowest value of the colour scale"))
        self.high = self._field("previewHigh", self.tr("Highest value of the colour scale"))
        # The owner places these buttons.
        self.auto = self._button("previewAuto", self.tr("Auto"), self.tr("From 1 % to 99 % of the elements"))
        self.whole = self._button("previewAllLevels", self.tr("All"), self.tr("From the minimum to the maximum"))
        bar = QHBoxLayout(self)
        bar.setContentsMargins(8, 0, 8, 4)
        bar.setSpacing(4)
        for part in (self.low, self.histogram, self.high):
            bar.addWidget(part)
        self.histogram.levels_changed.connect(self.set_levels)
        self.auto.clicked.connect(lambda _: self.set_levels(*self._statistics.auto))
        self.whole.clicked.connect(lambda _: self.set_levels(self._statistics.low, self._statistics.high))

    def _field(self, name: str, spoken: str) -> QLineEdit:
        line = QLineEdit()
        line.setObjectName(name)
        line.setAccessibleName(spoken)
        line.setToolTip(spoken)
        validator = QDoubleValidator(line)
        # Use a decimal point in every locale.
        validator.setLocale(QLocale.c())
        line.setValidator(validator)
        line.setFixedWidth(line.fontMetrics().horizontalAdvance("-0.0000e-00") + 18)
        line.editingFinished.connect(self._typed)
        return line

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setText(text)
        button.setToolTip(tip)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        for button in (self.auto, self.whole):
            button.setVisible(visible)

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
