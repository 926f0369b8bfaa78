"""Placement of the drawings: in a tab in place of the bytes, or above the bytes if both fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import QSplitter

from shardcore import Shard, Span
from shardcore.model.drawing import STEP, Item, Sketch, StaticSketch
from shardscope.learning.drawings.drawing_request import LEAST_HEIGHT, DrawingRequest
from shardscope.session.debounce import Debounce
from shardscope.session.jobs import JobPriority
from shardscope.session.lookup_steps import TraceWalk
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.hex.actions import HexActions
from shardscope.views.hex.tabs import SourceTabs
from shardscope.views.hex.view import HexView

if TYPE_CHECKING:
    from shardscope.learning.drawings.panel import DrawingPanel

_BYTES = 150
"""Minimum height of the bytes below a drawing, in pixels."""

_SHARES = (72, 28)


class DrawingPlace(QObject):
    """Loads the available drawings in a job; creates their panel on first use."""

    shown_changed = Signal(bool)
    """Carries whether the drawings are shown."""
    remembered_changed = Signal(object)
    """Name of the last drawing by format."""
    item_chosen = Signal(str, str)
    """Name of a drawing and of the selected item, or empty."""
    drawn = Signal()

    def __init__(self, session: Session, tabs: SourceTabs, actions: HexActions, view: HexView) -> None:
        super().__init__(tabs)
        self._session, self._tabs, self._actions, self._view = session, tabs, actions, view
        self._sketches: tuple[Sketch, ...] = ()
        self._wish: DrawingRequest | None = None
        self._learning = False
        self._to_front = False
        self._known = False
        self._uri = ""
        self._chosen_row: int | None = None
        self._key = ""
        self.panel: DrawingPanel | None = None
        self.remembered: dict[str, str] = {}
        # The layout resizes widgets one after the other.
        self._settling = Debounce(self, self._reveal)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(view)
        tabs.drawing_chosen.connect(self.show)
        tabs.chosen.connect(lambda _: self.hide())
        actions.drawing.triggered.connect(lambda _=False: self.toggle())
        actions.copy_drawing.triggered.connect(lambda _=False: self.made().copy.trigger())
        actions.save_drawing.triggered.connect(lambda _=False: self.made().save.trigger())
        session.closed.connect(self._closed)
        session.index_loaded.connect(self._learn)
        session.walk_changed.connect(self._walk_changed)
        session.selection_changed.connect(self._follow)
        session.step_changed.connect(self._step_changed)
        self._enable()

    # --- what there is to see ---

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        step = _step_drawing(self._session.walk)
        return (*self._sketches, step) if step is not None else self._sketches

    @property
    def in_front(self) -> bool:
        return self._tabs.drawing_in_front

    def opened(self) -> None:
        """Reset after a shard was opened; the drawing stays if it is the same file, such as an edited sandbox."""
        before, self._uri = self._uri, self._session.request.uri
        again = self._uri == before
        if again and self.panel is not None and not self.panel.isHidden():
            self._sketches, self._known, self._to_front = (), False, True
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
        if self._to_front and self._known:
            self._refresh()

    def _closed(self) -> None:
        if self._session.replacing:
            # The same file may be opened again; `opened` checks that.
            return
        self._to_front, self._uri = False, ""
        self._forget()

    def _forget(self) -> None:
        self._sketches, self._known, self._learning, self._key = (), False, False, ""
        if self.panel is not None:
            self.panel.clear()
        self._bring(False)
        self._enable()

    def _learn(self, *_: object) -> None:
        """Load the available drawings in a job; deferred while a lookup runs."""
        if self._session.walk.waits:
            return
        trace, key = self._session.walk.trace, self._key

        def take(sketches: tuple[Sketch, ...]) -> None:
            self._learning = False
            if not self._session.walk.waits:
                self._sketches, self._known = sketches, True
                self._refresh()

        def failed(_: BaseException) -> None:
            # Drawings of steps can still be shown.
            self._learning, self._known = False, True
            self._refresh()

        self._learning = True
        self._session.ask(
            lambda shard, _: shard.sketches(shard.trace(key) if key else trace),
            take,
            failed=failed,
            key=("sketches", self),
            priority=JobPriority.SELECTED,
        )

    def _walk_changed(self, _: TraceWalk) -> None:
        self._key, self._chosen_row = "", None
        self._learn()

    def _follow(self, selection: Selection) -> None:
        """Draw the lookup of the selected object; while a lookup is shown, only of a row that the user selects."""
        if not selection.complete:
            self._chosen_row = selection.row if selection.span is None else None
        if not selection.complete or not self.in_front:
            return
        ref, trace = selection.ref, self._session.walk.trace
        by_control = any(control.follows for sketch in self._sketches for control in sketch.controls)
        if ref is None or ref.key is None or by_control:
            return
        if trace is not None and ref.row != self._chosen_row:
            return
        key = "" if trace is not None and trace.key == ref.key else ref.key
        if key != self._key:
            self._key = key
            self._learn()

    def _step_changed(self, walk: TraceWalk) -> None:
        # Otherwise the drawing of a step would be shown before the others are loaded.
        if self._known:
            self._refresh()

    def _refresh(self) -> None:
        there = bool(self.sketches)
        self._tabs.set_drawing(there)
        self._enable()
        if not there:
            self._bring(False)
        elif self._to_front or self.in_front:
            self._show()

    def _enable(self) -> None:
        there = bool(self.sketches)
        for action in (self._actions.drawing, self._actions.copy_drawing, self._actions.save_drawing):
            action.setEnabled(there)

    # --- showing ---

    def made(self) -> DrawingPanel:
        if self.panel is None:
            from shardscope.learning.drawings.panel import DrawingPanel

            self.panel = DrawingPanel(self._session)
            self.panel.item_chosen.connect(self._item_chosen)
            self.panel.drawn.connect(self.drawn)
            self.panel.bytes_wanted.connect(self.to_bytes)
            self.panel.sketch_chosen.connect(self._remember)
            self.splitter.insertWidget(0, self.panel)
            self.splitter.setStretchFactor(0, _SHARES[0])
            self.splitter.setStretchFactor(1, _SHARES[1])
            self.panel.hide()
            self.panel.show_sketches(self.sketches, self.remembered.get(self._format, ""))
        return self.panel

    def show(self, name: str = "", values: Mapping[str, str] | None = None, item: str = "") -> None:
        """Show a drawing, by default the last one, as soon as it is loaded; `item` is highlighted."""
        self._wish = DrawingRequest(name, dict(values or {}), item) if name else None
        self._show()

    def _show(self) -> None:
        self._to_front = not self._known or not self.sketches
        if self._to_front:
            return
        panel = self.made()
        panel.show_sketches(self.sketches, "" if panel.name else self.remembered.get(self._format, ""))
        self._bring(True)
        self._follow(self._session.selection)
        if self._learning:
            return  # the drawing of the new lookup may have other controls
        if self._wish is not None and self._wish.name in [sketch.name for sketch in self.sketches]:
            wish, self._wish = self._wish, None
            panel.fulfil(wish)

    def hide(self) -> None:
        self._to_front, self._wish = False, None
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
                height = self.splitter.height()
                self.splitter.setSizes([height * share // 100 for share in _SHARES])
            self._settling.start()
        self.fit()
        self.shown_changed.emit(in_front)

    def _reveal(self) -> None:
        state = self._view.state
        if state.layout.size and not self._view.isHidden():
            state.reveal(state.selection.caret)

    @property
    def _format(self) -> str:
        shard: Shard | None = self._session.shard
        return shard.format if shard is not None else ""

    def _item_chosen(self, item: Item) -> None:
        if self.panel is not None:
            self.item_chosen.emit(self.panel.name, item.name)

    def _remember(self, name: str) -> None:
        if name != STEP and self._format:
            self.remembered = {**self.remembered, self._format: name}
            self.remembered_changed.emit(self.remembered)


def _step_drawing(walk: TraceWalk) -> StaticSketch | None:
    step = walk.trace.steps[walk.step] if walk.trace is not None and walk.step >= 0 else None
    return (
        StaticSketch(STEP, QCoreApplication.translate("Drawings", "This step"), step.drawing)
        if step is not None and step.drawing is not None
        else None
    )
