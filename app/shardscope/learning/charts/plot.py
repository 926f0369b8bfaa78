"""Widget that draws a chart with pyqtgraph: bars, a dashed line of expected numbers, and axes with units.

Bars are selected with mouse or keyboard. This is the only module that imports pyqtgraph.
"""

from __future__ import annotations

from math import ceil, floor, log2, log10
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QKeyEvent, QMouseEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from shardcore import SectionRole
from shardcore.teaching.charts import Chart
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.layouts import made

TICK_SPACE = 62

DRAG = 4
"""Distance in pixels that the pointer moves with the button pressed before this counts as a drag."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def positions(chart: Chart) -> NDArray[np.float64]:
    """Return the axis positions of the bin edges; in a chart of sizes, their base-2 logarithms, or -1 for size 0."""
    edges = chart.edges.astype(np.float64)
    return np.where(edges < 1, -1.0, np.log2(np.maximum(edges, 1.0))) if chart.of_sizes else edges


def size_words(size: float) -> str:
    power = min(int(log2(size)) // 10, len(_UNITS) - 1) if size >= 1 else 0
    value = size / 1024**power
    return f"{value:,.0f} {_UNITS[power]}" if value == round(value) else f"{value:,.1f} {_UNITS[power]}"


def ticks(low: float, high: float, most: int, *, of_sizes: bool = False) -> list[tuple[float, str]]:
    """Return positions and labels of about `most` axis ticks; `of_sizes`: positions are base-2 logarithms of bytes."""
    if high <= low or most < 1:
        return []
    if of_sizes:
        return _size_ticks(low, high, most)
    return [(at, number_words(at)) for at in _decimal_steps(low, high, most)]


def chart_ticks(chart: Chart, most: int) -> list[tuple[float, str]]:
    if not len(chart):
        return []
    edges = positions(chart)
    low, high = float(edges[0]), float(edges[-1])
    if not chart.of_sizes and float(chart.edges[1] - chart.edges[0]) == 1:
        found = ticks(low, high - 1, most) if high - low > 1 else [(low, number_words(low))]
        return [(at + 0.5, text) for at, text in found if at == round(at)]
    if chart.of_sizes and len(edges) <= most and chart.edges[0]:
        # There are so few edges that a label for each one fits.
        return [(float(at), size_words(float(edge))) for at, edge in zip(edges, chart.edges, strict=True)]
    found = ticks(low, high, most, of_sizes=chart.of_sizes)
    return [(-0.5, text) if chart.of_sizes and at == -1 else (at, text) for at, text in found]


def number_words(number: float) -> str:
    if abs(number) >= 10_000_000:
        return f"{number / 1_000_000:,.4g}M"
    return f"{number:,.0f}" if number == round(number) else f"{number:,.3g}"


def _size_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    found = [(-1.0, "0")] if low <= -0.75 else []
    span = high - max(low, 0.0)
    step = next((s for s in (1, 2, 4, 5, 10, 20, 40) if span / s <= max(most - 1, 1)), 64)
    first = max(ceil(low), 0)
    first += -first % step
    if found and step > 1 and first == 0:
        # It would overlap the 0 before it.
        first = step
    return found + [(float(at), size_words(2.0**at)) for at in range(first, floor(high + 1e-9) + 1, step)]


def _decimal_steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    ten = 10.0 ** floor(log10(rough))
    step = next(factor * ten for factor in (1, 2, 5, 10) if factor * ten >= rough * 0.999)
    return [round(step * n, 10) for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


class Plot(pg.PlotWidget):  # type: ignore[misc]
    spoken_role = QAccessible.Role.Chart

    pointed = Signal(int, int)
    chosen = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        made(self, "chartPlot", accessibleName=self.tr("Chart"), focusPolicy=Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(120, 90)
        self.chart: Chart | None = None
        self.bins: tuple[int, int] = (-1, -1)
        self._edges = np.zeros(1)
        self._press = -1
        self._press_at = QPointF()
        self._top = 1.0
        self._marked = pg.BarGraphItem(x0=[0], x1=[0], height=[0])
        self._again = Debounce(self, self._draw)
        item = self.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(False, False)
        item.setContentsMargins(2, 6, 10, 0)
        item.getViewBox().setDefaultPadding(0)
        for name in ("bottom", "left"):
            axis = item.getAxis(name)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=-4, tickTextOffset=4, autoExpandTextSpace=True, hideOverlappingLabels=False)
        self.viewport().setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(320, 220)

    # --- drawing ---

    def show_chart(self, chart: Chart | None) -> None:
        self.chart, self.bins = chart if chart is not None and len(chart) else None, (-1, -1)
        if chart is not None:
            self.setAccessibleName(chart.title)
            self.setAccessibleDescription(chart.note)
        self._draw()

    def _draw(self) -> None:
        item, view, chart = self.getPlotItem(), self.getViewBox(), self.chart
        item.clear()
        if chart is None:
            return
        edges = self._edges = positions(chart)
        highest = chart.values if chart.ideal is None else np.append(chart.values, chart.ideal)
        self._top = float(highest.max(initial=0)) * 1.06 or 1.0
        self._apply_style(chart)
        self._add_bars(chart)
        if chart.ideal is not None:
            pen = QPen(theme.of(self).accent, 1.6, Qt.PenStyle.DashLine)
            pen.setCosmetic(True)
            item.addItem(pg.PlotCurveItem(x=edges, y=chart.ideal, stepMode="center", pen=pen))
        item.setXRange(float(edges[0]), float(edges[-1]), padding=0.01)
        item.setYRange(0, self._top, padding=0)
        up = ticks(0.0, self._top, max(int(view.height() / 30), 2))
        if not (chart.values % 1).any():
            # Numbers of objects are integers.
            up = [(at, text) for at, text in up if at == round(at)]
        item.getAxis("bottom").setTicks([chart_ticks(chart, max(int(view.width() / TICK_SPACE), 2))])
        item.getAxis("left").setTicks([up])
        item.addItem(self._marked)
        self.mark(*self.bins)

    def _add_bars(self, chart: Chart) -> None:
        left, right = self._edges[:-1], self._edges[1:]
        wide = (right - left) * self._pixels_each() > 5
        gap = 1.2 / self._pixels_each()
        colours, mine = theme.of(self), chart.values > 0
        bars = {"x0": left[mine], "x1": np.where(wide, right - gap, right)[mine], "height": chart.values[mine]}
        for brush in colours.brushes(SectionRole.DATA):
            edge = pg.mkPen(colours.edge(SectionRole.DATA))
            self.getPlotItem().addItem(pg.BarGraphItem(**bars, brush=brush, pen=edge))

    def _pixels_each(self) -> float:
        span = float(self._edges[-1] - self._edges[0]) or 1.0
        return max(float(self.getViewBox().width()), 1.0) / span

    def _apply_style(self, chart: Chart) -> None:
        colours = theme.of(self)
        self.setBackground(colours.base)
        for name, text in (("bottom", chart.x), ("left", chart.y)):
            axis = self.getPlotItem().getAxis(name)
            axis.setPen(pg.mkPen(colours.border))
            axis.setTextPen(colours.muted)
            axis.setTickFont(sized(self.font(), SMALL))
            axis.setLabel(text, color=colours.muted.name(), **{"font-size": f"{SMALL}px"})
        self.getPlotItem().getAxis("left").setGrid(40)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The base class resizes before the parts of this class exist.
        if getattr(self, "chart", None) is not None:
            self._again.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and getattr(self, "chart", None) is not None:
            self._again.start()

    # --- bins ---

    def bin_at(self, place: QPointF) -> int:
        """Return the index of the bin at a point of the widget; beside the chart, that of the first or last bin."""
        at = self.getViewBox().mapSceneToView(self.mapToScene(place.toPoint())).x()
        found = int(np.searchsorted(self._edges, at, "right")) - 1
        return min(max(found, 0), len(self._edges) - 2)

    def mark(self, first: int, last: int) -> None:
        self.bins = (first, last)
        self._marked.setVisible(first >= 0)
        if first < 0 or self.chart is None:
            return
        left, right = float(self._edges[first]), float(self._edges[last])
        wider = max(2.0 / self._pixels_each() - (right - left), 0.0) / 2
        colours, edges = theme.of(self), {"x0": [left - wider], "x1": [right + wider]}
        self._marked.setOpts(**edges, height=[self._top], brush=colours.selection, pen=pg.mkPen(colours.accent))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.chart is not None:
            self._press, self._press_at = self.bin_at(event.position()), event.position()
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self._point(self._press, self._press + 1)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.chart is None:
            return
        here = self.bin_at(event.position())
        if self._press < 0:
            self.pointed.emit(here, here + 1)
        elif (event.position() - self._press_at).manhattanLength() >= DRAG:
            self._point(min(here, self._press), max(here, self._press) + 1)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press >= 0 and event.button() is Qt.MouseButton.LeftButton:
            self._press = -1
            self.chosen.emit(*self.bins)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(*self.bins)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chart = self.chart
        count = len(chart) if chart is not None else 0
        first, last = self.bins
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -(count // 10 or 1)}
        steps[Qt.Key.Key_PageDown] = count // 10 or 1
        key = Qt.Key(event.key())
        if not count:
            event.ignore()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and first >= 0:
            self.chosen.emit(first, last)
        elif key == Qt.Key.Key_Escape and first >= 0:
            self._point(-1, -1)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            at = 0 if key == Qt.Key.Key_Home else count - 1
            self._point(at, at + 1)
        elif key in steps:
            step = steps[key]
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and first >= 0:
                self._point(first, min(max(last + step, first + 1), count))
            else:
                at = min(max((first if step < 0 else last - 1) + step, 0), count - 1) if first >= 0 else 0
                self._point(at, at + 1)
        else:
            event.ignore()

    def wheelEvent(self, event: Any) -> None:
        event.ignore()

    def _point(self, first: int, last: int) -> None:
        self.mark(first, last)
        self.pointed.emit(first, last)
