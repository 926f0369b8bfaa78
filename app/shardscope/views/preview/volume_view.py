"""Volume as a picture: a slice assembled from chunks, and the location where a voxel is stored."""

from __future__ import annotations

from functools import partial
from math import prod

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QHideEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QVBoxLayout, QWidget

from shardcore import Shard, Span
from shardcore.dataclasses import replace
from shardcore.model.chunk_grid import Chunk, ElementLocation, GridCell
from shardcore.model.text import plural
from shardcore.model.text import shown as plain
from shardscope.session.display_text import error_text, offset_words, span_words
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.preview import choice, row, value_line
from shardscope.views.preview.array_view import LABELS, LOOKS, AxisSliders, LevelsBar, offer_planes, statistics_of
from shardscope.views.preview.picture_view import PictureFrame, PlaneView, ZoomBar
from shardscope.views.preview.volume_slice import (
    KEPT,
    ChunkState,
    FoundGrid,
    Kept,
    ShownChunk,
    VolumeSlice,
    elements_of,
    grid_of,
    keep,
    planes_of,
    times,
)
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import grid_in, lay, made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox

_HATCHES = {
    ChunkState.PENDING: Qt.BrushStyle.BDiagPattern,
    ChunkState.MISSING: Qt.BrushStyle.CrossPattern,
    ChunkState.UNREADABLE: Qt.BrushStyle.DiagCrossPattern,
    ChunkState.ELSEWHERE: Qt.BrushStyle.Dense7Pattern,
}

HUES = (255, 60, 165, 315, 15, 108, 210, 285)
"""Hues of the shards in degrees, used again if there are more shards."""

LEAST_EDGE = 4.0
"""Minimum edge length, in screen pixels, of chunks whose borders are drawn."""


def shard_colour(number: int, alpha: float = 1.0) -> QColor:
    return theme.colour(0.72, 0.15, HUES[number % len(HUES)], alpha)


class VolumePlane(PlaneView):
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "volumePlane", accessibleName=self.tr("Slice of the volume"))
        self.edges = False
        self.shards: dict[str, int] | None = None
        self._slice: VolumeSlice | None = None

    def show_slice(self, shown: VolumeSlice | None) -> None:
        self._slice = shown
        if shown is not None:
            self.show_image(shown.image())
        self.update()

    def visible(self) -> tuple[int, int, int, int]:
        frame, scale = self._frame, self.scale
        left, top = (int(max(-place / scale, 0)) for place in (frame.x(), frame.y()))
        right = min(int((self.width() - frame.x()) / scale) + 1, self.image.width())
        bottom = min(int((self.height() - frame.y()) / scale) + 1, self.image.height())
        return left, top, right, bottom

    def shift(self, columns: int, rows: int) -> None:
        self._offset += QPointF(columns, rows) * self.scale
        if self.mark is not None:
            self.mark = self.mark[0] - columns, self.mark[1] - rows
        self.update()

    def reveal(self, x: int, y: int) -> None:
        left, top, right, bottom = self.visible()
        if not (left <= x < right and top <= y < bottom):
            middle = QPointF(self.image.width() / 2, self.image.height() / 2)
            self._offset = (middle - QPointF(x + 0.5, y + 0.5)) * self.scale
            self.update()
            self.moved.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        self.moved.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._drag is not None and self._moved:
            self.moved.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._slice is None:
            return
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setClipRect(self._frame)
        visible = self.visible()
        for one in self._slice.chunks:
            if one.meets(*visible):
                self._paint_chunk(painter, one, colours)

    def _paint_chunk(self, painter: QPainter, one: ShownChunk, colours: theme.Palette) -> None:
        assert self._slice is not None
        frame, scale = self._frame, self.scale
        place = QRectF(frame.x() + one.x * scale, frame.y() + one.y * scale, one.width * scale, one.height * scale)
        state = self._slice.states[one.cell.at]
        if (hatch := _HATCHES.get(state)) is not None:
            painter.fillRect(place, colours.window if state is ChunkState.PENDING else colours.base)
            ink = colours.error if state is ChunkState.UNREADABLE else colours.missing
            painter.fillRect(place, QBrush(ink, hatch))
        if self.shards is not None:
            painter.fillRect(place, shard_colour(self.shards.get(one.cell.shard, 0), 0.38))
        if self.edges and min(place.width(), place.height()) >= LEAST_EDGE:
            painter.setPen(QPen(colours.accent, 1))
            painter.drawRect(place)


BATCH = 32
"""Number of chunks read by one job."""

SETTLE_MILLISECONDS = 60
"""Milliseconds without movement after which chunks are read."""

POINT_MILLISECONDS = 30
"""Milliseconds without pointer movement after which a voxel is highlighted."""

MOST_SHARDS = 8

FACTS = ("Voxel", "Value", "Chunk", "Offset in chunk", "Shard", "Minishard", "Key", "Stored bytes")
"""Names of the details of a voxel, two per row; the last two have a row each."""


class VolumeView(QWidget):
    """Slice of the array of the open shard; reads only visible chunks, in jobs, while it is visible."""

    look_up_requested = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "volume", accessibleName=self.tr("Volume"))
        self._session = session
        self.found: FoundGrid | None = None
        self.slice: VolumeSlice | None = None
        self._kept = Kept(KEPT)
        self._place: ElementLocation | None = None
        self._pointed: tuple[int, ...] | None = None
        self._mesh: tuple[str, str] | None = None
        self.plane = VolumePlane()
        self.setFocusProxy(self.plane)
        self.scales = made(choice("volumeScale", self.tr("Scale")), minimumWidth=px(94))
        self.axes = choice("volumeAxes", self.tr("Axes of the picture"))
        self.look = choice("volumeLook", self.tr("Colours"))
        for combo in (self.scales, self.axes, self.look):
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        for look in LOOKS[: LABELS + 1]:
            self.look.addItem(self.tr(look), look.lower())
        about = self.tr("Edges of the chunks")
        self.edges = made(TickBox(self.tr("Chunks")), "volumeGrid", accessibleName=about)
        about = self.tr("Colours of the shards")
        self.colours = made(TickBox(self.tr("Shards")), "volumeShards", accessibleName=about)
        self.levels = LevelsBar()
        self._grid = AxisSliders(("volumeSlice", "volumePosition"), self.tr("Position on {0}"))
        self._sliders = self._grid.sliders
        self.value = ZoomBar(self.plane)
        self.legend, self.note = plain_label("", "volumeLegend", wrap=True), plain_label("", "volumeNote", wrap=True)
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        for label in (self.legend, self.note):
            label.setContentsMargins(8, 3, 8, 2)
            label.hide()
        self.facts: dict[str, Elided] = {}
        self.look_up = made(QPushButton(self.tr("Look up")), "volumeLookUp")
        self.mesh = made(QPushButton(self.tr("Show mesh")), "volumeMesh")
        self._facts = self._fact_panel()
        self._clear_facts()
        above, picture, below = QWidget(), QWidget(), QWidget()
        edges = (8, 3, 8, 2)
        choices = row(self.scales, self.axes, self.look, 1, edges=edges, gap=8)
        ticks = row(self.edges, self.colours, 1, self.levels.auto, self.levels.whole, edges=edges, gap=8)
        lay(QVBoxLayout(above), choices, ticks, self.levels, self._grid)
        lay(QVBoxLayout(picture), (self.plane, 1), self.value)
        lay(QVBoxLayout(below), self.legend, self.note, self._facts)
        self.frame = PictureFrame(above, picture, below)
        lay(QVBoxLayout(self), self.frame)
        self._soon = Debounce(self, self._read, SETTLE_MILLISECONDS)
        self._highlight_soon = Debounce(self, self._highlight, POINT_MILLISECONDS)
        for signal, slot in (
            (self.scales.activated, self._open_scale),
            (self.axes.currentIndexChanged, self._show_axes),
            (self.look.activated, self._colour),
            (self.levels.levels_changed, self._choose_levels),
            (self.edges.toggled, self._lay_over),
            (self.colours.toggled, self._lay_over),
            (self.plane.moved, self._moved),
            (self.plane.zoomed, self._moved),
            (self.plane.pointed, self._point),
            (self.plane.chosen, self._choose),
            (self.look_up.clicked, self._look_up),
            (self.mesh.clicked, self._show_mesh),
        ):
            signal.connect(slot)
        WhileVisible(session.selection_changed, self, self._follow)

    def _fact_panel(self) -> QWidget:
        panel = made(QWidget(), "volumeFacts", accessibleName=self.tr("Voxel location"))
        grid = grid_in(panel, 10, 2, (8, 4, 8, 6))
        for number, name in enumerate(FACTS):
            title, text = QLabel(self.tr(name)), value_line(f"volume{name.title().replace(' ', '')}")
            title.setEnabled(False)
            text.setAccessibleName(self.tr(name))
            long = number >= len(FACTS) - 2
            line, side = (number - 3, 0) if long else divmod(number, 2)
            grid.addWidget(title, line, 2 * side)
            grid.addWidget(text, line, 2 * side + 1, 1, 3 if long else 1)
            self.facts[name] = text
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        grid.addLayout(row(self.look_up, self.mesh, 1, edges=(0, 4, 0, 0), gap=6), len(FACTS) - 3, 0, 1, 4)
        return panel

    def _clear_facts(self) -> None:
        for text in self.facts.values():
            text.set_text("–")
        self.look_up.setEnabled(False)
        self.mesh.hide()

    # --- what is open ---

    def forget(self) -> None:
        self.found, self.slice, self._place, self._pointed = None, None, None, None
        self._soon.stop()
        self._highlight_soon.stop()
        self._kept.clear()
        self.plane.show_slice(None)
        self._clear_facts()

    def _failed(self, error: BaseException) -> None:
        self._show_note(error_text(error))

    def _open_scale(self) -> None:
        scale = str(self.scales.currentData())
        take = lambda found: self.show_grid(found) if found is not None else None  # noqa: E731
        self._session.ask(lambda shard, _: grid_of(shard, scale), take, failed=self._failed, key=("volume grid", self))

    def show_grid(self, found: FoundGrid) -> None:
        self.found, grid = found, found.grid
        self.scales.clear()
        for scale in grid.scales:
            self.scales.addItem(f"{scale.name.removeprefix('scale ')} · {times(scale.shape)}", scale.name)
        self.scales.setCurrentIndex(self.scales.findData(grid.name))
        self.scales.setVisible(len(grid.scales) > 1)
        offer_planes(self.axes, planes_of(grid), self._name)
        self._show_axes()

    @property
    def title(self) -> str:
        if self.found is None:
            return ""
        grid = self.found.grid
        name = self.tr("Segmentation") if grid.labels else self.tr("Volume") if grid.axes else self.tr("Array")
        return f"{name} · {times(grid.shape)} · {grid.dtype.name} · {plural(prod(grid.counts), 'chunk')}"

    def _name(self, axis: int) -> str:
        axes = self.found.grid.axes if self.found is not None else ()
        return axes[axis] if axes else self.tr("axis {0}").format(axis)

    # --- the slice ---

    def _show_axes(self) -> None:
        if self.found is None or self.axes.currentData() is None:
            return
        grid = self.found.grid
        across, down = self.axes.currentData()
        self.slice = VolumeSlice(grid, across, down, self._kept)
        self.look.setCurrentIndex(self.look.findData(self.slice.look))
        self._grid.clear()
        for axis in range(len(grid.shape)):
            if axis not in (across, down) and grid.shape[axis] > 1:
                ends = grid.box.begin[axis], grid.box.end[axis] - 1
                self._grid.add(axis, self._name(axis), ends, self.slice.at[axis], partial(self._move, axis))
        if grid.inner and grid.inner[0] > 1:
            self._grid.add(-1, self.tr("channel"), (0, grid.inner[0] - 1), 0, partial(self._move, -1))
        self._refresh()
        self.plane.set_mark(self._chosen_pixel())
        if not self.slice.is_whole:
            self.plane.zoom(0)
        self._lay_over()

    def _move(self, axis: int, place: int) -> None:
        if self.slice is None:
            return
        if axis < 0:
            self.slice.channel = place
            self.slice.plan()
        else:
            self.slice.move_to(axis, place)
        self.plane.set_mark(self._chosen_pixel())
        self._refresh()

    def _colour(self) -> None:
        if self.slice is not None:
            self.slice.look = str(self.look.currentData())
            self.slice.colour()
            self._refresh()

    def _choose_levels(self, low: float, high: float) -> None:
        if self.slice is not None:
            self.slice.chosen = (low, high)
            self.slice.colour()
            self.plane.show_slice(self.slice)

    def _refresh(self) -> None:
        self.levels.setVisible(self.slice is not None and self.slice.look != "labels")
        self.plane.show_slice(self.slice)
        self._show_state()
        self._soon.start()

    def _moved(self) -> None:
        shown = self.slice
        if shown is None:
            return
        left, top, right, bottom = self.plane.visible()
        edge = left <= 0 or top <= 0 or right >= shown.size[0] or bottom >= shown.size[1]
        if not shown.is_whole and edge and right - left < shown.size[0]:
            middle = shown.index_of((left + right) // 2, (top + bottom) // 2)
            if (moved := shown.centre_on(middle[shown.across], middle[shown.down])) != (0, 0):
                self.plane.shift(*moved)
                self.plane.show_slice(shown)
                self._show_state()
        self._soon.start()

    def _lay_over(self) -> None:
        self.plane.edges = self.edges.isChecked()
        chunks = self.slice.chunks if self.slice is not None else ()
        names = sorted({one.cell.shard for one in chunks})
        # If there are as many names as chunks, each chunk is a file.
        several = 1 < len(names) < len(chunks)
        self.colours.setVisible(several)
        self.plane.shards = None
        if several and self.colours.isChecked():
            self.plane.shards = {name: number for number, name in enumerate(names)}
            swatches = [
                f'<span style="color:{shard_colour(number).name()}">■</span> {plain(name)}'
                for number, name in enumerate(names[:MOST_SHARDS])
            ]
            if len(names) > MOST_SHARDS:
                swatches.append(self.tr("and {0} more").format(len(names) - MOST_SHARDS))
            self.legend.setText("&nbsp; ".join(swatches))
        self.legend.setVisible(self.plane.shards is not None)
        self.plane.update()

    def _show_note(self, text: str) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def _show_state(self) -> None:
        shown, notes = self.slice, list[str]()
        if shown is None:
            self._show_note("")
            return
        if not shown.is_whole:
            lengths = [shown.grid.shape[axis] for axis in (shown.across, shown.down)]
            notes.append(self.tr("{0} of {1} pixels; drag to move.").format(times(shown.size), times(lengths)))
        states = list(shown.states.values())
        for state in (ChunkState.PENDING, ChunkState.MISSING, ChunkState.ELSEWHERE, ChunkState.UNREADABLE):
            if count := states.count(state):
                why = f": {error_text(shown.error)}" if state is ChunkState.UNREADABLE and shown.error else "."
                notes.append(f"{plural(count, 'chunk')} {self.tr(state.value)}{why}")
        self._show_note(" ".join(notes))

    # --- reading ---

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._soon.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._session.jobs.cancel(("volume", self))

    def _read(self) -> None:
        shown = self.slice
        if shown is None or not self.isVisible():
            return
        cells = shown.pending(*self.plane.visible())[:BATCH]
        if not cells:
            self._show_state()
            if not self.levels.isHidden():
                statistics = statistics_of(shown.seen())
                self.levels.show_statistics(statistics, shown.chosen or (statistics.low, statistics.high))
            return
        grid, kept = shown.grid, self._kept

        def work(_shard: Shard, job: Job) -> list[tuple[GridCell, Chunk]]:
            found = []
            for cell, chunk in grid.read_cells(cells):
                keep(kept, grid, cell, chunk)
                found.append((cell, chunk))
                job.check()
            return found

        def take(found: list[tuple[GridCell, Chunk]]) -> None:
            if self.slice is shown:
                shown.put(found)
                self.plane.show_slice(shown)
                self._show_value()
                self._show_state()
                self._read()

        self._session.ask(work, take, failed=self._failed, key=("volume", self), priority=JobPriority.SCREEN)

    # --- one voxel ---

    def _point(self, x: int, y: int) -> None:
        self._pointed = None
        self._highlight_soon.start()
        if self.slice is None or x < 0:
            self.value.set_text("")
            return
        index = self._pointed = self.slice.index_of(x, y)
        self.value.set_text(f"[{', '.join(map(str, index))}] = {self.slice.value_at(x, y)}")

    def _show_pixel(self, index: tuple[int, ...]) -> None:
        shown = self.slice
        if shown is None:
            return
        x, y = shown.pixel_of(index)
        if not (0 < x < shown.size[0] - 1 and 0 < y < shown.size[1] - 1) and not shown.is_whole:
            self.plane.shift(*shown.centre_on(index[shown.across], index[shown.down]))
            self._refresh()
        self.plane.reveal(*shown.pixel_of(index))

    def _highlight(self) -> None:
        """Highlight the bytes of the voxel under the pointer; not in remote shards, where this would send requests."""
        index, found = self._pointed, self.found
        if index is None or found is None or not found.own or self._session.request.is_remote:
            self._session.lookup.point_at([])
            return

        def take(place: ElementLocation) -> None:
            if self._pointed == index:
                self._session.lookup.point_at([place.span] if place.span is not None else [])

        self._session.ask(lambda _shard, _job: found.grid.locate(index), take, key=("volume point", self))

    def _choose(self, x: int, y: int) -> None:
        shown = self.slice
        if shown is None:
            return
        index, grid = shown.index_of(x, y), shown.grid
        self._show_pixel(index)
        x, y = shown.pixel_of(index)
        self.value.set_text(f"[{', '.join(map(str, index))}] = {shown.value_at(x, y)}")
        work = lambda _shard, _job: grid.locate(index)  # noqa: E731
        self._session.ask(work, self._take_place, failed=self._failed, key=("volume voxel", self))

    def _take_place(self, place: ElementLocation) -> None:
        if self.slice is None or self.found is None:
            return
        self._place = place
        cell = place.cell
        self.facts["Voxel"].set_text(", ".join(map(str, place.index)))
        self._show_value()
        self.facts["Chunk"].set_text(", ".join(map(str, cell.at)))
        bits = f" = 0b{int(cell.key):b}" if cell.minishard is not None else ""
        self.facts["Key"].set_text(f"{cell.key}{bits}")
        self.facts["Shard"].set_text(cell.shard or self.tr("this file"))
        self.facts["Minishard"].set_text(str(cell.minishard) if cell.minishard is not None else "–")
        self.facts["Offset in chunk"].set_text(offset_words(place.start) if place.start >= 0 else "–")
        self.facts["Stored bytes"].set_text(stored_text(place) if place.ref is not None else self.tr("not stored"))
        self.look_up.setEnabled(True)
        self.frame.reveal(self._facts)
        self.look_up.setText(self.tr("Look up") if self.found.own else self.tr("Open scale"))
        if place.span is not None and self.found.own:
            self._session.select_span(place.span, self)

    def _chosen_pixel(self) -> tuple[int, int] | None:
        """Return the pixel of the chosen voxel, which may be outside the picture; None in another plane."""
        shown, place = self.slice, self._place
        if shown is None or place is None or any(place.index[axis] != shown.at[axis] for axis in self._turned_axes()):
            return None
        return shown.pixel_of(place.index)

    def _turned_axes(self) -> list[int]:
        return [axis for axis in self._sliders if axis >= 0]

    def _show_value(self) -> None:
        pixel, shown = self._chosen_pixel(), self.slice
        if pixel is None or shown is None:
            return
        if not (0 <= pixel[0] < shown.size[0] and 0 <= pixel[1] < shown.size[1]):
            return
        before, text = self.facts["Value"].text(), shown.value_at(*pixel)
        self.facts["Value"].set_text(text)
        if text != before or not self.mesh.isVisible():
            self._look_for_mesh(text)

    def _look_for_mesh(self, text: str) -> None:
        self.mesh.hide()
        place, found = self._place, self.found
        if found is None or not found.grid.labels or not text.isdigit():
            return

        def take(mesh: tuple[str, str] | None) -> None:
            self._mesh = mesh
            self.mesh.setVisible(mesh is not None and self._place is place)

        self._session.ask(lambda shard, _: shard.arrays.mesh_of(int(text)), take, key=("volume mesh", self))

    def _show_mesh(self) -> None:
        if self._mesh is None:
            return
        uri, key = self._mesh
        request = replace(self._session.request, uri=uri).without_changes()

        def work(_shard: Shard, job: Job) -> Span | None:
            with request.open(job.progress) as meshes:
                return next(iter(meshes.find(key).spans), None)

        take = lambda span: self._session.tab_wanted.emit(request, span)  # noqa: E731
        self._session.ask(work, take, failed=self._failed, key=("volume mesh", self))

    def _look_up(self) -> None:
        place, found = self._place, self.found
        if place is None or found is None:
            return
        if found.own:
            self.look_up_requested.emit(place.cell.key)
        elif found.uri:
            self._session.tab_wanted.emit(replace(self._session.request, uri=found.uri).without_changes(), place.span)

    def _follow(self, selection: Selection) -> None:
        found = self.found
        if found is not None and found.own and selection.complete and selection.ref is not None:
            work = lambda shard, _: elements_of(shard, selection, found.grid)  # noqa: E731
            self._session.ask(work, self._mark, key=("volume mark", self))

    def _mark(self, ends: tuple[tuple[int, ...], tuple[int, ...]] | None) -> None:
        shown = self.slice
        if ends is None or shown is None:
            return
        low, high = ends
        for axis in self._turned_axes():
            if not low[axis] <= self._sliders[axis].value() <= high[axis]:
                self._sliders[axis].setValue(low[axis])
        self._show_pixel(low)
        wide, tall = (high[axis] - low[axis] + 1 for axis in (shown.across, shown.down))
        self.plane.set_mark(shown.pixel_of(low), (wide, tall))


def stored_text(place: ElementLocation) -> str:
    span: Span | None = place.span
    if span is None:
        return "–"
    where = span_words(span)
    if "@" in span.source:
        return f"{where} of the decompressed chunk"
    return where if place.exact else f"{where}, compressed"
