"""Lecture: a full-screen view for a projector with a drawing, one sentence, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QGuiApplication,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from shardcore import Section, Shard, Span
from shardcore.model.drawing import Drawing
from shardcore.teaching.slides import Beat, Slide, lesson_slide, section_slides, trace_slides
from shardscope.learning.drawings.view import DrawingView
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.byte_pages import PageCache
from shardscope.session.error_messages import error_text
from shardscope.session.highlights import Highlight
from shardscope.session.jobs import alive
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.hex.view import HexView
from shardscope.widgets import fonts, playback, theme
from shardscope.widgets.plain_text import without_resources

DARK_ROOM = "dark-room"

BEAT_MILLISECONDS = 2600
"""Milliseconds per sentence at normal playback speed."""

IDLE_MILLISECONDS = 2500
"""Milliseconds without mouse movement after which the cursor is hidden."""

_LETTERS = 25
"""Number of text lines that would fill the screen; determines the font size."""

_BYTES = 26
"""Number of rows of bytes that would fill the screen; determines their zoom."""

_READABLE = 4 / 3
"""Scale of a drawing that must be scrolled, relative to the minimum scale of one that fits."""

_ROWS = 3
_RING = 0.045
_LEAST = 15
_SENTENCE = 0.34
"""Fraction of the screen height for the sentence and its choices."""


class LectureActions(QObject):
    """Actions with the keys of a lecture; enabled only while its screen is shown."""

    pressed = Signal(str)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.all = {
            "next": self._action(self.tr("Lecture: next"), "Right", "Space", "PgDown"),
            "back": self._action(self.tr("Lecture: back"), "Left", "PgUp", "Backspace"),
            "first": self._action(self.tr("Lecture: first step"), "Home"),
            "last": self._action(self.tr("Lecture: last step"), "End"),
            "play": self._action(self.tr("Lecture: play"), "P"),
            "speed": self._action(self.tr("Lecture: speed"), "S"),
            "blank": self._action(self.tr("Lecture: blank screen"), "B", "."),
            "ring": self._action(self.tr("Lecture: pointer ring"), "L"),
            "dark": self._action(self.tr("Lecture: dark room"), "D"),
            "up": self._action(self.tr("Lecture: scroll drawing up"), "Up"),
            "down": self._action(self.tr("Lecture: scroll drawing down"), "Down"),
            "leave": self._action(self.tr("Lecture: leave"), "Esc", "F11"),
        }
        for name, action in self.all.items():
            action.triggered.connect(partial(self._press, name))

    def enable(self, enabled: bool) -> None:
        for action in self.all.values():
            action.setEnabled(enabled)

    def _press(self, name: str, checked: bool = False) -> None:
        self.pressed.emit(name)

    def _action(self, text: str, *keys: str) -> QAction:
        action = QAction(text, self)
        action.setProperty("group", self.tr("Lecture"))
        action.setShortcuts([QKeySequence(key) for key in keys])
        action.setEnabled(False)
        return action


class _Overlay(QWidget):
    """Overlay of the screen: a ring around the pointer, or black."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("lectureOverlay")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.blank = self.ring = False
        self.place = QPoint(-1, -1)
        self.hide()

    def refresh(self) -> None:
        self.setVisible(self.blank or self.ring)
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.blank:
            painter.fillRect(self.rect(), Qt.GlobalColor.black)
        elif self.rect().contains(self.place):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            radius = self.height() * _RING
            colour = theme.of(self).warning
            painter.setPen(QPen(colour, radius / 7))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(self.place), radius, radius)
            painter.setOpacity(0.12)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawEllipse(QPointF(self.place), radius, radius)
        painter.end()


class LectureScreen(QWidget):
    left = Signal()
    shown = Signal()

    def __init__(
        self,
        session: Session,
        pages: PageCache,
        settings: Settings,
        player: LessonPlayer,
        actions: LectureActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("lectureScreen")
        self.setWindowTitle(self.tr("Lecture"))
        self.setAccessibleName(self.tr("Lecture"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAutoFillBackground(True)
        self._session, self._pages, self._settings = session, pages, settings
        self._player, self._actions, self._window = player, actions, parent
        self._slides: tuple[Slide, ...] = ()
        self._of_lesson = player.lesson is not None and not player.astray
        self._from_end = False
        self._staged: object = None
        self.slide: Slide | None = None
        self.at, self.beat = 0, 0
        self._drawn: Drawing | None = None
        self._build()
        self._idle = self._timer(IDLE_MILLISECONDS, self._hide_cursor)
        self._play = self._timer(BEAT_MILLISECONDS, self._tick)
        self._hidden_cursor = False
        self._connect()

    # --- beginning and end ---

    def begin(self, *, full: bool = True) -> None:
        self._apply_style()
        if full:
            self.setGeometry(self.screen().geometry())
            self.showFullScreen()
        else:
            self.show()
        self.activateWindow()
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._idle.start()
        trace = self._session.walk.trace
        if self._of_lesson:
            self._lesson_changed()
        elif trace is not None:
            self._take(trace_slides(trace), max(self._session.walk.step, 0))
        else:
            self._session.ask(
                lambda shard, _: section_slides(shard), self._take, failed=self._failed, key=("lecture", self)
            )

    def closeEvent(self, event: QCloseEvent) -> None:
        self._idle.stop()
        self._play.stop()
        self._show_cursor()
        self._actions.enable(False)
        super().closeEvent(event)
        if self._window.isVisible():
            self._window.activateWindow()
        self.left.emit()

    # --- slides ---

    @property
    def count(self) -> int:
        lesson = self._player.lesson
        return len(lesson.steps) if self._of_lesson and lesson is not None else len(self._slides)

    def _take(self, slides: tuple[Slide, ...], at: int = 0) -> None:
        self._slides = slides
        self._show_slide(at)

    def _show_slide(self, at: int, *, from_end: bool = False) -> None:
        if not 0 <= at < self.count:
            return
        self._from_end = from_end
        if self._of_lesson:
            self._player.go(at)
        else:
            self._show(at, self._slides[at])

    def _show(self, at: int, slide: Slide) -> None:
        self.at, self.slide = at, slide
        self.beat = len(slide.beats) - 1 if self._from_end else 0
        self._refresh()

    def _lesson_changed(self) -> None:
        player = self._player
        if player.lesson is None or player.astray:
            self.close()
            return
        stage, number = player.stage, player.number
        if player.trouble and stage is None:
            self._show(number, Slide(player.lesson.steps[number].title, (Beat(player.trouble),)))
        if stage is None or stage is self._staged:
            return
        self._staged = stage
        self._session.ask(
            lambda shard, _: lesson_slide(stage),
            lambda slide: self._show(number, slide),
            failed=self._failed,
            key=("lecture", self),
        )

    def _failed(self, error: BaseException) -> None:
        self._show(self.at, Slide(self.tr("Not shown"), (Beat(error_text(error)),)))

    def _session_opened(self, _: Shard) -> None:
        if not self._of_lesson:
            self.close()

    def _session_closed(self) -> None:
        if not self._of_lesson or not self._session.replacing:
            self.close()

    # --- keys ---

    def go_on(self) -> None:
        if self._overlay.blank:
            self._blank()
        elif self.slide is not None and self.beat + 1 < len(self.slide.beats):
            self.beat += 1
            self._refresh()
        elif self.at + 1 < self.count:
            self._show_slide(self.at + 1)
        else:
            self._play.stop()
            self._show_counter()

    def go_back(self) -> None:
        self._play.stop()
        if self._overlay.blank:
            self._blank()
        elif self.beat > 0:
            self.beat -= 1
            self._refresh()
        else:
            self._show_slide(self.at - 1, from_end=True)

    def _toggle_play(self) -> None:
        if self._play.isActive():
            self._play.stop()
        else:
            self.go_on()
            if not playback.reduced():
                self._wait()
        self._show_counter()

    def _tick(self) -> None:
        self.go_on()
        self._wait()
        self._show_counter()

    def _wait(self) -> None:
        last = self.slide is not None and self.at + 1 >= self.count and self.beat + 1 >= len(self.slide.beats)
        asks = self.slide is not None and self.slide.beats[self.beat].asks
        if not last and not asks:
            self._play.start(round(BEAT_MILLISECONDS / playback.speed()))

    def _next_speed(self) -> None:
        speeds = playback.SPEEDS
        playback.set_speed(speeds[(speeds.index(playback.speed()) + 1) % len(speeds)])
        self._settings.play_speed = playback.speed()
        self._show_counter()

    def _scroll(self, steps: int) -> None:
        bar = self.drawing.verticalScrollBar()
        bar.setValue(bar.value() + steps * bar.pageStep() // 3)

    def _blank(self) -> None:
        self._overlay.blank = not self._overlay.blank
        self._overlay.refresh()

    def _toggle_ring(self) -> None:
        self._overlay.ring = not self._overlay.ring
        self._overlay.place = self.mapFromGlobal(self.cursor().pos())
        self._overlay.refresh()

    def _toggle_dark(self) -> None:
        self._settings.lecture_dark = not self._settings.lecture_dark
        self._apply_style()

    # --- the current beat ---

    def _so_far(self, slide: Slide) -> tuple[Beat, ...]:
        return slide.beats[: self.beat + 1][::-1]

    def _refresh(self) -> None:
        slide = self.slide
        if slide is None:
            return
        before = self._so_far(slide)
        beat = before[0]
        drawing = next((one.drawing for one in before if one.drawing is not None), slide.drawing)
        stage = next((one.stage for one in before if one.stage is not None), None)
        own = any(one.drawing is not None for one in before)
        if drawing is not self._drawn:
            self._drawn = drawing
            self.drawing.show_drawing(drawing)
        self.drawing.setVisible(drawing is not None)
        walk = self.drawing.walk
        walk.go(len(walk.stages) if stage is None or own else stage)
        self._point_out(beat.item, stage or 0)
        self._say(beat)
        self._show_bytes(next((one.spans for one in before if one.spans), slide.spans))
        self._show_counter()
        self.shown.emit()

    def _point_out(self, name: str, stage: int) -> None:
        items = self._drawn.items if self._drawn is not None else ()
        lit = frozenset(at for at, item in enumerate(items) if name and item.name == name)
        self.drawing.highlight(lit)
        self.drawing.show_items(lit or frozenset(at for at, item in enumerate(items) if stage and item.stage == stage))

    def _say(self, beat: Beat) -> None:
        self.sentence.setText(without_resources(beat.text))
        self.choices.setText(without_resources("\n\n".join(beat.choices)))
        self.choices.setVisible(bool(beat.choices))
        self._fit()

    def _show_counter(self) -> None:
        slide = self.slide
        if slide is None:
            return
        parts = [self.tr("{0} of {1}").format(self.at + 1, self.count), slide.title]
        if self._play.isActive():
            parts.append(f"▶ {playback.speed():g}×")
        following = slide.beats[self.beat + 1 : self.beat + 2]
        if following and following[0].stage:
            parts.append(self.tr("What comes next?"))
        self.counter.setText(" · ".join(parts))

    def _show_bytes(self, spans: Sequence[Span]) -> None:
        found = [span for span in spans if span.size] or list(spans)
        self.bytes.setVisible(bool(found))
        if not found:
            return
        name = found[0].source
        here = [span for span in found if span.source == name]

        def done(about: tuple[int, tuple[Section, ...]] | None, error: BaseException | None) -> None:
            if not alive(self._show_bytes):
                return
            if about is None:
                self.bytes.hide()
                return
            state = self.bytes.state
            if (state.name, state.layout.size) != (name, about[0]):
                state.set_source(name, *about)
            state.select(here[0])
            state.scroll_to(here[0].start)
            several = enumerate(here, 1) if len(here) > 1 else ()
            state.set_highlights([Highlight(number, span) for number, span in several], ())

        self._pages.describe(name, done, key=("lecture bytes", id(self)))

    # --- the widgets ---

    def _build(self) -> None:
        self.drawing = DrawingView(self)
        self.drawing.fits = True
        self.drawing.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.drawing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence = self._label("lectureSentence", self.tr("Explanation"))
        self.choices = self._label("lectureChoices", self.tr("Choices"))
        self.counter = QLabel()
        self.counter.setObjectName("lectureCounter")
        self.counter.setTextFormat(Qt.TextFormat.PlainText)
        self.bytes = HexView(self._pages, self)
        self.bytes.setObjectName("lectureBytes")
        self.bytes.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.bytes.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.bytes.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.bytes.set_column(False)
        self.bytes.state.set_row_width(16)
        column = self._column = QVBoxLayout(self)
        column.addWidget(self.sentence)
        column.addWidget(self.choices)
        column.addWidget(self.drawing, 1)
        column.addStretch(0)
        column.addWidget(self.bytes)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.counter)
        column.addLayout(row)
        self._overlay = _Overlay(self)

    def _label(self, name: str, spoken: str) -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setAccessibleName(spoken)
        label.setTextFormat(Qt.TextFormat.MarkdownText)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        label.setWordWrap(True)
        label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return label

    def _timer(self, milliseconds: int, act: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(act)
        return timer

    def _connect(self) -> None:
        self._acts: dict[str, Callable[[], object]] = {
            "next": self.go_on,
            "back": self.go_back,
            "first": partial(self._show_slide, 0),
            "last": lambda: self._show_slide(self.count - 1),
            "play": self._toggle_play,
            "speed": self._next_speed,
            "blank": self._blank,
            "ring": self._toggle_ring,
            "dark": self._toggle_dark,
            "up": partial(self._scroll, -1),
            "down": partial(self._scroll, 1),
            "leave": self.close,
        }
        self._actions.enable(True)
        self.addActions(list(self._actions.all.values()))
        self._actions.pressed.connect(self._act)
        if self._of_lesson:
            self._player.changed.connect(self._lesson_changed)
        self._session.opened.connect(self._session_opened)
        self._session.closed.connect(self._session_closed)
        for widget in (self, *self.findChildren(QWidget)):
            widget.setMouseTracking(True)
            widget.installEventFilter(self)

    def _act(self, name: str) -> None:
        self._acts[name]()

    def _apply_style(self) -> None:
        theme.set_window_theme(self, DARK_ROOM if self._settings.lecture_dark else "")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._overlay.setGeometry(self.rect())
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ApplicationFontChange:
            self._fit()

    def _fit(self) -> None:
        size, zoom = self.size(), fonts.zoom()
        edge = round(min(size.width(), size.height()) * 0.035)
        self._column.setContentsMargins(edge, edge, edge, edge // 2)
        self._column.setSpacing(edge // 2)
        pixels = size.height() / _LETTERS * zoom
        room = QSize(max(size.width() - 2 * edge, 1), round(size.height() * _SENTENCE))
        while pixels > _LEAST and self._texts_height(pixels, room.width()) > room.height():
            pixels -= 1
        self._texts_height(pixels, room.width(), keep=True)
        drawing, least = self.drawing, size.height() / 800
        drawing.least, drawing.scrolled, drawing.most = least, least * _READABLE, size.height() / 330
        self.counter.setFont(fonts.sized(self.font(), max(pixels * 0.55, 11.0), zoomed=False))
        state = self.bytes.state
        state.set_zoom(size.height() / _BYTES / fonts.NORMAL)
        if (wide := state.grid.width + state.grid.cell) > room.width():
            state.set_zoom(state.zoom * room.width() / wide)
        self.bytes.setFixedHeight(round(state.grid.row_y(_ROWS)) + 2)

    def _texts_height(self, pixels: float, width: int, *, keep: bool = False) -> int:
        height = 0
        for label, share in ((self.sentence, 1.0), (self.choices, 0.8)):
            label.setFont(fonts.sized(self.font(), pixels * share, zoomed=False))
            label.setMinimumHeight(0)  # else a label is never lower than it was before
            own = max(label.heightForWidth(width), 0) if label.text() else 0
            if keep:
                label.setFixedHeight(own)
            height += own
        return height

    # --- the pointer ---

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            self._show_cursor()
            self._idle.start()
            if self._overlay.ring:
                self._overlay.place = self.mapFromGlobal(event.globalPosition().toPoint())
                self._overlay.update()
        return False

    def _hide_cursor(self) -> None:
        if not self._hidden_cursor and self.isActiveWindow():
            self._hidden_cursor = True
            QGuiApplication.setOverrideCursor(Qt.CursorShape.BlankCursor)

    def _show_cursor(self) -> None:
        if self._hidden_cursor:
            self._hidden_cursor = False
            QGuiApplication.restoreOverrideCursor()
