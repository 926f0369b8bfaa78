"""Hex view: bytes coloured by their meaning, painted from loaded pages."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolButton, QWidget

from shardscope.session.byte_pages import PageCache
from shardscope.views.hex import input as hex_input
from shardscope.views.hex.accessibility import HexAccessibility, HexAccessible
from shardscope.views.hex.field_column import WISH, FieldColumn, FieldNames
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.mouse import HexMouse
from shardscope.views.hex.overlays import Range
from shardscope.views.hex.painter import HexPainter
from shardscope.widgets import theme
from shardscope.widgets.accessible_roles import install_roles
from shardscope.widgets.fonts import px

_LOOKS = 28


class HexView(QAbstractScrollArea):
    """Paints a `HexState` and passes events on; the signals for menus carry the global position."""

    menu_requested = Signal(object)
    header_menu_requested = Signal(object)
    field_chosen = Signal(object)

    # The base class sends events while it is created.
    _mouse: HexMouse | None = None

    def __init__(self, pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = HexState(self, pages)
        self.accessibility = HexAccessibility(self.state)
        self.paints = 0
        self.names = FieldNames(pages, self)
        self.column = FieldColumn(self.names, self)
        self.state.beside = WISH
        self._painter = HexPainter(self.state.grid, theme.of(self), self.column)
        self._mouse = HexMouse(self.state, self.column)
        self._mouse.chosen.connect(self.field_chosen)
        self.state.changed.connect(self.viewport().update)
        self.state.rows_changed.connect(self._update_rows)
        self.state.layout_changed.connect(self._make_painter)
        self.state.looks_changed.connect(self._forget)
        self.state.view_changed.connect(self._ask_names)
        self.names.changed.connect(self._ask_names)
        self.column.changed.connect(self._forget)
        self.column.changed.connect(self.viewport().update)
        self.looks = QToolButton(self.viewport())
        self.looks.setObjectName("bytesLooks")
        self.looks.setText("⋯")
        self.looks.setToolTip(self.tr("Bytes per row, folds and fields"))
        self.looks.setAccessibleName(self.tr("Display of the bytes"))
        self.looks.setCursor(Qt.CursorShape.ArrowCursor)
        self.looks.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.looks.clicked.connect(
            lambda: self.header_menu_requested.emit(self.looks.mapToGlobal(self.looks.rect().bottomLeft()))
        )
        install_roles()
        self.setObjectName("hexView")
        self.setAccessibleName(self.tr("Bytes"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def spoken_interface(self) -> HexAccessible:
        return HexAccessible(self.accessibility)

    @property
    def full_width(self) -> float:
        margin, bar = self.state.grid.margin, self.verticalScrollBar().sizeHint().width()
        return self.state.full_width + margin + self.column.most + bar

    def set_column(self, wanted: bool) -> None:
        self.column.wanted = wanted
        self.state.beside = WISH if wanted else 0
        self.state.fit_area()
        self._fit_column()

    def _make_painter(self) -> None:
        self._fit_column()
        self._painter = HexPainter(self.state.grid, theme.of(self), self.column)

    def _fit_column(self) -> None:
        high = round(self.state.grid.header) - 1
        self.looks.setGeometry(self.viewport().width() - px(_LOOKS), 0, px(_LOOKS), high)
        self.column.fit(self.state.grid, self.viewport().width(), self.state.name, self.font())
        self._ask_names()

    def _ask_names(self) -> None:
        if self.column.shown and self.state.layout.size:
            self.names.want(self.state.name, self.state.stretches)

    def _forget(self) -> None:
        self._painter.forget()

    def _update_rows(self, part: Range | None) -> None:
        grid = self.state.grid
        if blocks := list(grid.blocks(*part, self.state.rows_on_screen)) if part is not None else []:
            top, bottom = round(grid.row_y(blocks[0].row)), round(grid.row_y(blocks[-1].last))
            # Frames are painted around their rows.
            self.viewport().update(0, top - 2, self.viewport().width(), bottom - top + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        painter = QPainter(self.viewport())
        across = float(self.horizontalScrollBar().value())
        scene = self.state.scene(focused=self.hasFocus())
        self._painter.paint(painter, scene, self.state.cells_of, QRectF(self.viewport().rect()), across)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.state.fit_area()
        self._fit_column()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._mouse is not None:
            self.state.fit_font()
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._make_painter()
            self.viewport().update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self.state.editable:
            if hex_input.is_typed(self.state, event):
                event.accept()
                return True
            return super().event(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self.state.fit_area()
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        handled = self._mouse is not None and self._mouse.handle(event)
        return handled or super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            caret = self.state.byte_rect(self.state.selection.caret)
            place = self.viewport().mapToGlobal(caret.bottomLeft().toPoint())
        elif event.pos().y() < self.state.grid.header:
            self.header_menu_requested.emit(QPoint(place))
            return
        self.menu_requested.emit(QPoint(place))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        hex_input.wheel(self.state, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not hex_input.key(self.state, event):
            super().keyPressEvent(event)
