"""The hex view: bytes coloured by their meaning, from what is in memory, at any offset."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from shardscope.hex import input as hex_input
from shardscope.hex.accessible import HexAccessibility, install_factory
from shardscope.hex.mouse import HexMouse
from shardscope.hex.paint import HexPainter, Scene
from shardscope.hex.state import HexState
from shardscope.looks import theme
from shardscope.pages import PageCache


class HexView(QAbstractScrollArea):
    """Paints a `HexState`, and hands events to those that change it. `menu_requested` carries the global position.

    Attributes:
        state: What is shown.
        accessibility: For screen readers.
        paints: How often it was painted.
    """

    menu_requested = Signal(object)

    # Making the scroll bars already sends events.
    _mouse: HexMouse | None = None

    def __init__(self, pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = HexState(self, pages)
        self._mouse = HexMouse(self.state)
        self.accessibility = HexAccessibility(self.state)
        self.paints = 0
        self._painter = HexPainter(self.state.grid, theme.of(self))
        self.state.changed.connect(self.viewport().update)
        self.state.layout_changed.connect(self._make_painter)
        self.state.runs_changed.connect(self._forget_letters)
        self.state.bytes_changed.connect(self._forget_rows)
        install_factory()
        self.setObjectName("hexView")
        self.setAccessibleName(self.tr("Bytes"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def _make_painter(self) -> None:
        self._painter = HexPainter(self.state.grid, theme.of(self))

    def _forget_letters(self) -> None:
        self._painter.rows.forget_letters()

    def _forget_rows(self) -> None:
        self._painter.rows.forget()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the screen."""
        self.paints += 1
        state, selection = self.state, self.state.selection
        scene = Scene(
            top=state.top_row,
            rows=state.shown_rows,
            sections=state.sections,
            selection=(selection.span.start, selection.span.stop) if selection.span.size > 1 else None,
            caret=selection.caret if state.layout.size else -1,
            focused=self.hasFocus(),
            part=state.part,
            hover=state.hover,
            marks=state.marks,
            letters=state.letters,
        )
        painter = QPainter(self.viewport())
        across = float(self.horizontalScrollBar().value())
        self._painter.paint(painter, scene, state.cells(), QRectF(self.viewport().rect()), across)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or fewer rows, and with "fit" more or fewer bytes in a row."""
        self.state.fit_area()

    def changeEvent(self, event: QEvent) -> None:
        """A new theme."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._make_painter()
            self.viewport().update()

    def event(self, event: QEvent) -> bool:
        """The window came to a screen of another scale."""
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self.state.fit_area()
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """The mouse."""
        handled = self._mouse is not None and self._mouse.handle(event)
        return handled or super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Asks for the menu; from the keyboard, at the caret."""
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            caret = self.state.byte_rect(self.state.selection.caret)
            place = self.viewport().mapToGlobal(caret.bottomLeft().toPoint())
        self.menu_requested.emit(QPoint(place))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The caret becomes strong."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The caret becomes weak."""
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Paints again; nothing is moved by pixels."""
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls or zooms."""
        hex_input.wheel(self.state, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Moves the caret; with shift, extends the selection."""
        if not hex_input.key(self.state, event):
            super().keyPressEvent(event)
