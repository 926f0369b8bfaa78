"""Playback of a drawing: its stages one after the other, by timer or by hand."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from shardscope.widgets import playback
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.playback import offer_speeds
from shardscope.widgets.wrap_text import WrapText

FRAME_MILLISECONDS = 17

ARRIVE_MILLISECONDS = 500.0
"""Milliseconds in which a stage of a drawing appears at normal speed."""

PAUSE_MILLISECONDS = 900.0
"""Milliseconds of pause between two stages of a drawing at normal speed."""


class StagePlayback(QObject):
    """Playback of a drawing: the current stage, 0 before the first, and how much of it has appeared, from 0 to 1.

    `held`: an open question keeps it before the first stage. `led`: a lecture goes through the stages.
    """

    changed = Signal()
    """The stage changed, or how much of it has appeared, or playback started or stopped."""

    def __init__(self, seen: QWidget) -> None:
        super().__init__(seen)
        self.stages: tuple[str, ...] = ()
        self.stage = 0
        self.share = 1.0
        self.playing = False
        self.held = False
        self.led = False
        self._waits = 0.0
        self._clock = QElapsedTimer()
        self.timer = QTimer(self)
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.setInterval(FRAME_MILLISECONDS)
        self.timer.timeout.connect(lambda: self.advance(float(self._clock.restart())))
        seen.installEventFilter(self)

    @property
    def ended(self) -> bool:
        return self.stage >= len(self.stages)

    @property
    def sentence(self) -> str:
        return self.stages[self.stage - 1] if 0 < self.stage <= len(self.stages) else ""

    def begin(self, stages: tuple[str, ...]) -> None:
        self._restart(stages, self.held)

    def hold(self, held: bool) -> None:
        """Stay before the first stage if `held`, else show all stages again."""
        self._restart(self.stages, held)

    def _restart(self, stages: tuple[str, ...], held: bool) -> None:
        if (stages, held) != (self.stages, self.held):
            self.stages, self.held, self.playing = stages, held, False
            self._set(0 if held else len(stages), 1.0)

    def go(self, stage: int) -> None:
        """Go to a stage; the next one appears gradually, unless motion is reduced."""
        stage = min(max(stage, 0), len(self.stages))
        moves = stage == self.stage + 1 and not playback.reduced()
        self._set(stage, 0.0 if moves else 1.0)

    def play(self) -> None:
        if self.playing:
            self.playing = False
            self._set(self.stage, self.share)
            return
        start = 0 if self.ended else self.stage
        if playback.reduced():
            self.go(start + 1)
            return
        self.playing = True
        if start == 0:
            self._set(0, 1.0)
        self.go(start + 1)

    def advance(self, milliseconds: float) -> None:
        spent = milliseconds * playback.speed()
        if self.share < 1.0:
            self._waits = PAUSE_MILLISECONDS
            self._set(self.stage, min(self.share + spent / ARRIVE_MILLISECONDS, 1.0))
        elif self.playing and not self.ended:
            self._waits -= spent
            if self._waits <= 0:
                self.go(self.stage + 1)

    def _set(self, stage: int, share: float) -> None:
        self.stage, self.share = stage, share
        self.playing = self.playing and not (self.ended and share >= 1.0)
        if share < 1.0 or self.playing:
            if not self.timer.isActive():
                self._clock.start()
                self.timer.start()
        else:
            self.timer.stop()
        self.changed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Hide and self.timer.isActive():
            self.playing = False
            self._set(self.stage, 1.0)
        return False


class PlaybackBar(QWidget):
    def __init__(self, walk: StagePlayback, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("walkBar")
        self._walk = walk
        self.play, self.following = made(QToolButton(), "walkPlay"), made(QToolButton(), "walkNext")
        self.play.clicked.connect(walk.play)
        self.speeds = offer_speeds(self.play)
        self.following.clicked.connect(lambda: walk.go(0 if walk.ended else walk.stage + 1))
        self.sentence = made(WrapText(tone="muted"), "walkSentence")
        row = QHBoxLayout(self)
        lay(row, self.play, self.following, (self.sentence, 1), margins=(12, 4, 12, 4), spacing=6)
        row.setAlignment(self.sentence, Qt.AlignmentFlag.AlignVCenter)
        walk.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        walk = self._walk
        self.setVisible(bool(walk.stages) and not (walk.held or walk.led))
        sign, words = ("❚❚", self.tr("Pause")) if walk.playing else ("▶", self.tr("Play"))
        self.play.setText(f"{sign} {words}")
        self.play.setAccessibleName(words)
        self.following.setText(self.tr("Begin") if walk.ended else self.tr("Next"))
        with QSignalBlocker(self.sentence):
            ahead = self.tr("What comes next?")
            self.sentence.set_text(f"{walk.sentence} {'' if walk.ended or walk.playing else ahead}".strip())
