"""Tabs above the bytes: stored bytes, decoded bytes, and drawings in place of the bytes or above them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QSplitter, QTabBar, QToolButton, QWidget

from shardcore import Section, Span
from shardcore.dataclasses import dataclass
from shardcore.model.drawing import STEP, Sketch, StaticSketch
from shardcore.model.span import SourceName
from shardcore.model.text import ends_text
from shardscope.learning.drawings.drawing_request import LEAST_HEIGHT, DrawingRequest
from shardscope.session.display_text import cut_middle, numbers
from shardscope.session.jobs import JobPriority
from shardscope.session.selection import Selection, TraceWalk, main_span
from shardscope.session.session import Session
from shardscope.views.hex.view import HexView
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import tip

if TYPE_CHECKING:
    from shardscope.learning.drawings.panel import DrawingPanel

MOST = 8
"""Maximum number of decoded sources; the oldest is closed."""

_BYTES = 150
"""Minimum height of the bytes below a drawing, in pixels."""

_SHARES = (72, 28)

_LINES = 3


@dataclass
class OpenSource:
    name: str
    size: int
    sections: tuple[Section, ...]
    top: int = 0
    span: Span | None = None


class SourceTabs(QTabBar):
    chosen = Signal(object)
    drawing_chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "sourceTabs", accessibleName=self.tr("Sources of bytes"), drawBase=False, expanding=False)
        made(self, usesScrollButtons=True, elideMode=Qt.TextElideMode.ElideNone, currentChanged=self._changed)
        self.hide()
        self.sources: list[OpenSource] = []
        self.drawing_in_front = False
        self._drawing = False

    def known(self, name: str) -> OpenSource | None:
        return next((source for source in self.sources if source.name == name), None)

    def show_source(self, source: OpenSource) -> None:
        """Show a source in a tab. A stored source replaces the previous stored source in its tab."""
        number, open_one = 0, self.known(source.name)
        if open_one is not None:
            number = self.sources.index(open_one)
        else:
            decoded = stored_span(source.name)
            with QSignalBlocker(self):
                if decoded is None and self.sources and stored_span(self.sources[0].name) is None:
                    self.sources[0] = source
                else:
                    if len(self.sources) > MOST:
                        self._remove(1)
                    number = len(self.sources) if decoded is not None else 0
                    self.sources.insert(number, source)
                    self.insertTab(number, "")
                title = detail = self.tr("Bytes")
                if decoded is not None:
                    title = self.tr("Decoded {0}").format(numbers(ends_text(decoded.start, decoded.stop)))
                    detail = self.tr("Decoded content of {0}").format(decoded)
                    self.setTabButton(number, QTabBar.ButtonPosition.RightSide, self._close_button(source.name))
                self.setTabText(number, cut_middle(title))
                self.setTabToolTip(number, tip(detail))
        if not self.drawing_in_front:
            self._set_current(number)
        # Shown for one source, too, so that the height stays the same.
        self.show()

    def set_drawing(self, there: bool) -> None:
        if there == self._drawing:
            return
        self._drawing = there
        with QSignalBlocker(self):
            if there:
                number = self.addTab(self.tr("Drawing"))
                self.setTabToolTip(number, self.tr("Drawing of the file or of a lookup (Alt+D)"))
            else:
                self.drawing_in_front = False
                self.removeTab(len(self.sources))

    def bring_drawing(self, in_front: bool, name: str = "") -> None:
        self.drawing_in_front = in_front and self._drawing
        open_one = self.known(name)
        if self.drawing_in_front:
            self._set_current(len(self.sources))
        elif open_one is not None:
            self._set_current(self.sources.index(open_one))

    def close_source(self, name: str, checked: bool = False) -> None:
        source = self.known(name)
        if source is not None and stored_span(name) is not None:
            with QSignalBlocker(self):
                self._remove(self.sources.index(source))
            self._changed(self.currentIndex())

    def _close_button(self, name: str) -> QToolButton:
        close, about = partial(self.close_source, name), self.tr("Close")
        button = made(QToolButton(self), text="✕", autoRaise=True, toolTip=about, clicked=close)
        button.setAccessibleName(self.tr("Close this tab"))
        button.setFixedSize(px(20), px(20))
        return button

    def clear(self) -> None:
        self.set_drawing(False)
        with QSignalBlocker(self):
            while self.sources:
                self._remove(0)

    def _remove(self, number: int) -> None:
        del self.sources[number]
        self.removeTab(number)
        self.setVisible(bool(self.sources))

    def _set_current(self, number: int) -> None:
        with QSignalBlocker(self):
            self.setCurrentIndex(number)

    def _changed(self, number: int) -> None:
        self.drawing_in_front = self._drawing and number == len(self.sources)
        if self.drawing_in_front:
            self.drawing_chosen.emit()
        elif 0 <= number < len(self.sources):
            self.chosen.emit(self.sources[number].name)


def stored_span(name: str) -> Span | None:
    """Return the stored bytes from which a source is decoded; None for a stored source."""
    parsed = SourceName.parse(name)
    if parsed.stretch is None or parsed.stretch[0] > parsed.stretch[1]:
        return None
    return Span(str(parsed.outer), *parsed.stretch)


class DrawingPlace(QObject):
    """Drawings in place of the bytes, or above them if both fit; their panel is created on first use."""

    shown_changed = Signal(bool)
    remembered_changed = Signal(object)
    """Carries the name of the last drawing for each format."""
    item_chosen = Signal(str, str)
    """Carries the name of a drawing and that of its selected item (empty: none)."""
    drawn = Signal()
    sketches_changed = Signal(bool)

    def __init__(self, session: Session, tabs: SourceTabs, view: HexView) -> None:
        super().__init__(tabs)
        self._session, self._tabs, self._view = session, tabs, view
        # None until a job has found them.
        self._sketches: tuple[Sketch, ...] | None = None
        self._request: DrawingRequest | None = None
        self._to_front, self._tall = False, False
        self._uri = ""
        self._before_walk: Selection | None = None
        self._key = ""
        self.panel: DrawingPanel | None = None
        self.remembered: dict[str, str] = {}
        # Wait until the layout has resized all widgets.
        self._settling = Debounce(self, self._reveal)
        self.splitter = made(QSplitter(Qt.Orientation.Vertical), childrenCollapsible=False)
        self.splitter.addWidget(view)
        tabs.drawing_chosen.connect(self.show)
        tabs.chosen.connect(lambda _: self.hide())
        session.closed.connect(self._closed)
        session.index.loaded.connect(self._learn)
        session.lookup.walk_changed.connect(self._walk_changed)
        session.lookup.step_changed.connect(self._step_changed)

    # --- available drawings ---

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        walk = self._session.lookup.walk
        drawing = walk.trace.steps[walk.step].drawing if walk.trace is not None and walk.step >= 0 else None
        step = () if drawing is None else (StaticSketch(STEP, self.tr("This step"), drawing),)
        return *(self._sketches or ()), *step

    @property
    def in_front(self) -> bool:
        return self._tabs.drawing_in_front

    def opened(self) -> None:
        """Reset after a shard was opened. If it is the same file, such as an edited sandbox, the drawing stays."""
        before, self._uri = self._uri, self._session.request.uri
        again = self._uri == before
        if again and self.panel is not None and not self.panel.isHidden():
            self._sketches, self._to_front = None, True
            self._tabs.set_drawing(True)
            self._bring(True)
        else:
            self._to_front = self._to_front and (again or not before)
            self._forget()
        self._learn()

    def view_state(self) -> object:
        return self.in_front or self._to_front

    def restore_view_state(self, state: object) -> None:
        self._to_front = state is True
        if self._to_front and self._sketches is not None:
            self._refresh()

    def _closed(self) -> None:
        # While a file is replaced, the same one may be opened again; `opened` checks that.
        if not self._session.documents.replacing:
            self._to_front, self._uri = False, ""
            self._forget()

    def _forget(self) -> None:
        self._sketches, self._key = None, ""
        if self.panel is not None:
            self.panel.clear()
        self._bring(False)
        self.sketches_changed.emit(bool(self.sketches))

    def _learn(self, *_: object) -> None:
        """Find the available drawings in a job; deferred while a lookup runs."""
        if self._session.lookup.walk.waits:
            return
        trace, key = self._session.lookup.walk.trace, self._key

        def take(sketches: tuple[Sketch, ...]) -> None:
            if not self._session.lookup.walk.waits:
                self._sketches = sketches
                self._refresh()

        self._session.ask(
            lambda shard, _: shard.sketches(shard.trace(key) if key else trace),
            take,
            # Drawings of steps can still be shown.
            failed=lambda _: take(self._sketches or ()),
            key=("sketches", self),
            priority=JobPriority.SELECTED,
        )

    def _walk_changed(self, _: TraceWalk) -> None:
        self._key, self._before_walk = "", self._session.selection
        self._learn()

    def _follow(self, selection: Selection) -> None:
        """Draw the lookup of the selected object; while another lookup is shown, only if the user selects a row."""
        ref, trace = selection.ref, self._session.lookup.walk.trace
        by_control = any(
            control.follows in ("row", "key") for sketch in self._sketches or () for control in sketch.controls
        )
        if not selection.complete or ref is None or ref.key is None or by_control:
            return
        by_row = selection is not self._before_walk and selection.span in (None, main_span(ref))
        if trace is not None and not by_row:
            return
        key = "" if trace is not None and trace.key == ref.key else ref.key
        if key != self._key:
            self._key = key
            self._learn()

    def _step_changed(self, walk: TraceWalk) -> None:
        # Otherwise the drawing of a step would be shown before the others are loaded.
        if self._sketches is not None:
            self._refresh()

    def _refresh(self) -> None:
        there = bool(self.sketches)
        self._tabs.set_drawing(there)
        self.sketches_changed.emit(there)
        if not there:
            self._bring(False)
        elif self._to_front or self.in_front:
            self._show()

    # --- showing ---

    def made(self) -> DrawingPanel:
        if self.panel is None:
            from shardscope.learning.drawings.panel import DrawingPanel

            self.panel = panel = DrawingPanel(self._session)
            panel.item_chosen.connect(lambda item: self.item_chosen.emit(panel.name, item.name))
            made(panel, drawn=self.drawn, bytes_wanted=self.to_bytes, sketch_chosen=self._remember)
            self.splitter.insertWidget(0, panel)
            for number, share in enumerate(_SHARES):
                self.splitter.setStretchFactor(number, share)
            panel.hide()
            panel.show_sketches(self.sketches, self.remembered.get(self._session.format, ""))
        return self.panel

    def show(
        self, name: str = "", values: Mapping[str, str] | None = None, item: str = "", *, tall: bool = False
    ) -> None:
        """Show a drawing, by default the last one, as soon as it is loaded; `item` is highlighted.

        With `tall`, only `_LINES` rows of bytes are shown below the drawing.
        """
        changed, self._tall = self.in_front and tall != self._tall, tall
        self._request = DrawingRequest(name, dict(values or {}), item) if name else None
        self._show()
        if changed:
            self._share_height()

    def _show(self) -> None:
        self._to_front = self._sketches is None or not self.sketches
        if self._to_front:
            return
        panel = self.made()
        panel.show_sketches(self.sketches, "" if panel.name else self.remembered.get(self._session.format, ""))
        self._bring(True)
        self._follow(self._session.selection)
        if self._session.jobs.newest(("sketches", self)) is not None:
            return  # The drawing of the new lookup may have other controls.
        if self._request is not None and self._request.name in [sketch.name for sketch in self.sketches]:
            request, self._request = self._request, None
            panel.fulfil(request)

    def hide(self) -> None:
        self._to_front, self._request = False, None
        self._bring(False)

    def to_bytes(self) -> None:
        self.hide()
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def toggle(self) -> None:
        if self.in_front:
            self.to_bytes()
        else:
            self.show()
            if self.panel is not None:
                self.panel.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def highlight(self, span: Span | None) -> None:
        if self.panel is not None and self.in_front:
            self.panel.highlight_spans((span,) if span is not None else ())

    def fit(self) -> None:
        both = self.splitter.height() >= LEAST_HEIGHT + _BYTES
        if self.in_front and not both and self.panel is not None and self._view.hasFocus():
            # Otherwise the focus would move to the next widget.
            self.panel.setFocus(Qt.FocusReason.OtherFocusReason)
        self._view.setVisible(not self.in_front or both)

    def _bring(self, in_front: bool) -> None:
        self._tabs.bring_drawing(in_front, self._view.state.name)
        if self.panel is not None and self.panel.isHidden() is in_front:
            self.panel.setVisible(in_front)
            if in_front:
                self._session.selection_changed.connect(self._follow)
                self._share_height()
            else:
                self._session.selection_changed.disconnect(self._follow)
            self._settling.start()
        self.fit()
        self.shown_changed.emit(in_front)

    def _share_height(self) -> None:
        height, grid = self.splitter.height(), self._view.state.grid
        lower = round(grid.header + _LINES * grid.row) + 2 * self._view.frameWidth() if self._tall else 0
        lower = lower or height * (100 - _SHARES[0]) // 100
        self.splitter.setSizes([height - lower, lower])

    def _reveal(self) -> None:
        state = self._view.state
        if state.layout.size and not self._view.isHidden():
            state.reveal(state.selection.caret)

    def _remember(self, name: str) -> None:
        if name != STEP and self._session.format:
            self.remembered = {**self.remembered, self._session.format: name}
            self.remembered_changed.emit(self.remembered)
