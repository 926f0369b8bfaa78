"""Layout of low windows: a drawing hides the panels; a line above it shows the step of the lookup or lesson."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QToolButton, QVBoxLayout, QWidget

from shardcore.teaching.lessons.answers import AnswerVerdict
from shardcore.teaching.lessons.lesson import Answer
from shardscope.learning.lessons.markdown_paragraph import Prose
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.display_text import grouped
from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks, focused_in
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets import fonts
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.scroll_area import scrolled

_LINES = 2
_ROOM = 6


class StepLine(QWidget):
    spoken_role = QAccessible.Role.Grouping

    def __init__(self) -> None:
        super().__init__()
        made(self, "stepLine", accessibleName=self.tr("Step"))
        self.back = quiet_button("◀", self.tr("Previous step"), "stepLineBack")
        self.next = quiet_button("▶", self.tr("Next step"), "stepLineNext")
        self.answer = quiet_button(self.tr("Show me"), self.tr("Show the answer"), "stepLineAnswer")
        self.counter = Elided()
        self.title = Elided(greedy=True)
        self.title.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.title.setFont(fonts.weighted(self.title.font()))
        turning = lay(QHBoxLayout(), self.back, self.counter, self.next, spacing=4, margins=(0, 0, 6, 0))
        lay(QHBoxLayout(self), turning, (self.title, 1), self.answer, spacing=4)
        self.hide()

    def show_step(self, title: str, number: int, count: int, *, on: bool) -> None:
        """Show step `number` (from 0) of `count`; `on` enables the button for the next step."""
        self.title.set_text(title)
        self.counter.set_text(self.tr("{0} of {1}").format(number + 1, count) if count else "")
        for part in (self.back, self.next, self.counter):
            part.setVisible(count > 0)
        self.back.setEnabled(number > 0)
        self.next.setEnabled(on)


def quiet_button(text: str, meaning: str, name: str) -> QToolButton:
    focus = Qt.FocusPolicy.TabFocus
    return made(QToolButton(), name, text=text, toolTip=meaning, accessibleName=meaning, focusPolicy=focus)


LOW = 600
"""Height of the window, in pixels at 100 %, below which drawing and panels do not both fit."""

_WALKED = frozenset({"trace", "lessons"})
"""Names of the panels whose current step `StepLine` can show."""


class CompactLayout(QObject):
    """Reduces the panels to their tabs while a low window shows a drawing; a click on a tab shows or hides them."""

    def __init__(self, session: Session, panels: PanelDocks, bytes_: HexPanel, window: QMainWindow) -> None:
        super().__init__(window)
        self._session, self._panels, self._bytes, self._window = session, panels, bytes_, window
        self._lesson = panels.panel(LessonPanel)
        self._drawn = self._up = False
        self.line, self.question = StepLine(), Prose()
        self.question.setContentsMargins(12, _ROOM // 2, 12, _ROOM // 2)
        self.question.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.words = scrolled(self.question, "stepWords", self.tr("Question of the lesson"), bytes_)
        self.words.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.words.setFixedHeight(_LINES * self.words.fontMetrics().lineSpacing() + _ROOM)
        self.words.hide()
        self.toggle = quiet_button("▴", "", "panelsToggle")
        self.toggle.clicked.connect(self._toggle)
        self.toggle.hide()
        bytes_.add_beside_tabs(self.line, self.toggle)
        column = bytes_.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(1, self.words)
        self._soon = Debounce(self, self.fit)
        for signal, slot in (
            (bytes_.drawings.shown_changed, self._drawing_shown),
            (panels.asked_for, self._asked_for),
            (panels.tab_pressed, self._tab_pressed),
            (self.line.back.clicked, lambda _: self._go(-1)),
            (self.line.next.clicked, lambda _: self._go(1)),
            (self.line.answer.clicked, lambda _: self._lesson.player.show_answer()),
            (session.lookup.walk_changed, self._refresh),
            (session.lookup.step_changed, self._refresh),
            (self._lesson.player.changed, self._refresh),
        ):
            signal.connect(slot)

    def fit(self) -> None:
        low = self._panels.folded and self._window.height() < fonts.px(LOW)
        self.toggle.setVisible(self._drawn and low)
        before, keyboard = self._panels.lowered, self._in_panels
        self._panels.lower(self._drawn and low and not self._up)
        lowered = self._panels.lowered
        self._bytes.set_about_visible(not lowered)
        self.line.setVisible(lowered)
        self._refresh()
        if lowered and not before and keyboard:
            # Keep the keyboard here: a panel without height would pass it to the next widget.
            (self.line.next if self.line.next.isEnabled() else self.toggle).setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def _in_panels(self) -> bool:
        now = focused_in(self._window)
        docks = self._panels.by_name.values()
        return now is not None and any(dock.isAncestorOf(now) and not dock.isFloating() for dock in docks)

    # --- who wants what ---

    def _drawing_shown(self, in_front: bool) -> None:
        if in_front is not self._drawn:
            self._drawn, self._up = in_front, False
            self.fit()

    def _asked_for(self, name: str, focus: bool) -> None:
        if self._panels.lowered and (focus or name not in _WALKED):
            self._up = True
            self.fit()

    def _tab_pressed(self, in_front: bool) -> None:
        if self._drawn and (in_front or self._panels.lowered):
            self._up = self._panels.lowered
            # Qt raises the pressed tab after this signal.
            self._soon.start()

    def _toggle(self) -> None:
        if self._panels.lowered:
            self._panels.show(self._walked, focus=True)
        else:
            self._up = False
            self.fit()

    # --- the step ---

    def _show_question(self, asked: str, verdict: AnswerVerdict | None) -> None:
        right = verdict is not None and verdict.right
        self.question.set_tone("text" if verdict is None else "ok" if right else "warning")
        self.question.set_text(asked if verdict is None else ("✓ " if right else "✗ ") + verdict.text)
        self.words.verticalScrollBar().setValue(0)
        self.words.setVisible(bool(self.question.text()))

    @property
    def _walked(self) -> str:
        return "lessons" if self._lesson.player.lesson is not None else "trace"

    def _go(self, by: int) -> None:
        if self._walked == "trace":
            self._session.lookup.go_to_step(self._session.lookup.walk.step + by)
        elif by < 0:
            self._lesson.back.click()
        else:
            self._lesson.next.click()

    def _update_toggle(self) -> None:
        stage = self._lesson.player.stage
        question = stage.question if stage is not None else None
        if not self._panels.lowered:
            sign, meaning = "▾", self.tr("Hide the panels")
        elif self._walked == "trace":
            sign, meaning = "▴", self.tr("Show the whole step")
        elif question is not None and question.kind not in (Answer.NODE, Answer.ITEM):
            sign, meaning = self.tr("Answer ▴"), self.tr("Read the step and answer in the panel")
        else:
            sign, meaning = self.tr("Read ▴"), self.tr("Read the whole step in the panel")
        made(self.toggle, text=sign, toolTip=meaning, accessibleName=meaning)

    def _refresh(self, *_: object) -> None:
        self._update_toggle()
        if not self._panels.lowered:
            self.words.hide()
            return
        player, walk = self._lesson.player, self._session.lookup.walk
        if player.lesson is not None:
            stage = player.stage
            question = stage.question if stage is not None else None
            steps = player.lesson.steps
            self.line.show_step(steps[player.number].title, player.number, len(steps), on=player.solved)
            self.line.next.setText(self._lesson.next.text() if player.last else "▶")
            self.line.answer.setVisible(question is not None)
            self.line.answer.setEnabled(not player.solved)
            text = question.prompt if question is not None else stage.text if stage is not None else ""
            # Use the text of the panel's label, so that text from a file is not read as Markdown.
            self._show_question(text or self._lesson.trouble.text(), player.verdict)
            return
        self.words.hide()
        self.line.answer.hide()
        self.line.next.setText("▶")
        found = walk.trace.steps if walk.trace is not None else ()
        title = grouped(found[walk.step].title) if 0 <= walk.step < len(found) else ""
        self.line.show_step(title, walk.step, len(found), on=walk.step < len(found) - 1)
