"""Lecture: slides on the full screen of a projector, each with sentences (beats), a drawing and bytes of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QColor,
    QGuiApplication,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from shardcore import Section, Shard, ShardError, Span
from shardcore.model.drawing import Drawing, Item, Sketch, StaticSketch
from shardcore.shards.trace import Trace
from shardcore.teaching.drawing.picture import NORMAL
from shardcore.teaching.lessons.lesson import Show
from shardcore.teaching.lessons.lesson_step import LessonStage
from shardcore.teaching.slides import Beat, Slide, lesson_slide, section_slides, trace_slides
from shardscope.learning.drawings.drawing_request import DrawingRequest
from shardscope.learning.lessons.markdown_paragraph import Prose
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.byte_pages import PageCache
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, alive
from shardscope.session.selection import Highlight
from shardscope.session.session import Session
from shardscope.shell.actions import LECTURE_KEYS, LectureActions
from shardscope.startup.settings import Settings
from shardscope.views.hex.view import HexView
from shardscope.widgets import fonts, playback, theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.layouts import keep_room, lay, made
from shardscope.widgets.plain_text import plain_label

DARK_ROOM = "dark-room"

BEAT_MILLISECONDS = 2600
"""Milliseconds for which a sentence of a lecture is shown at normal playback speed."""

IDLE_MILLISECONDS = 2500
"""Milliseconds without mouse movement after which the cursor is hidden."""

_LETTERS, _BYTES = 25, 26
"""The font sizes of text and of bytes are the screen height divided by these numbers."""

_ROWS, _WIDTH = 3, 16
_RING = 0.045
_LEAST = 15
_SENTENCE, _LESS = 0.34, 0.16
"""Maximum fraction of the screen height for the sentence and its choices; the second if the drawing needs the space."""

_SLIDE = "slide"


class _Overlay(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("lectureOverlay")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.blank = self.ring = False
        self.place = QPoint(-1, -1)
        self.hide()

    def toggle(self, name: str) -> None:
        setattr(self, name, not getattr(self, name))
        self.move_ring(self.cursor().pos())
        self.setVisible(self.blank or self.ring)
        self.raise_()

    def move_ring(self, pointer: QPoint) -> None:
        self.place = self.mapFromGlobal(pointer)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.blank:
            painter.fillRect(self.rect(), Qt.GlobalColor.black)
        else:
            radius, colour = self.height() * _RING, theme.of(self).warning
            inside = QColor(colour)
            inside.setAlphaF(0.12)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(colour, radius / 7))
            painter.setBrush(inside)
            painter.drawEllipse(QPointF(self.place), radius, radius)
        painter.end()


class LectureScreen(QWidget):
    left = Signal()

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
        made(self, "lectureScreen", windowTitle=self.tr("Lecture"), accessibleName=self.tr("Lecture"))
        made(self, focusPolicy=Qt.FocusPolicy.StrongFocus, autoFillBackground=True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._session, self._pages, self._settings = session, pages, settings
        self._player, self._actions, self._window = player, actions, parent
        self._of_lesson = player.lesson is not None and not player.astray
        self._stage: LessonStage | None = None
        self._slides: tuple[Slide, ...] = ()
        self._sketches: tuple[Sketch, ...] = ()
        self.slide: Slide | None = None
        self.at, self.beat = 0, 0
        self._from_end = self._hidden_cursor = self._crowded = self._has_bytes = False
        self._drawn: Drawing | None = None
        self._measured: tuple[Slide | None, QSize] = None, QSize()
        self._share = _SENTENCE
        self._pending: Callable[[tuple[Slide, ...]], object] = len
        self._front = _SLIDE
        self._reached: tuple[int | None, str] = None, ""
        self._idle = Debounce(self, self._hide_cursor, IDLE_MILLISECONDS)
        self._play = Debounce(self, self._tick, BEAT_MILLISECONDS)
        self._build()
        actions.setEnabled(True)
        self.addActions(actions.actions())
        actions.triggered.connect(self._act)
        self.drawings.drawn.connect(self._make_room)
        self.drawings.drawn.connect(self._reach)
        self.drawings.item_chosen.connect(self._item_chosen)
        if self._of_lesson:
            player.changed.connect(self._lesson_changed)
        session.opened.connect(self._file_changed)
        session.closed.connect(self._file_changed)
        for widget in (self, *self.findChildren(QWidget)):
            widget.setMouseTracking(True)
            widget.installEventFilter(self)

    def _build(self) -> None:
        from shardscope.learning.drawings.paint import Fonts
        from shardscope.learning.drawings.panel import DrawingPanel

        self.sentence = made(Prose(), "lectureSentence", accessibleName=self.tr("Explanation"))
        self.choices = made(Prose(), "lectureChoices", accessibleName=self.tr("Choices"))
        for label in (self.sentence, self.choices):
            label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.drawings = DrawingPanel(self._session, self)
        self.drawings.tabs.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.drawing = self.drawings.view
        self.drawing.fits, self.drawing.fonts = True, Fonts(NORMAL)
        self.drawing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.bytes, hidden = made(HexView(self._pages, self), "lectureBytes"), Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.bytes.set_column(False)
        self.bytes.state.set_row_width(_WIDTH)
        for view in (self.drawing, self.bytes):
            made(view, verticalScrollBarPolicy=hidden, horizontalScrollBarPolicy=hidden)
            view.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # all keys are for the lecture
        self.counter = plain_label(name="lectureCounter")
        column = self.sentence, self.choices, (self.drawings, 1), 0, self.bytes, self.counter
        self._column = lay(QVBoxLayout(self), *column)
        self._column.setAlignment(self.counter, Qt.AlignmentFlag.AlignRight)
        self.overlay: _Overlay = _Overlay(self)

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
        if self._of_lesson:
            self._lesson_changed()
            return
        walk = self._session.lookup.walk
        trace, at = walk.trace, max(walk.step, 0)

        def take(slides: tuple[Slide, ...]) -> None:
            self._slides = slides
            self.show_slide(at)

        self._ask(lambda shard: section_slides(shard) if trace is None else trace_slides(trace), trace, take)

    def _file_changed(self, opened: Shard | None = None) -> None:
        if not self._of_lesson or (opened is None and not self._session.documents.replacing):
            self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._idle.stop()
        self._play.stop()
        self._show_cursor()
        self._actions.setEnabled(False)
        super().closeEvent(event)
        if self._window.isVisible():
            self._window.activateWindow()
        self.left.emit()

    # --- slides ---

    def _ask(
        self,
        make: Callable[[Shard], tuple[Slide, ...]],
        trace: Trace | None,
        take: Callable[[tuple[Slide, ...]], object],
    ) -> None:
        """Compute slides in a job, and the drawings of the file, which are shown as further tabs beside the slide."""

        def work(shard: Shard, _: Job) -> tuple[tuple[Slide, ...], tuple[Sketch, ...]]:
            slides = make(shard)
            try:
                return slides, tuple(shard.sketches(trace))
            except ShardError:
                return slides, ()

        self._pending = take
        # Methods of the screen, unlike local functions, are not called once it is deleted.
        self._session.ask(work, self._take, failed=self._failed, key=("lecture", self))

    def _take(self, found: tuple[tuple[Slide, ...], tuple[Sketch, ...]]) -> None:
        slides, self._sketches = found
        self._pending(slides)

    def _failed(self, error: BaseException) -> None:
        self._show(self.at, Slide(self.tr("Not shown"), (Beat(error_text(error)),)))

    def _lesson_changed(self) -> None:
        player = self._player
        if player.lesson is None or player.astray:
            self.close()
            return
        stage, number = player.stage, player.number
        if player.trouble and stage is None:
            self._show(number, Slide(player.lesson.steps[number].title, (Beat(player.trouble),)))
        if stage is not None and stage is not self._stage:
            self._stage = stage
            rows = next((one.name for one in stage.shown if one.kind is Show.ROWS), "")
            width, origin = (min(int(rows), _WIDTH), stage.origin) if rows.isdecimal() else (_WIDTH, 0)
            self.bytes.state.set_row_width(width, origin)
            show = partial(self._show, number)
            self._ask(lambda _: (lesson_slide(stage),), stage.scene.trace, lambda slides: show(slides[0]))

    @property
    def count(self) -> int:
        lesson = self._player.lesson
        return len(lesson.steps) if self._of_lesson and lesson is not None else len(self._slides)

    def show_slide(self, at: int, *, from_end: bool = False) -> None:
        if 0 <= at < self.count:
            self._from_end = from_end
            if self._of_lesson:
                self._player.go(at)
            else:
                self._show(at, self._slides[at])

    def _show(self, at: int, slide: Slide) -> None:
        self.at, self.slide = at, slide
        self.beat = len(slide.beats) - 1 if self._from_end else 0
        self._refresh()

    # --- keys ---

    def _act(self, action: QAction) -> None:
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        LECTURE_KEYS[action.data()][2](self)

    def go_on(self) -> None:
        if self.overlay.blank:
            self.overlay.toggle("blank")
        elif self.slide is not None and self.beat + 1 < len(self.slide.beats):
            self.beat += 1
            self._refresh()
        elif self.at + 1 < self.count:
            self.show_slide(self.at + 1)
        else:
            self._play.stop()
            self._show_counter()

    def go_back(self) -> None:
        self._play.stop()
        if self.overlay.blank:
            self.overlay.toggle("blank")
        elif self.beat > 0:
            self.beat -= 1
            self._refresh()
        else:
            self.show_slide(self.at - 1, from_end=True)

    def toggle_play(self) -> None:
        if self._play.isActive():
            self._play.stop()
            self._show_counter()
        else:
            self._tick()

    def _tick(self) -> None:
        self.go_on()
        ends = False
        if self.slide is not None:
            last = self.at + 1 >= self.count and self.beat + 1 >= len(self.slide.beats)
            ends = last or self.slide.beats[self.beat].asks
        if not playback.reduced() and not ends:
            self._play.start(round(BEAT_MILLISECONDS / playback.speed()))
        self._show_counter()

    def next_speed(self) -> None:
        speeds = playback.SPEEDS
        playback.set_speed(speeds[(speeds.index(playback.speed()) + 1) % len(speeds)])
        self._settings.play_speed = playback.speed()
        self._show_counter()

    def toggle_dark(self) -> None:
        self._settings.lecture_dark = not self._settings.lecture_dark
        self._apply_style()

    def _apply_style(self) -> None:
        theme.set_window_theme(self, DARK_ROOM if self._settings.lecture_dark else "")

    # --- the current beat ---

    def _refresh(self) -> None:
        if (slide := self.slide) is None:
            return
        so_far = slide.beats[: self.beat + 1][::-1]
        beat, own = so_far[0], next((one.drawing for one in so_far if one.drawing is not None), None)
        stage = next((one.stage for one in so_far if one.stage is not None), None)
        self._reached = (stage if own is None else None), beat.item
        self._show_drawing(slide, own)
        self._make_room()
        self.sentence.set_text(beat.text)  # gaps between paragraphs keep the size of the font at this time
        self.choices.set_text("\n\n".join(beat.choices))
        self._show_bytes(next((one.spans for one in so_far if one.spans), slide.spans))
        self._show_counter()

    def _show_drawing(self, slide: Slide, answer: Drawing | None) -> None:
        """Show the drawing of the answer, else of the slide; a drawing of the file with its controls, in its tab."""
        drawing = answer or slide.drawing
        self.drawings.setVisible(drawing is not None)
        if drawing is None or drawing is self._drawn:
            self._drawn = drawing
            self._reach()
            return
        self._drawn = drawing
        stage = self._stage if self._of_lesson else None
        targets = () if stage is None else stage.shown if answer is None else stage.revealed
        shown = next((one for one in reversed(targets) if one.kind is Show.DRAWING), None)
        if shown is not None and shown.name in [sketch.name for sketch in self._sketches]:
            self._front = shown.name
            self.drawings.show_sketches(self._sketches, shown.name)
            self.drawings.fulfil(DrawingRequest(shown.name, dict(shown.values)))
        else:
            self._front = _SLIDE
            self.drawings.show_sketches((StaticSketch(_SLIDE, slide.title, drawing), *self._sketches), _SLIDE)

    def _make_room(self) -> None:
        """Reserve space for the bytes of all beats of a slide; hide them if its drawings are not readable then."""
        slide, bytes_ = self.slide, self.bytes
        if self._measured == (slide, self._room()):
            return
        self._share = _SENTENCE
        self._fit()
        if slide is not None and self._stage is not None:
            room = self._room()
            lower = QSize(0, bytes_.height() + self._column.spacing())
            kept = not bytes_.isHidden() or bytes_.sizePolicy().retainSizeWhenHidden()
            self._crowded = not self._readable(slide, room if kept else room - lower)
            keep_room(bytes_, keeps=not self._crowded and any((slide.spans, *(beat.spans for beat in slide.beats))))
            bytes_.setVisible(self._has_bytes and not self._crowded)
            while self._crowded and self._share > _LESS and not self._readable(slide, self._room()):
                self._share -= 0.04
                self._fit()
        self._measured = slide, self._room()

    def _room(self) -> QSize:
        self._column.activate()
        if (inside := self.drawings.layout()) is not None:
            inside.activate()
        return self.drawing.viewport().size()

    def _readable(self, slide: Slide, room: QSize) -> bool:
        drawings = (slide.drawing, *(beat.drawing for beat in slide.beats))
        return all(one is None or self.drawing.fitting(one, room)[1] >= self.drawing.readable for one in drawings)

    def _reach(self) -> None:
        """Show the drawing up to the stage of the current beat, and highlight the item that the beat is about."""
        walk, drawing = self.drawing.walk, self.drawings.drawing
        walk.led = self.drawings.name == self._front
        stage, name = self._reached if walk.led else (None, "")
        walk.go(len(walk.stages) if stage is None else stage)
        items = drawing.items if drawing is not None else ()
        named = frozenset(at for at, item in enumerate(items) if name and item.name == name)
        self.drawing.highlight(named)
        self.drawing.show_items(
            named or frozenset(at for at, item in enumerate(items) if stage and item.stage == stage)
        )

    def _item_chosen(self, item: Item) -> None:
        if item.spans:
            self._show_bytes(item.spans)

    def _show_counter(self) -> None:
        if (slide := self.slide) is None:
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
        self._has_bytes = bool(found)
        self.bytes.setVisible(self._has_bytes and not self._crowded)
        if not found:
            return
        name = found[0].source
        here = [span for span in found if span.source == name]

        def done(about: tuple[int, tuple[Section, ...]] | None, error: BaseException | None) -> None:
            if not alive(self._show_bytes):
                return
            if about is None:
                self._has_bytes = False
                self.bytes.hide()
                return
            state = self.bytes.state
            if (state.name, state.layout.size) != (name, about[0]):
                state.set_source(name, *about)
                self._fit()  # the offsets of a larger source are wider
            state.select(here[0])
            state.scroll_to(here[0].start)
            several = enumerate(here, 1) if len(here) > 1 else ()
            state.set_highlights([Highlight(number, span) for number, span in several], ())

        self._pages.describe(name, done, key=("lecture bytes", id(self)))

    # --- sizes ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.overlay.setGeometry(self.rect())
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ApplicationFontChange:
            QTimer.singleShot(0, self, self._lay_out)  # once all widgets have their fonts

    def _lay_out(self) -> None:
        self._measured = None, QSize()
        self._make_room()

    def _fit(self) -> None:
        size = self.size()
        edge = round(min(size.width(), size.height()) * 0.035)
        self._column.setContentsMargins(edge, edge, edge, edge // 2)
        self._column.setSpacing(edge // 2)
        pixels = size.height() / _LETTERS * fonts.zoom()
        room = QSize(max(size.width() - 2 * edge, 1), round(size.height() * self._share))
        while (
            (heights := self._text_heights(pixels, room.width())) and sum(heights) > room.height() and pixels > _LEAST
        ):
            pixels -= 1
        for label, height in zip((self.sentence, self.choices), heights, strict=True):
            label.setFixedHeight(height)
            keep_room(label, keeps=height > 0)
        small = fonts.sized(self.font(), max(pixels * 0.55, 11.0), zoomed=False)
        controls = self.drawings.controls
        for widget in (self.counter, self.drawings.tabs, controls, *controls.findChildren(QWidget)):
            widget.setFont(small)
        self.drawing.most = size.height() / 330
        self.drawing.readable = size.height() * 24 / 1080 / NORMAL  # labels of 24 pixels on a screen of 1080
        state = self.bytes.state
        state.set_zoom(size.height() / _BYTES / fonts.NORMAL)
        # The grid has whole pixels, so that its width does not follow the zoom exactly.
        while state.grid.width + state.grid.cell > room.width() and state.zoom > fonts.ZOOMS[0]:
            state.set_zoom(state.zoom * 0.97)
        self.bytes.setFixedHeight(round(state.grid.row_y(_ROWS)) + 2)

    def _text_heights(self, pixels: float, width: int) -> list[int]:
        """Return heights of sentence and choices that suffice for all beats of the slide, so that nothing moves."""
        beats, heights = self.slide.beats if self.slide is not None else (), []
        for label, share, texts in (
            (self.sentence, 1.0, [beat.text for beat in beats]),
            (self.choices, 0.8, ["\n\n".join(beat.choices) for beat in beats]),
        ):
            label.setFont(fonts.sized(self.font(), pixels * share, zoomed=False))
            heights.append(max((label.height_of(text, width) for text in texts), default=0))
        return heights

    # --- the pointer ---

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            self._show_cursor()
            self._idle.start()
            if self.overlay.ring:
                self.overlay.move_ring(event.globalPosition().toPoint())
        elif event.type() == QEvent.Type.LayoutRequest and watched is self.drawings:
            self._make_room()  # its tabs have their height only now
        return False

    def _hide_cursor(self) -> None:
        if not self._hidden_cursor and self.isActiveWindow():
            self._hidden_cursor = True
            QGuiApplication.setOverrideCursor(Qt.CursorShape.BlankCursor)

    def _show_cursor(self) -> None:
        if self._hidden_cursor:
            self._hidden_cursor = False
            QGuiApplication.restoreOverrideCursor()
