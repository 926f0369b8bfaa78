"""Lookup panel: a key, and the steps of its lookup; each step highlights the bytes it reads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAction,
    QColor,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import State, Trace
from shardcore.model.text import plural, shown
from shardcore.operations.cold_cost import ColdTrace
from shardcore.shards.trace import ABSENT, DAMAGED, ELSEWHERE, FOUND
from shardscope.session.display_text import error_text, grouped, sentence
from shardscope.session.selection import Selection, TraceWalk
from shardscope.session.session import Session
from shardscope.views.trace.step_card import Progress, Sign, StepCard, cold_text, cost_text
from shardscope.views.trace.suggested_keys import SuggestedKeys
from shardscope.widgets import playback, theme
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import discard, lay, made, new_action
from shardscope.widgets.playback import offer_speeds
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.wrap_text import WrapText

FAILED = "failed"

_LOOKS = {
    FOUND: ("Found", "tick", "ok"),
    ELSEWHERE: ("", "alarm", "note"),
    State.TOMBSTONED: ("Found, tombstoned", "alarm", "warning"),
    State.DELETED: ("Found, deleted", "alarm", "warning"),
    State.DAMAGED: ("Found, damaged", "alarm", "error"),
    ABSENT: ("Not found", "none", "note"),
    DAMAGED: ("Damaged", "alarm", "error"),
    FAILED: ("Lookup failed", "alarm", "warning"),
}


class OutcomeBand(QWidget):
    """Band with the outcome of the lookup; it is faint while the key field contains another key."""

    spoken_role = QAccessible.Role.Grouping

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("traceOutcome")
        self.sign = Sign("tick", "ok", size=26)
        self.outcome = WrapText(bold=True)
        self.verdict = WrapText()
        self.show_object = made(QPushButton(self.tr("Show object")), "traceShowObject")
        self._tone, self._word, self._mark = "note", "", "none"
        self._current: bool | None = None
        first = lay(QHBoxLayout(), (self.outcome, 1), self.show_object, spacing=6)
        first.setAlignment(self.outcome, Qt.AlignmentFlag.AlignVCenter)
        words = lay(QVBoxLayout(), first, self.verdict, spacing=4)
        row = lay(QHBoxLayout(self), self.sign, (words, 1), margins=(14, 10, 12, 10), spacing=12)
        row.setAlignment(self.sign, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_outcome(self, kind: str | State | None, sentence: str = "", *, word: str = "") -> None:
        self.setVisible(kind is not None)
        if kind is None:
            return
        usual, self._mark, self._tone = _LOOKS[kind]
        self._word = word or usual
        self.verdict.set_text(sentence)
        self.show_object.setVisible(kind in (FOUND, ELSEWHERE) or isinstance(kind, State))
        self._current = None
        self.set_current(True)

    def set_current(self, current: bool) -> None:
        if current == self._current:
            return
        self._current = current
        tone = self._tone if current else "muted"
        self.outcome.set_text(self._word if current else self.tr("{0} (previous key)").format(self._word))
        self.outcome.set_tone(tone)
        self.verdict.set_tone("text" if current else "muted")
        self.sign.set_look(self._mark, tone, filled=current)
        self.show_object.setEnabled(current)
        self.setAccessibleName(shown(f"{self.outcome.text}: {self.verdict.text}"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colour: QColor = getattr(theme.of(self), self._tone if self._current else "muted")
        area = QRectF(self.rect())
        painter.fillRect(area, theme.faint(colour, 0.13))
        painter.fillRect(QRectF(0, 0, area.width(), 1), colour)
        painter.fillRect(QRectF(0, area.height() - 1, area.width(), 1), colour)


class CostSwitch(QWidget):
    cold_wanted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        made(self, "traceCosts", accessibleName=self.tr("Costs of the lookup"))
        # These mnemonics must differ from those of the menus.
        about = self.tr("Bytes that each step read in this lookup. Cached bytes cost nothing.")
        self.warm = made(QRadioButton(self.tr("W&ith cache")), "traceWarm", toolTip=about, checked=True)
        about = self.tr(
            "Cost of each step with an empty cache, including opening. Measured by opening the shard again."
        )
        self.cold = made(
            QRadioButton(self.tr("C&old start")), "traceCold", toolTip=about, toggled=self.cold_wanted.emit
        )
        self.summary = made(WrapText(tone="muted"), "traceColdTold", visible=False)
        row = lay(QHBoxLayout(), QLabel(self.tr("Cost:")), self.warm, self.cold, 1, spacing=12)
        lay(QVBoxLayout(self), row, self.summary, margins=(14, 6, 12, 4), spacing=4)

    def show_cold(self, cold: ColdTrace | None, error: str = "") -> None:
        self.summary.setVisible(self.cold.isChecked())
        self.summary.set_tone("error" if error else "muted")
        text = error or self.tr("Measuring …")
        if cold is not None:
            text = self.tr("Opening: {0}.\nTotal: {1}.").format(cold_text(cold.opening), cold_text(cold.total))
        self.summary.set_text(text)


_STATES = {
    State.TOMBSTONED: " is tombstoned in the sidecar; its bytes are still in the file",
    State.DELETED: " was deleted: its content was overwritten",
    State.DAMAGED: " has an invalid reference to its content",
}


def outcome_of(trace: Trace) -> str | State:
    if trace.described:
        return ELSEWHERE
    state = trace.ref.state if trace.outcome == FOUND and trace.ref is not None else None
    return state if state is not None and state in _STATES else trace.outcome


def verdict(trace: Trace) -> str:
    cost = cost_text(sum(step.requests for step in trace.steps), sum(step.bytes for step in trace.steps))
    steps = f"{plural(len(trace.steps), 'step')}, {cost}"
    if trace.outcome == FOUND:
        outcome = _STATES.get(trace.ref.state, "") if trace.ref is not None else ""
        outcome = ": its bytes are in files that were not found" if trace.described else outcome
        return f"{trace.key}{outcome} · {steps}."
    if trace.outcome == ABSENT:
        return f"{trace.key} is not in this shard, as the last step shows · {steps}."
    return f"{sentence(grouped(str(trace.error)))} {steps[0].upper()}{steps[1:]}."


_TEACH = (
    "Type a key, or select an object and press Ctrl+T.\n\n"
    "Each step of the lookup shows the bytes that are read, what they mean and what they cost. "
    "For a key that does not exist, the last step proves that it is missing."
)

LOW = 320
"""Height of the panel in pixels below which the outcome scrolls with the steps."""

NARROW = 320
"""Width in pixels below which the buttons of the steps are arrows."""

STEP_MILLISECONDS = 1200
"""Milliseconds per step at normal playback speed."""


class TracePanel(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "tracePanel", accessibleName=self.tr("Lookup"))
        self.trace: Trace | None = None
        self.cards: list[StepCard] = []
        self._session = session
        self._filled = ("", "")
        self.timer = made(QTimer(self), interval=STEP_MILLISECONDS, timeout=self._tick)
        self._speed = 1.0
        # Wait until list, scroll range and cards have been resized.
        self._settling = Debounce(self, self._reveal)
        self.previous_step = self._action(self.tr("Previous step"), "Ctrl+Up", lambda: self._go(-1))
        self.next_step = self._action(self.tr("Next step"), "Ctrl+Down", lambda: self._go(1))
        self.play = made(self._action(self.tr("Play"), "Ctrl+Space", self._toggle), checkable=True)
        self._build()
        for signal, slot in (
            (session.opened, self.clear),
            (session.closed, self.clear),
            (session.lookup.walk_changed, self._walk_changed),
            (session.lookup.step_changed, self._step_changed),
            (session.lookup.open_question.changed, self._show_again),
            (session.notation_changed, self._show_again),
            (session.lookup.cost_changed, self._show_costs),
        ):
            signal.connect(slot)
        self._following = WhileVisible(session.selection_changed, self, self._selected)
        self.clear()

    @property
    def current(self) -> int:
        return self._session.lookup.walk.step

    # --- called from outside ---

    def start(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def clear(self, *_: object) -> None:
        self._set_trace(None)
        self.field.clear()
        self._filled = ("", "")
        shard = self._session.shard
        self.field.setEnabled(shard is not None)
        self.look.setEnabled(shard is not None)
        self.band.show_outcome(None)
        self.hint.set_text(self.tr("Open a shard to look up its keys.") if shard is None else self.tr(_TEACH))

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    # --- the lookup ---

    def _look_up(self) -> None:
        text, key = self._filled
        self._session.lookup.start(key if self.field.text() == text else self.field.text())

    def _look_up_offered(self, key: str) -> None:
        self._fill(key)
        self._session.lookup.start(key)

    def _walk_changed(self, walk: TraceWalk) -> None:
        self.timer.stop()
        # A selection made before the lookup does not fill the field any more.
        self._following.forget()
        if walk.trace is None and walk.error is None:
            if (self.field.text(), walk.key) != self._filled:
                self._fill(walk.key)
            self.band.show_outcome(None)
            self.hint.set_text(self.tr("Looking up …"))
            return
        self._set_trace(walk.trace)
        if walk.trace is not None:
            word = walk.trace.ending.capitalize() if walk.trace.described else ""
            hint = self.tr(" One key starts with this text: {0}.").format(shown(walk.begins)) if walk.begins else ""
            if self._session.lookup.open_question.hides_step(len(walk.trace.steps) - 1):
                self.band.show_outcome(None)  # It would answer the open question.
            else:
                self.band.show_outcome(outcome_of(walk.trace), verdict(walk.trace) + hint, word=word)
        else:
            self.band.show_outcome(FAILED, sentence(error_text(walk.error)))
            self.hint.set_text(self.tr(_TEACH))
        self._compare_key()

    def _show_again(self) -> None:
        walk = self._session.lookup.walk
        if walk.trace is not None:
            self._walk_changed(walk)
            self._step_changed(walk)

    def _step_changed(self, walk: TraceWalk) -> None:
        for place, card in enumerate(self.cards):
            behind = Progress.BEHIND if place < walk.step else Progress.AHEAD
            card.set_progress(Progress.CURRENT if place == walk.step else behind)
        self._update_controls()
        self._settling.start()

    def _set_trace(self, trace: Trace | None) -> None:
        self.timer.stop()
        self.trace = trace
        for card in self.cards:
            discard(card)
        self.cards = []
        for number, step in enumerate(trace.steps if trace is not None else ()):
            card = StepCard(number + 1, step, hidden=self._session.lookup.open_question.hides_step(number))
            card.chosen.connect(lambda number=number: self._choose(number))
            card.followed.connect(lambda span: self._session.select_span(span, self, remember=False))
            card.installEventFilter(self)
            card.set_keyboard(self.area.hasFocus())
            self._column.insertWidget(number, card)
            self.cards.append(card)
        if self.cards and any(link.hasFocus() for link in self.offers.links):
            # The focused link was removed.
            self.area.setFocus(Qt.FocusReason.OtherFocusReason)
        self.costs.setVisible(bool(self.cards))
        self._show_costs()
        self.pages.setCurrentIndex(0 if self.cards else 1)
        self._make_room()
        self._update_controls()

    def _show_costs(self, *_: object) -> None:
        """Show the costs of all steps; the cold cost is measured when it is first requested."""
        walk, wanted = self._session.lookup.walk, self.costs.cold.isChecked() and bool(self.cards)
        cold, error = (walk.cold, walk.cold_error) if wanted else (None, None)
        if wanted and cold is None and error is None:
            self._session.lookup.measure_cost()
        self.costs.show_cold(cold, sentence(error_text(error)) if error is not None else "")
        for card, cost in zip_longest(self.cards, cold.steps[: len(self.cards)] if cold is not None else ()):
            card.set_cold(cost)
        self._settling.start()

    def _selected(self, selection: Selection) -> None:
        key = selection.ref.key if selection.ref is not None else None
        if key is not None and not isinstance(selection.origin, TraceWalk) and not self.field.hasFocus():
            self._fill(key)

    def _fill(self, key: str) -> None:
        # The field may show a shortened or escaped key.
        self.field.setText(shown(key))
        self.field.setCursorPosition(0)
        self._filled = (self.field.text(), key)
        self._compare_key()

    def _compare_key(self, *_: object) -> None:
        # For a prefix, the trace contains the complete key.
        walk, text = self._session.lookup.walk, self.field.text()
        keys = {walk.key.strip(), walk.trace.key if walk.trace is not None else walk.key}
        self.band.set_current(text.strip() in keys or (text == self._filled[0] and self._filled[1] in keys))

    # --- steps ---

    def _choose(self, number: int) -> None:
        self.timer.stop()
        self._session.lookup.go_to_step(number)

    def _go(self, by: int) -> None:
        self._choose(self.current + by)

    def _toggle(self) -> None:
        if self.timer.isActive() or not self.cards:
            self.timer.stop()
        elif playback.reduced():
            self._go(1)
        else:
            self._session.lookup.go_to_step(0 if self.current == len(self.cards) - 1 else max(self.current, 0))
            self._pace()
            self.timer.start()
        self._update_controls()

    def _pace(self) -> None:
        self.timer.setInterval(max(round(self.timer.interval() * self._speed / playback.speed()), 1))
        self._speed = playback.speed()

    def _tick(self) -> None:
        if not playback.reduced():
            self._pace()
            self._session.lookup.go_to_step(self.current + 1)
        if playback.reduced() or self.current >= len(self.cards) - 1:
            self.timer.stop()
            self._update_controls()

    def _reveal(self) -> None:
        if 0 <= self.current < len(self.cards):
            card = self.cards[self.current]
            if card.height() > self.area.viewport().height():
                # Show the top of a card that is higher than the panel.
                self.area.verticalScrollBar().setValue(card.y())
            else:
                self.area.ensureWidgetVisible(card, 0, 24)

    def _update_controls(self) -> None:
        count, playing = len(self.cards), self.timer.isActive()
        self.previous_step.setEnabled(self.current > 0)
        hidden = self._session.lookup.open_question.hides_step(self.current + 1)
        self.next_step.setEnabled(0 <= self.current < count - 1 and not hidden)
        self.play.setEnabled(count > 0 and not hidden)
        self.play.setChecked(playing)
        _name(self.play, self.tr("Pause") if playing else self.tr("Play"))
        self.counter.set_text(self.tr("{0} of {1}").format(self.current + 1, count) if count else "")
        self.footer.setVisible(count > 0)

    # --- the widgets ---

    def _build(self) -> None:
        self.band = OutcomeBand()
        self.band.show_object.clicked.connect(lambda _: self._session.lookup.select_found(self))
        self.costs = made(CostSwitch(), cold_wanted=self._show_costs, visible=False)
        self._head = QWidget()
        lay(QVBoxLayout(self._head), self.band, self.costs)
        spoken, hint = self.tr("Key to look up"), self.tr("Key or prefix")
        self.field = made(QLineEdit(), "traceKey", accessibleName=spoken, placeholderText=hint, clearButtonEnabled=True)
        made(self.field, font=theme.fixed_font(), returnPressed=self._look_up, textChanged=self._compare_key)
        self.look = made(QPushButton(self.tr("Look up")), "traceLook", clicked=self._look_up)
        self.offers = made(SuggestedKeys(self._session), chosen=self._look_up_offered)
        self._top = lay(QHBoxLayout(), (self.field, 1), self.offers.menu, self.look, spacing=8)
        self._band_place = QVBoxLayout()
        line = made(QFrame(), frameShape=QFrame.Shape.HLine, frameShadow=QFrame.Shadow.Plain)
        line.setForegroundRole(QPalette.ColorRole.Mid)
        lay(QVBoxLayout(self), self._top, self._band_place, (self._built_pages(), 1), line, self._built_footer())
        self._make_room()

    def _built_pages(self) -> QWidget:
        steps = made(QWidget(), "traceSteps")
        self._band_among_steps = QVBoxLayout()
        self._column = lay(QVBoxLayout(), 1, margins=(4, 10, 4, 14), spacing=4)
        lay(QVBoxLayout(steps), self._band_among_steps, (self._column, 1))
        self.area = scrolled(steps, "traceScroll", self.tr("Steps of the lookup"), self)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.installEventFilter(self)
        steps.installEventFilter(self)
        self.area.verticalScrollBar().rangeChanged.connect(self._settling.again)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.area)
        self.pages.addWidget(self._built_empty())
        return self.pages

    def _built_empty(self) -> QWidget:
        self.hint = made(WrapText(tone="muted"), "traceHint")
        empty = QWidget()
        self._middle = lay(QVBoxLayout(empty), self.hint, self.offers, 1, spacing=20)
        return made(scrolled(empty, "traceStart", self.tr("Getting started"), self), focusPolicy=Qt.FocusPolicy.NoFocus)

    def _built_footer(self) -> QWidget:
        self.footer = QWidget()
        row = self._controls = QHBoxLayout(self.footer)
        row.setSpacing(4)
        self.counter = WrapText(tone="muted")
        for action in (self.previous_step, self.play, self.next_step):
            button = made(QToolButton(), toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setDefaultAction(action)
            row.addWidget(button)
            if action is self.play:
                self.speeds = offer_speeds(button)
        row.addSpacing(4)
        row.addWidget(self.counter, 1, Qt.AlignmentFlag.AlignVCenter)
        return self.footer

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        low = self.height() < px(LOW)
        self._middle.setContentsMargins(*((28, 24, 28, 24) if not low else (12, 4, 12, 4)))
        self._top.setContentsMargins(*((8, 4, 8, 4) if low else (12, 12, 12, 8)))
        self._controls.setContentsMargins(*((8, 1, 8, 1) if low else (12, 6, 12, 10)))
        narrow = self.width() < px(NARROW)
        self.previous_step.setIconText("◀" if narrow else self.tr("◀ Back"))
        self.next_step.setIconText("▶" if narrow else self.tr("Next ▶"))
        # Without steps there is nothing to scroll.
        place = self._band_among_steps if low and self.cards else self._band_place
        if place.indexOf(self._head) < 0:
            place.addWidget(self._head)

    def _action(self, text: str, keys: str, act: Callable[[], None]) -> QAction:
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        action = new_action(self, text, act, keys, shortcutContext=context)
        _name(action, text)
        return action

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Resize:
            self._settling.start()
        if watched is self.area and kind in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            for card in self.cards:
                card.set_keyboard(kind == QEvent.Type.FocusIn)
        if watched is self.area and isinstance(event, QKeyEvent) and kind == QEvent.Type.KeyPress:
            keys = {Qt.Key.Key_Up: self.previous_step, Qt.Key.Key_Down: self.next_step, Qt.Key.Key_Space: self.play}
            action = keys.get(Qt.Key(event.key()))
            if action is not None and not event.modifiers():
                action.trigger()
                return True
        return super().eventFilter(watched, event)


def _name(action: QAction, text: str) -> None:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    action.setText(text)
    action.setIconText(text)
    action.setToolTip(f"{text} ({keys})")
