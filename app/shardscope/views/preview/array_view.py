"""Array as a picture of two axes, and as numbers. Each element knows its bytes in the content."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
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

from shardcore import ArrayContent, Content
from shardcore.model.array_layout import ArrayLayout
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.plane import PlaneView
from shardscope.widgets.elided import Elided
from shardscope.widgets.fonts import SMALL, mono
from shardscope.widgets.table_model import TableModel

GREY, LABELS, NUMBERS = range(3)

MOST_COLUMNS = 1000
"""Columns of the table of numbers."""


def grey_levels(plane: NDArray[Any], low: float, high: float) -> NDArray[np.uint32]:
    """Return the pixels of a plane of numbers as grey ARGB values, from `low` (black) to `high` (white)."""
    spread = 255 / (high - low) if high > low else 0
    level = np.nan_to_num((plane.astype(np.float64) - low) * spread).clip(0, 255).astype(np.uint32)
    return (level * np.uint32(0x010101)) | np.uint32(0xFF000000)


def label_colours(plane: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the pixels of a plane of labels as ARGB values: a hash of each label; 0 is black."""
    labels = plane.astype(np.uint64)
    mixed = (labels ^ (labels >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    colour = ((mixed >> np.uint64(40)) & np.uint64(0xFFFFFF)).astype(np.uint32) | np.uint32(0x404040)
    return np.where(labels == 0, np.uint32(0xFF000000), np.uint32(0xFF000000) | colour)


class NumbersModel(TableModel):
    """Elements of a plane as text."""

    def __init__(self) -> None:
        super().__init__()
        self.plane: NDArray[Any] = np.zeros((0, 0))

    def show_plane(self, plane: NDArray[Any]) -> None:
        """Show other numbers: shape `(rows, columns)`."""
        self.plane = plane
        self.titles = tuple(map(str, range(min(plane.shape[1], MOST_COLUMNS))))
        self.numbers = range(len(self.titles))
        self.show_things(range(len(plane)))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return str(section)
        return super().headerData(section, orientation, role)

    def text(self, row: int, column: int) -> str:
        value = self.plane[row, column]
        return f"{value:.6g}" if self.plane.dtype.kind in "fc" else str(value)


class ArrayView(ContentView):
    """Array with controls for its axes."""

    label = "Array"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewArray")
        self.plane = PlaneView()
        self.numbers = NumbersModel()
        self.table = QTableView()
        self.table.setObjectName("previewNumbers")
        self.table.setAccessibleName(self.tr("Elements of the array"))
        self.table.setModel(self.numbers)
        self.table.setFont(mono(SMALL))
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.table.verticalHeader().setMinimumWidth(40)
        self.axes = QComboBox()
        self.axes.setObjectName("previewAxes")
        self.axes.setAccessibleName(self.tr("Axes of the picture"))
        self.look = QComboBox()
        self.look.setObjectName("previewLook")
        self.look.setAccessibleName(self.tr("Colours"))
        self.look.addItems([self.tr("Grey"), self.tr("Labels"), self.tr("Numbers")])
        self.value = Elided(greedy=True, parent=self)
        self.value.setObjectName("previewValue")
        self._array: NDArray[Any] = np.zeros((0, 0))
        self._layout = ArrayLayout(np.dtype("u1"), (0,), "C")
        self._levels = (0.0, 1.0)
        self._sliders: dict[int, QSlider] = {}
        self._build()
        self.axes.currentIndexChanged.connect(lambda _: self._choose_axes())
        self.look.currentIndexChanged.connect(lambda _: self._show())
        self.plane.pointed.connect(lambda x, y: self._point(self.index_of(x, y) if x >= 0 else None))
        self.plane.chosen.connect(lambda x, y: self._choose(self.index_of(x, y)))
        self.table.clicked.connect(lambda index: self._choose(self.index_of(index.column(), index.row())))

    def _build(self) -> None:
        self.setFocusProxy(self.plane)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 4)
        bar.addWidget(self.axes)
        bar.addWidget(self.look)
        bar.addSpacing(6)
        bar.addWidget(self.value, 1)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(8, 0, 8, 4)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.plane)
        self.pages.addWidget(self.table)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addLayout(self._grid)
        column.addWidget(self.pages, 1)

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, ArrayContent) and content.complete and content.layout.nbytes > 0

    def show_preview(self, preview: Preview) -> None:
        one = preview.content
        assert isinstance(one, ArrayContent)
        self.show_array(one.array, one.layout)

    def show_array(self, array: NDArray[Any], layout: ArrayLayout) -> None:
        """Show an array.

        Args:
            array: The array; at least one axis.
            layout: Its layout, for the names of the axes.
        """
        same = layout == self._layout
        self._array, self._layout = array, layout
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        number = array.dtype.kind in "iufb" and finite.size
        self._levels = (float(finite.min()), float(finite.max())) if number else (0.0, 1.0)
        if not same:
            self.axes.blockSignals(True)
            self.axes.clear()
            large = [axis for axis in range(array.ndim) if array.shape[axis] > 1] or [0]
            pairs = list(combinations(large, 2)) or [(large[0], large[0])]
            if not layout.axes:
                # Rows of a matrix are rows of the picture; named axes (x, y, z) begin with the one across.
                pairs = [(across, down) for down, across in pairs]
            for across, down in pairs:
                down_name = f" × {self._name(down)}" if down != across else ""
                self.axes.addItem(f"{self._name(across)}{down_name}", (across, down))
            self.axes.blockSignals(False)
            self.axes.setVisible(len(pairs) > 1)
            self.look.blockSignals(True)
            flat = len(large) < 2 or array.dtype.kind not in "iufb"
            wide = array.dtype.kind == "u" and array.dtype.itemsize >= 4
            self.look.setCurrentIndex(NUMBERS if flat else LABELS if wide else GREY)
            self.look.blockSignals(False)
        self._choose_axes()

    def _name(self, axis: int) -> str:
        return self._layout.axes[axis] if self._layout.axes else self.tr("axis {0}").format(axis)

    def _choose_axes(self) -> None:
        """Give each axis that is not in the picture a slider."""
        shown = self._shown
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._sliders = {}
        rest = [axis for axis in range(self._array.ndim) if axis not in shown and self._array.shape[axis] > 1]
        for row, axis in enumerate(rest):
            slider, box = QSlider(Qt.Orientation.Horizontal), QSpinBox()
            for one in (slider, box):
                one.setRange(0, self._array.shape[axis] - 1)
                one.setAccessibleName(self.tr("Index on {0}").format(self._name(axis)))
            slider.setObjectName(f"previewSlice{axis}")
            # The middle of a volume shows more than its edge.
            for one in (slider, box):
                one.setValue(self._array.shape[axis] // 2)
            slider.valueChanged.connect(box.setValue)
            box.valueChanged.connect(slider.setValue)
            slider.valueChanged.connect(lambda _: self._show())
            self._grid.addWidget(QLabel(self._name(axis)), row, 0)
            self._grid.addWidget(slider, row, 1)
            self._grid.addWidget(box, row, 2)
            self._sliders[axis] = slider
        self._show()

    @property
    def _shown(self) -> tuple[int, int]:
        across, down = self.axes.currentData() or (0, 0)
        return across, down

    def plane_shown(self) -> NDArray[Any]:
        """The plane in the picture, shape `(rows, columns)`; the first chosen axis runs across."""
        across, down = self._shown
        places: Any = tuple(
            slice(None) if axis in (across, down) else self._sliders[axis].value() if axis in self._sliders else 0
            for axis in range(self._array.ndim)
        )
        plane: NDArray[Any] = self._array[places]
        if across == down:
            # Of one axis, the elements stand below each other.
            return plane.reshape(-1, 1)
        return plane.T if across < down else plane

    def _show(self) -> None:
        plane = self.plane_shown()
        numbers = self.look.currentIndex() == NUMBERS or plane.dtype.kind not in "iufb"
        self.pages.setCurrentIndex(int(numbers))
        if numbers:
            self.numbers.show_plane(plane)
            return
        pixels = label_colours(plane) if self.look.currentIndex() == LABELS else grey_levels(plane, *self._levels)
        pixels = np.ascontiguousarray(pixels, np.uint32)
        rows, columns = pixels.shape
        image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGB32)
        self.plane.show_image(image.copy())

    def index_of(self, x: int, y: int) -> tuple[int, ...]:
        """Return the index of the element at a column and row of the picture."""
        across, down = self._shown
        index = [self._sliders[axis].value() if axis in self._sliders else 0 for axis in range(self._array.ndim)]
        index[down] = y
        if across != down:
            index[across] = x
        return tuple(index)

    def mark(self, start: int, stop: int) -> None:
        """Mark the elements of some bytes, and show the slice that has the first."""
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
            self.table.setCurrentIndex(self.numbers.index(index[down], min(column, MOST_COLUMNS - 1)))
        self._tell(index if last == index else None)

    def _point(self, index: tuple[int, ...] | None) -> None:
        self._tell(index)
        self.pointed.emit(*(self._layout.bytes_of(index) if index is not None else (0, 0)))

    def _choose(self, index: tuple[int, ...]) -> None:
        self._tell(index)
        self.chosen.emit(*self._layout.bytes_of(index))

    def _tell(self, index: tuple[int, ...] | None) -> None:
        if index is None:
            self.value.clear()
            return
        begin = self._layout.begin or (0,) * len(index)
        place = ", ".join(str(one + first) for one, first in zip(index, begin, strict=True))
        self.value.tell(f"[{place}] = {self._array[index]}")
