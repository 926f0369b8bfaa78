"""Array as a picture of two axes or as numbers; each element is linked to its bytes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import ArrayContent, Content, ObjectRef, Shard
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.text import number_text
from shardcore.operations.content.arrays import label_colours
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.control_layout import PictureFrame
from shardscope.views.preview.pixel_plane import PlaneView, ZoomBar
from shardscope.views.preview.value_range import (
    ArrayStatistics,
    LevelsBar,
    is_pictured,
    level_colours,
    statistics_of,
)
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.fonts import SMALL, mono
from shardscope.widgets.table import TableModel

LOOKS = ("Grey", "Viridis", "Magma", "Labels", "Numbers")
GREY, VIRIDIS, MAGMA, LABELS, NUMBERS = range(len(LOOKS))

MOST_COLUMNS = 1000
"""Maximum number of columns of the table."""

_CHANNELS = 4
_LONG = 200
_MEASURED = 50


class NumbersModel(TableModel):
    def __init__(self) -> None:
        super().__init__()
        self.plane: NDArray[Any] = np.zeros((0, 0))

    def show_plane(self, plane: NDArray[Any]) -> None:
        self.plane = plane
        self.titles = tuple(map(str, range(min(plane.shape[1], MOST_COLUMNS))))
        self.numbers = range(len(self.titles))
        self.show_things(range(len(plane)))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return str(section)
        return super().headerData(section, orientation, role)

    def text(self, row: int, column: int) -> str:
        return number_text(self.plane[row, column])


def _plane_of(array: NDArray[Any], large: list[int]) -> tuple[int, int]:
    if len(large) < 2:
        return large[0], large[0]
    kept = large[:-1] if len(large) > 2 and array.shape[large[-1]] <= _CHANNELS else large
    return kept[-1], kept[-2]


def _is_line(array: NDArray[Any], pair: tuple[int, int]) -> bool:
    lengths = sorted(array.shape[axis] for axis in pair)
    return bool(lengths[1] > _LONG * lengths[0])


def type_text(dtype: np.dtype[Any]) -> str:
    return dtype.str.lstrip("<>=|") if dtype.kind in "US" else dtype.name


class ArrayView(ContentView):
    label = "Array"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewArray")
        self.plane = PlaneView()
        self.zoom_bar = ZoomBar(self.plane)
        self.levels = LevelsBar()
        self.numbers = NumbersModel()
        self.table = QTableView()
        self.axes = QComboBox()
        self.axes.setObjectName("previewAxes")
        self.axes.setAccessibleName(self.tr("Axes of the picture"))
        self.look = QComboBox()
        self.look.setObjectName("previewLook")
        self.look.setAccessibleName(self.tr("Colours"))
        self.look.addItems([self.tr(look) for look in LOOKS])
        self._array: NDArray[Any] = np.zeros((0, 0))
        self._pixels: NDArray[np.uint32] = np.zeros((0, 0), np.uint32)
        self._layout = ArrayLayout(np.dtype("u1"), (0,), "C")
        self._statistics = ArrayStatistics()
        self._sliders: dict[int, QSlider] = {}
        self._marking = False
        self._build()
        self._build_table()
        self.axes.currentIndexChanged.connect(lambda _: self._turn())
        self.look.currentIndexChanged.connect(lambda _: self._show())
        self.levels.levels_changed.connect(lambda *_: self._show())
        self.plane.pointed.connect(lambda x, y: self._point(self.index_of(x, y) if x >= 0 else None))
        self.plane.chosen.connect(lambda x, y: self._choose(self.index_of(x, y)))

    def _build(self) -> None:
        self.keys = self.plane
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 0, 8, 4)
        bar.setSpacing(6)
        bar.addWidget(self.axes)
        bar.addWidget(self.look)
        bar.addStretch(1)
        bar.addWidget(self.levels.auto)
        bar.addWidget(self.levels.whole)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(8, 0, 8, 4)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.plane)
        self.pages.addWidget(self.table)
        above, picture = QWidget(), QWidget()
        whole, column, middle = (QVBoxLayout(one) for one in (self, above, picture))
        for layout in (whole, column, middle):
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(0)
        whole.addWidget(PictureFrame(above, picture))
        column.addLayout(bar)
        column.addLayout(self._grid)
        column.addWidget(self.levels)
        middle.addWidget(self.pages, 1)
        middle.addWidget(self.zoom_bar)

    def _build_table(self) -> None:
        table = self.table
        table.setObjectName("previewNumbers")
        table.setAccessibleName(self.tr("Elements of the array"))
        table.setModel(self.numbers)
        table.setFont(mono(SMALL))
        table.setMouseTracking(True)
        table.setTabKeyNavigation(False)
        table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        table.verticalHeader().setMinimumWidth(40)
        table.horizontalHeader().setResizeContentsPrecision(_MEASURED)
        table.viewport().installEventFilter(self)
        table.entered.connect(lambda index: self._point(self.index_of(index.column(), index.row())))
        table.clicked.connect(lambda index: self._choose(self.index_of(index.column(), index.row())))
        table.selectionModel().currentChanged.connect(self._move)

    def _move(self, now: QModelIndex, before: QModelIndex) -> None:
        walked = self.table.hasFocus() and not QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
        if walked and not self._marking and now.isValid():
            self._choose(self.index_of(now.column(), now.row()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._point(None)
        return False

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, ArrayContent) and content.read_layout.nbytes > 0

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> tuple[NDArray[Any], ArrayStatistics]:
        assert isinstance(content, ArrayContent)
        array = content.array
        return array, statistics_of(array)

    def show_preview(self, preview: Preview) -> None:
        assert isinstance(preview.content, ArrayContent)
        array, statistics = preview.prepared
        # The mark belongs to the previous array.
        self.plane.set_mark(None)
        self.show_array(array, preview.content.read_layout, statistics)

    def show_array(self, array: NDArray[Any], layout: ArrayLayout, statistics: ArrayStatistics) -> None:
        if not array.ndim:
            array, layout = array.reshape(1), replace(layout, shape=(1,))
        same = layout == self._layout
        self._array, self._layout = array, layout
        self._statistics = statistics
        self.levels.show_statistics(statistics, (statistics.low, statistics.high))
        if not same:
            self.axes.blockSignals(True)
            self.axes.clear()
            large = [axis for axis in range(array.ndim) if array.shape[axis] > 1] or [0]
            pairs = list(combinations(large, 2)) or [(large[0], large[0])]
            if not layout.axes:
                # Matrices are shown row by row; of named axes (x, y, z) the first is horizontal.
                pairs = [(across, down) for down, across in pairs]
            for across, down in pairs:
                down_name = f" × {self._name(down)}" if down != across else ""
                self.axes.addItem(f"{self._name(across)}{down_name}", (across, down))
            self.axes.setCurrentIndex(0 if layout.axes or layout.order == "F" else pairs.index(_plane_of(array, large)))
            self.axes.blockSignals(False)
            self.axes.setVisible(len(pairs) > 1)
            self.look.blockSignals(True)
            flat = len(large) < 2 or not is_pictured(array.dtype) or _is_line(array, self.axes.currentData())
            wide = array.dtype.kind == "u" and array.dtype.itemsize >= 4
            self.look.setCurrentIndex(NUMBERS if flat else LABELS if wide else GREY)
            self.look.blockSignals(False)
        self._choose_axes()

    def _name(self, axis: int) -> str:
        return self._layout.axes[axis] if self._layout.axes else self.tr("axis {0}").format(axis)

    def _choose_axes(self) -> None:
        shown = self._shown
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._sliders = {}
        rest = [axis for axis in range(self._array.ndim) if axis not in shown and self._array.shape[axis] > 1]
        for row, axis in enumerate(rest):
            slider, box = QSlider(Qt.Orientation.Horizontal), QSpinBox()
            # Without its buttons, the spin box has room for the number.
            box.setStyleSheet("QSpinBox::up-button, QSpinBox::down-button { width: 0; border: none; }")
            box.setAlignment(Qt.AlignmentFlag.AlignCenter)
            box.setObjectName(f"previewIndex{axis}")
            box.setFixedWidth(box.fontMetrics().horizontalAdvance(f"{self._array.shape[axis]}") + 36)
            for one in (slider, box):
                one.setRange(0, self._array.shape[axis] - 1)
                one.setAccessibleName(self.tr("Index on {0}").format(self._name(axis)))
            slider.setObjectName(f"previewSlice{axis}")
            # Start in the middle, which shows more than the edge.
            for one in (slider, box):
                one.setValue(self._array.shape[axis] // 2)
            slider.valueChanged.connect(box.setValue)
            box.valueChanged.connect(slider.setValue)
            slider.valueChanged.connect(lambda _: self._move_to())
            self._grid.addWidget(QLabel(self._name(axis)), row, 0)
            self._grid.addWidget(slider, row, 1)
            self._grid.addWidget(box, row, 2)
            self._sliders[axis] = slider
        self._show()

    def _turn(self) -> None:
        self.plane.set_mark(None)
        self._choose_axes()

    def _move_to(self) -> None:
        self.plane.set_mark(None)
        self._show()

    @property
    def _shown(self) -> tuple[int, int]:
        across, down = self.axes.currentData() or (0, 0)
        return across, down

    def plane_shown(self) -> NDArray[Any]:
        """Return the plane in the picture, shape `(rows, columns)`."""
        across, down = self._shown
        places: Any = tuple(
            slice(None) if axis in (across, down) else self._sliders[axis].value() if axis in self._sliders else 0
            for axis in range(self._array.ndim)
        )
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

    def copy(self) -> bool:
        if self.pages.currentIndex():
            copy_lines(self._numbers_text())
        else:
            QGuiApplication.clipboard().setImage(self.plane.image.copy())
        return True

    def _numbers_text(self) -> str:
        chosen = sorted((index.row(), index.column()) for index in self.table.selectedIndexes())
        plane = self.numbers.plane[:, :MOST_COLUMNS]
        if len(chosen) == 1:
            return str(plane[chosen[0]])
        if chosen:
            lines: dict[int, list[str]] = {}
            for row, column in chosen:
                lines.setdefault(row, []).append(str(plane[row, column]))
            return "\n".join("\t".join(cells) for cells in lines.values())
        return "\n".join("\t".join(map(str, row)) for row in plane[:MOST_COLUMNS])

    def picture(self) -> QImage | None:
        return None if self.pages.currentIndex() else self.plane.image.copy()

    def index_of(self, x: int, y: int) -> tuple[int, ...]:
        across, down = self._shown
        index = [self._sliders[axis].value() if axis in self._sliders else 0 for axis in range(self._array.ndim)]
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
            column = index[across] if across != down else 0
            self._marking = True
            self.table.setCurrentIndex(self.numbers.index(index[down], min(column, MOST_COLUMNS - 1)))
            self._marking = False
        self._show_value(index if last == index else None)

    def _point(self, index: tuple[int, ...] | None) -> None:
        self._show_value(index)
        self.pointed.emit(*(self._layout.bytes_of(index) if index is not None else (0, 0)))

    def _choose(self, index: tuple[int, ...]) -> None:
        self._show_value(index)
        self.chosen.emit(*self._layout.bytes_of(index))

    def _show_value(self, index: tuple[int, ...] | None) -> None:
        if index is None:
            self.zoom_bar.set_text(self._about())
            return
        begin = self._layout.begin or (0,) * len(index)
        place = ", ".join(str(one + first) for one, first in zip(index, begin, strict=True))
        self.zoom_bar.set_text(f"[{place}] = {self._array[index]!s}")

    def _about(self) -> str:
        words = [self.tr("record") if self._array.dtype.names is not None else type_text(self._array.dtype)]
        words.append(" × ".join(map(str, self._array.shape)))
        if self._array.dtype.kind == "c" and not self.pages.currentIndex():
            words.append(self.tr("magnitude"))
        if self._statistics.odd:
            words.append(self.tr("{0} not finite").format(f"{self._statistics.odd:,}"))
        return " · ".join(words)
