"""Panel of drawings: one tab per drawing, its controls, and the drawing itself, which follows the selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QMimeData, QPoint, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QImage, QIntValidator, QPainter
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QLineEdit,
    QMenu,
    QPushButton,
    QSlider,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from shardcore import Shard, Span
from shardcore.dataclasses import replace
from shardcore.model.drawing import Control, ControlKind, Drawing, Item, Sketch, StaticSketch, value_from, with_items
from shardcore.model.text import shown
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Picture
from shardcore.teaching.drawing.svg import LIGHT, svg
from shardscope.learning.drawings.drawing_request import LEAST_HEIGHT, LEAST_WIDTH, DrawingRequest
from shardscope.learning.drawings.paint import Fonts, colours_of, paint_picture
from shardscope.learning.drawings.stage_player import PlaybackBar
from shardscope.learning.drawings.view import DrawingView
from shardscope.session.display_text import error_text, numbers
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.layouts import discard, lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.tick_box import TickBox
from shardscope.widgets.wrap_text import WrapText

_BETWEEN = 4


class FlowLayout(QLayout):
    def __init__(self, parent: QWidget | None = None, *, gap: int = 14) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._laid(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._laid(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        least = reduce(QSize.expandedTo, (item.minimumSize() for item in self._items), QSize())
        return least.grownBy(self.contentsMargins())

    def _laid(self, rect: QRect, *, move: bool) -> int:
        inside = rect.marginsRemoved(self.contentsMargins())
        y = inside.y()
        for row in self._rows(inside.width()):
            high = max(item.sizeHint().height() for item in row)
            x = inside.x()
            for item in row if move else ():
                wish = item.sizeHint()
                wide = min(wish.width(), inside.width())
                item.setGeometry(QRect(x, y + (high - wish.height()) // 2, wide, wish.height()))
                x += wish.width() + self._gap
            y += high + _BETWEEN
        return y - _BETWEEN - rect.y() + self.contentsMargins().bottom()

    def _rows(self, width: int) -> list[list[QLayoutItem]]:
        rows: list[list[QLayoutItem]] = []
        taken = width
        for item in self._items:
            taken += self._gap + item.sizeHint().width()
            if taken > width:
                rows.append([])
                taken = item.sizeHint().width()
            rows[-1].append(item)
        return rows


_SLIDER_WIDTH = 104
_TEXT_WIDTH = 180
_PAD = 24
_MOST = 2**31 - 1

Put = Callable[[Any], object]


class Controls(QWidget):
    changed = Signal(str, object)
    """Carries the name of a control and its new value."""
    reset_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("drawingControls")
        self._controls: tuple[Control, ...] = ()
        self._put: dict[str, Put] = {}
        self._parts: list[QWidget] = []
        self._showing = False
        about = self.tr("Restore the values of the file")
        self.reset = made(QPushButton(self.tr("Reset")), "drawingReset", toolTip=about, clicked=self.reset_wanted)
        self._row = FlowLayout(self)
        self._row.setContentsMargins(12, 6, 12, 6)
        self._row.addWidget(self.reset)
        self.hide()

    def show_controls(self, controls: Sequence[Control], values: Mapping[str, Any]) -> None:
        shapes, known = ([replace(one, value=None) for one in some] for some in (controls, self._controls))
        self._controls = tuple(controls)
        if shapes != known:
            self._rebuild()
        self._showing = True
        for control in controls:
            self._put[control.name](values.get(control.name, control.value))
        self._showing = False
        self.reset.setEnabled(any(values.get(one.name, one.value) != one.value for one in controls))
        self.setVisible(bool(controls))

    def _rebuild(self) -> None:
        for part in self._parts:
            self._row.removeWidget(part)
            discard(part)
        self._row.removeWidget(self.reset)
        self._parts, self._put = [], {}
        for control in self._controls:
            part = QWidget(self)
            widgets, self._put[control.name] = self._built(control)
            lay(QHBoxLayout(part), *widgets, spacing=6)
            for widget in widgets if self.testAttribute(Qt.WidgetAttribute.WA_SetPalette) else ():
                widget.setPalette(self.palette())  # of a window with its own theme, such as a lecture
            for widget in widgets if self.testAttribute(Qt.WidgetAttribute.WA_SetFont) else ():
                widget.setFont(self.font())
            self._row.addWidget(part)
            self._parts.append(part)
            part.show()
        self._row.addWidget(self.reset)
        self.updateGeometry()

    def _built(self, control: Control) -> tuple[list[QWidget], Put]:
        name, words = control.name, shown(control.label)
        emit = partial(self._emit, name)
        widgets: list[QWidget]
        put: Put
        if control.kind is ControlKind.SWITCH:
            switch = made(TickBox(words), f"switch_{name}", toggled=emit)
            widgets, put = [switch], switch.setChecked
        elif control.kind is ControlKind.CHOICE:
            choice = made(QComboBox(), f"choice_{name}")
            for one in control.choices:
                choice.addItem(shown(one), one)
            choice.currentIndexChanged.connect(lambda _: emit(choice.currentData()))
            widgets, put = [choice], lambda value: choice.setCurrentIndex(choice.findData(value))
        elif control.kind is ControlKind.TEXT:
            line = made(QLineEdit(), f"text_{name}", font=theme.fixed_font(), minimumWidth=_TEXT_WIDTH, textEdited=emit)
            widgets, put = [line], lambda value: line.setText(str(value)) if line.text() != value else None
        else:
            widgets, put = self._slider(control, emit)
        for widget in widgets:
            widget.setAccessibleName(words)
            widget.setAccessibleDescription(shown(control.doc))
        if control.kind is not ControlKind.SWITCH:
            label = made(QLabel(words), textFormat=Qt.TextFormat.PlainText)
            label.setBuddy(widgets[-1])
            widgets.insert(0, label)
        for widget in widgets:
            widget.setToolTip(tip(control.doc))
        return widgets, put

    def _slider(self, control: Control, emit: Callable[[Any], None]) -> tuple[list[QWidget], Put]:
        slider = made(QSlider(Qt.Orientation.Horizontal), f"slider_{control.name}")
        number = made(QLineEdit(), f"number_{control.name}", alignment=Qt.AlignmentFlag.AlignRight)
        low, high = max(control.low, -_MOST), min(control.high, _MOST)
        slider.setRange(low, high)
        slider.setFixedWidth(_SLIDER_WIDTH)
        number.setValidator(QIntValidator(low, high, number))
        number.setFixedWidth(self.fontMetrics().horizontalAdvance(str(high)) + _PAD)

        def put(value: Any) -> None:
            slider.setValue(min(max(int(value), low), high))
            if not number.hasFocus() or number.text() != str(value):
                number.setText(str(value))

        slider.valueChanged.connect(emit)
        number.textEdited.connect(lambda text: emit(int(text)) if number.hasAcceptableInput() else None)
        return [slider, number], put

    def _emit(self, name: str, value: Any) -> None:
        if not self._showing:
            self.changed.emit(name, value)


_SCALE = 2


def image_of(picture: Picture, palette: str, fonts: Fonts) -> QImage:
    image = QImage(round(picture.width * _SCALE), round(picture.height * _SCALE), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    colours = colours_of(palette)
    image.fill(colours.base)
    painter = QPainter(image)
    paint_picture(painter, picture, colours, fonts)
    painter.end()
    return image


def items_with(drawing: Drawing | None, spans: Sequence[Span]) -> frozenset[int]:
    """Return the indices of the items that overlap the spans: of these, only those closest in size to the spans."""
    if drawing is None or not spans:
        return frozenset()
    found: dict[int, int] = {}
    for number, item in enumerate(drawing.items):
        sizes = [own.size for own in item.spans for span in spans if _overlap(own, span)]
        if sizes:
            found[number] = min(sizes)
    wanted = sum(span.size for span in spans)
    nearest = min((abs(size - wanted) for size in found.values()), default=0)
    return frozenset(number for number, size in found.items() if abs(size - wanted) == nearest)


def _overlap(a: Span, b: Span) -> bool:
    return a.source == b.source and a.start < max(b.stop, b.start + 1) and b.start < max(a.stop, a.start + 1)


class DrawingPanel(QWidget):
    item_chosen = Signal(object)
    bytes_wanted = Signal()
    drawn = Signal()
    sketch_chosen = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("drawingPanel")
        self._session = session
        self.sketches: tuple[Sketch, ...] = ()
        self._values: dict[str, dict[str, Any]] = {}
        self._known: dict[str, dict[str, Control]] = {}
        self._grabbed: tuple[Control, Any] | None = None
        self._item_wanted = ""
        self._drawn: Sketch | None = None
        self.name = ""
        self.drawing: Drawing | None = None
        looks = {"drawBase": False, "usesScrollButtons": True, "expanding": False}
        self.tabs = made(QTabBar(), "drawingTabs", accessibleName=self.tr("Drawings"), **looks)
        self.controls, self.view = Controls(), DrawingView()
        self.notice = made(WrapText(tone="error"), "drawingNotice")
        self.notice.setContentsMargins(12, 4, 12, 4)
        self.notice.hide()
        self.copy, self.save = QAction(self.tr("&Copy drawing"), self), QAction(self.tr("&Save drawing…"), self)
        self.setFocusProxy(self.view)
        bar = PlaybackBar(self.view.walk)
        lay(QVBoxLayout(self), self.tabs, self.controls, self.notice, bar, (self.view, 1))
        for signal, slot in (
            (self.tabs.currentChanged, self._tab_changed),
            (self.controls.changed, self.set_value),
            (self.controls.reset_wanted, self._reset),
            (self.view.pointed, self._pointed),
            (self.view.chosen, self._chosen),
            (self.view.activated, self._activated),
            (self.view.drag_began, self._drag_began),
            (self.view.dragged, self._dragged),
            (self.view.menu_wanted, self._open_menu),
            (self.copy.triggered, self._copy),
            (self.save.triggered, self._save),
            (session.lookup.open_question.changed, self._question_changed),
            (session.notation_changed, self._show_drawing),
        ):
            signal.connect(slot)
        self._question_changed()
        WhileVisible(session.selector.begun, self, lambda _: self.highlight_spans(()), own=True)
        WhileVisible(session.selection_changed, self, self._selected, own=True)

    def sizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, LEAST_HEIGHT)

    # --- which sketch ---

    def show_sketches(self, sketches: Iterable[Sketch], wanted: str = "") -> None:
        self.sketches = tuple(sketches)
        names = [sketch.name for sketch in self.sketches]
        front = next((name for name in (wanted, self.name) if name in names), names[0] if names else "")
        with QSignalBlocker(self.tabs):
            while self.tabs.count() > len(names):
                self.tabs.removeTab(self.tabs.count() - 1)
            while self.tabs.count() < len(names):
                self.tabs.addTab("")
            for number, sketch in enumerate(self.sketches):
                self.tabs.setTabText(number, shown(sketch.title).replace("&", "&&"))
            self.tabs.setCurrentIndex(names.index(front) if front else -1)
        self._fit_controls()
        if front != self.name:
            self._show_front(front)
        else:
            self._draw()

    def fulfil(self, wish: DrawingRequest) -> None:
        self.choose(wish.name)
        sketch = self._sketch
        controls = {control.name: control for control in sketch.controls} if sketch is not None else {}
        found = {name: value_from(controls[name], text) for name, text in wish.values.items() if name in controls}
        self._item_wanted = wish.item
        # A request that only points out an item does not reset the values.
        if found != self._values.get(self.name, {}) and (found or not wish.item):
            self._values[self.name] = found
            self._draw()
        else:
            self._point_out()

    def _point_out(self) -> None:
        items = self.drawing.items if self.drawing is not None else ()
        number = next((n for n, item in enumerate(items) if item.name == self._item_wanted), -1)
        if self._item_wanted and number >= 0:
            self._item_wanted = ""
            self.view.go_to_item(number)

    def choose(self, name: str) -> None:
        names = [sketch.name for sketch in self.sketches]
        if name in names:
            self.tabs.setCurrentIndex(names.index(name))

    def clear(self) -> None:
        self._values, self._known, self.name = {}, {}, ""
        self.show_sketches(())
        self._take(None)

    def _tab_changed(self, number: int) -> None:
        if 0 <= number < len(self.sketches):
            self._show_front(self.sketches[number].name)
            self.sketch_chosen.emit(self.name)

    def _show_front(self, name: str) -> None:
        self.name = name
        self._follow(self._session.selection)
        self._draw()

    @property
    def _sketch(self) -> Sketch | None:
        return next((sketch for sketch in self.sketches if sketch.name == self.name), None)

    # --- drawing ---

    @property
    def values(self) -> dict[str, Any]:
        sketch = self._sketch
        names = [control.name for control in sketch.controls] if sketch is not None else []
        return {name: value for name, value in self._values.get(self.name, {}).items() if name in names}

    def set_value(self, name: str, value: Any) -> None:
        self._values.setdefault(self.name, {})[name] = value
        self._draw()

    def _reset(self) -> None:
        self._values.pop(self.name, None)
        self._draw()

    def _draw(self) -> None:
        sketch = self._sketch
        if sketch is None:
            self.controls.show_controls((), {})
            return
        self._forget_changed(sketch)
        values = self.values
        self.controls.show_controls(sketch.controls, values)
        self._fit_controls()
        if isinstance(sketch, StaticSketch):
            self._take(sketch.drawing)
            return

        def work(_: Shard, job: Job) -> Drawing:
            job.check()
            return sketch.draw(values)

        def take(drawing: Drawing) -> None:
            if self.name == sketch.name:  # another drawing may have been shown meanwhile
                self._take(drawing)

        self._session.ask(work, take, failed=self._failed, key=("draw", self), priority=JobPriority.SCREEN)

    def _forget_changed(self, sketch: Sketch) -> None:
        known = self._known.setdefault(sketch.name, {})
        for control in sketch.controls:
            if known.get(control.name, control) != control:
                self._values.get(sketch.name, {}).pop(control.name, None)
            known[control.name] = control

    def _take(self, drawing: Drawing | None) -> None:
        self.notice.hide()
        self._drawn = self._sketch
        if drawing is not None and self._sketch is not None:
            # Controls whose values are read from the file exist only after the first drawing.
            self._forget_changed(self._sketch)
            self.controls.show_controls(self._sketch.controls, self.values)
            self._fit_controls()
        self.drawing = drawing
        self._show_drawing()
        self._point_out()
        self.drawn.emit()

    def _question_changed(self) -> None:
        asks = self._session.lookup.open_question.is_open
        self._fit_controls()
        self._show_drawing()
        self.view.walk.hold(asks)

    def _fit_controls(self) -> None:
        """Hide the tabs and controls while a lesson or lecture sets the drawing, so that it has more space."""
        sketch, asks = self._sketch, self._session.lookup.open_question.in_drawing
        controls = sketch.controls if sketch is not None else ()
        self.tabs.setVisible(len(self.sketches) > 1 and not asks)
        led = asks or self.view.fits
        self.controls.setVisible(bool(controls) and not (led and any(one.follows == "node" for one in controls)))

    def _show_drawing(self) -> None:
        def in_notation(item: Item) -> Item:
            return replace(item, text=numbers(item.text)) if item.text.startswith("0x") else item

        drawing = with_items(self.drawing, in_notation) if self.drawing is not None else None
        if drawing is not None and (self.view.fits or self._session.lookup.open_question.is_open):
            drawing = replace(drawing, caption="", title="" if self.view.fits else drawing.title)
        self.view.show_drawing(drawing)
        self.highlight_spans(())

    def _failed(self, error: BaseException) -> None:
        if self._drawn is not self._sketch:
            # The drawing shown belongs to another sketch, or to other bytes.
            self._take(None)
        self.notice.set_text(self.tr("Cannot draw this: {0}").format(error_text(error)))
        self.notice.show()

    # --- both ways ---

    def highlight_spans(self, spans: Iterable[Span]) -> None:
        found = frozenset[int]().union(*(items_with(self.drawing, (span,)) for span in spans))
        selected = self._session.selection.span
        self.view.highlight(found or items_with(self.drawing, (selected,) if selected is not None else ()))

    def _selected(self, selection: Selection) -> None:
        if selection.origin is not self and self._follow(selection):
            self._draw()
        self.highlight_spans(())

    def _follow(self, selection: Selection) -> bool:
        sketch, ref = self._sketch, selection.ref
        if sketch is None or not selection.complete:
            return False
        now, before = self._values.setdefault(self.name, {}), self.values
        for control in sketch.controls:
            if control.follows == "node" and not self._led(selection):
                now[control.name] = "/".join(node.name for node in selection.path[1:])
            elif ref is None or control.follows == "node":
                continue
            elif control.follows == "row" and control.low <= ref.row <= control.high:
                now[control.name] = ref.row
            elif control.follows == "key" and ref.key is not None:
                now[control.name] = ref.key
        return any(before.get(c.name, c.value) != now.get(c.name, c.value) for c in sketch.controls)

    def _led(self, selection: Selection) -> bool:
        """Return whether a lesson controls the drawing: its question is about the drawing, or it set the selection."""
        question = self._session.lookup.open_question
        return question.in_drawing or (question.is_open and selection.origin is question.asker)

    def item(self, number: int) -> Item | None:
        items = self.drawing.items if self.drawing is not None else ()
        return items[number] if 0 <= number < len(items) else None

    def _pointed(self, number: int) -> None:
        item = self.item(number)
        spans = item.spans if item is not None else ()
        self._session.lookup.point_at(spans)
        self.highlight_spans(spans)

    def _chosen(self, number: int) -> None:
        item = self.item(number)
        if item is not None:
            if item.spans:
                self._session.select_span(item.spans[0], self)
            self.item_chosen.emit(item)

    def _activated(self, number: int) -> None:
        item = self.item(number)
        if item is not None and item.spans:
            self._session.select_span(item.spans[0], self)
            self.bytes_wanted.emit()

    def _drag_began(self, name: str) -> None:
        control = next((one for one in (self._sketch.controls if self._sketch else ()) if one.name == name), None)
        self._grabbed = None
        if control is not None and control.kind is ControlKind.SLIDER:
            self._grabbed = control, self.values.get(name, control.value)

    def _dragged(self, name: str, units: int) -> None:
        control, begin = self._grabbed or (None, 0)
        if control is not None and control.name == name:
            value = min(max(begin + units, control.low), control.high)
            if value != self.values.get(name, control.value):
                self.set_value(name, value)

    # --- menu ---

    def _open_menu(self, place: QPoint) -> None:
        menu = made(QMenu(self), "drawingMenu")
        number = self.view.item_at(self.view.viewport().mapFromGlobal(place))
        item = self.item(number)
        if item is not None and item.spans:
            menu.addAction(self.tr("Show its &bytes"), partial(self._activated, number))
            menu.addSeparator()
        menu.addActions([self.copy, self.save])
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def _svg(self, drawing: Drawing) -> tuple[str, float]:
        width = self.view.picture.width if self.view.picture is not None else LEAST_WIDTH
        return svg(placed(drawing, width), LIGHT), width

    def _copy(self) -> None:
        if self.drawing is not None:
            (text, width), fonts, data = self._svg(self.drawing), Fonts(), QMimeData()
            data.setData("image/svg+xml", QByteArray(text.encode()))
            data.setImageData(image_of(placed(self.drawing, width, fonts.measure), theme.of(self).name, fonts))
            QGuiApplication.clipboard().setMimeData(data)
            self._session.message.emit(self.tr("Drawing copied, as SVG and as a picture"))

    def _save(self) -> None:
        if self.drawing is None:
            return
        text, _ = self._svg(self.drawing)

        def save(path: str) -> None:
            try:
                Path(path).write_text(text, encoding="utf-8")
            except OSError:
                self._session.say(self.tr("Cannot write {0}. Choose another folder.").format(path), failed=True)
            else:
                self._session.say(self.tr("Drawing saved: {0}").format(path))

        ask_target(self, self.tr("Save drawing"), save, name=f"{self.name}.svg", kinds={"SVG (*.svg)": "svg"})
