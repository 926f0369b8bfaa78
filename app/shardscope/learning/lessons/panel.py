"""Panel of lessons: the list, or the lesson in progress."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QByteArray, QCoreApplication, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QImage, QKeyEvent, QKeySequence, QPainter, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import UsageError
from shardcore.codecs.decoder_process import IsolatedDecoder
from shardcore.codecs.images import decode_picture
from shardcore.model.text import plural
from shardcore.teaching.lessons.html_page import answer_of, lesson_page, lesson_stages
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonError
from shardcore.teaching.lessons.lesson_list import beside, lessons, missions, notes_of, read_lesson
from shardcore.teaching.lessons.placeholders import escaped
from shardcore.writing.temporary import write_whole
from shardscope.learning.lessons.list_page import LessonList
from shardscope.learning.lessons.markdown_paragraph import Prose
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.learning.lessons.question_box import QuestionBox
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import JobPriority, Jobs, Pool, alive
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import px
from shardscope.widgets.plain_text import ResourceFreeText
from shardscope.widgets.scroll_area import scrolled

T = TypeVar("T")
_MOST_PICTURE = 4 << 20
_PICTURE = QSize(900, 640)


_LOADS = re.compile(rb"""<!(?:DOCTYPE|ENTITY)|href\s*=\s*["'](?!\s*#)""", re.IGNORECASE)


class LessonFiles(QWidget):
    reported = Signal(str, bool)
    follow = Signal(object)

    def __init__(self, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()
        self._jobs = jobs

    def export(self, lesson: Lesson, path: str) -> None:
        def take(_: object) -> None:
            self.reported.emit(self.tr("Saved: {0}").format(path), False)

        self._ask(lambda: write_whole(Path(path), [lesson_page(lesson).encode()], force=True), take, "export")

    def show_notes(self, lesson: Lesson) -> None:
        def text() -> str:
            answers = [(stage, answer_of(stage)) for stage in lesson_stages(lesson)]
            lines = [
                f"{stage.number + 1}. **{stage.step.title}**: {answer.answer}"
                for stage, answer in answers
                if answer is not None
            ]
            examples = self.tr("For generated files, the answers are examples.")
            return "\n\n".join((notes_of(lesson), "## Solutions", examples, *lines))

        def take(words: str) -> None:
            view = ResourceFreeText()
            view.setObjectName("lessonNotesText")
            view.setAccessibleName(self.tr("Instructor notes"))
            view.setOpenLinks(False)
            view.setMarkdown(words)
            self._dialog(view, self.tr("Instructor notes"), "lessonNotes")

        self._ask(text, take, "notes")

    def follow_link(self, lesson: Lesson, link: str) -> None:
        path = unquote(link.partition("#")[0])

        def find() -> Lesson | QImage:
            found = None if urlsplit(link).scheme else beside(lesson, path)
            if found is None:
                raise UsageError(f"cannot open {link}: it is not a file beside this lesson")
            if found.suffix != ".md":
                return _picture(found)
            try:
                return read_lesson(found)
            except LessonError as error:
                raise UsageError(f"{path} is not a lesson: {error}") from error

        def take(found: Lesson | QImage) -> None:
            if isinstance(found, Lesson):
                self.follow.emit(found)
                return
            label = QLabel()
            label.setPixmap(QPixmap.fromImage(found))
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setAccessibleName(path)
            self._dialog(scrolled(label, "lessonPictureArea", path, self), path, "lessonPicture")

        self._ask(find, take, "link")

    def _dialog(self, inside: QWidget, title: str, name: str) -> None:
        dialog = QDialog(self.window())
        dialog.setObjectName(name)
        dialog.setWindowTitle(title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(dialog.reject)
        column = QVBoxLayout(dialog)
        column.addWidget(inside, 1)
        column.addWidget(buttons)
        dialog.resize(680, 560)
        dialog.open()

    def _ask(self, work: Callable[[], T], take: Callable[[T], object], key: str) -> None:
        def done(result: T | None, error: BaseException | None) -> None:
            if not alive(self.export) or job.cancelled:
                return
            if result is None:
                self.reported.emit(error_text(error), True)
            else:
                take(result)

        job = self._jobs.submit(
            lambda _: work(),
            key=("lessons", key, self),
            pool=Pool.CPU,
            priority=JobPriority.SELECTED,
            lasting=True,
            done=done,
        )


def _picture(path: Path) -> QImage:
    """Decode a picture beside a lesson.

    Raises:
        UsageError: It has over 4 MiB, is an SVG that refers to other files, or is not a picture.
    """
    if path.stat().st_size > _MOST_PICTURE:
        raise UsageError(f"{path.name} is too large: pictures of a lesson have at most {_MOST_PICTURE >> 20} MiB")
    data = path.read_bytes()
    image = QImage()
    if path.suffix.lower() == ".svg":
        # Qt would open the files that an SVG refers to; other encodings could hide their names.
        if _LOADS.search(data) or b"\0" in data:
            raise UsageError(f"{path.name} is not shown: it refers to other files, or declares entities")
        renderer = QSvgRenderer(QByteArray(data))
        size = renderer.defaultSize().scaled(_PICTURE, Qt.AspectRatioMode.KeepAspectRatio)
        if renderer.isValid() and not size.isEmpty():
            image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
            image.fill(Qt.GlobalColor.white)
            painter = QPainter(image)
            renderer.render(painter)
            painter.end()
    elif path.suffix.lower() in (".png", ".jpg", ".jpeg", ".gif", ".webp"):
        with IsolatedDecoder() as decoder:
            pixels = decode_picture(data, decoder=decoder.run)
        rows, columns = pixels.shape[:2]
        image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888).copy()
    if image.isNull():
        words = QCoreApplication.translate("LessonFiles", "{0} is not shown: it is neither a lesson nor a picture")
        raise UsageError(words.format(path.name))
    return image


LOW = 260


class LessonPanel(QWidget):
    begun = Signal()
    """A lesson was started or continued from the list."""
    reload_wanted = Signal()

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lessonPanel")
        self.setAccessibleName(self.tr("Lessons"))
        self._session = session
        self._settings = settings
        self._asked: object = None
        self._listed = False
        self._keyboard = False
        self.player = LessonPlayer(session, settings)
        self.list = LessonList(settings)
        self.list.chosen.connect(self._chosen)
        self.files = LessonFiles(session.jobs, self)
        self.files.reported.connect(session.say)
        self.files.follow.connect(self.begin)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.list)
        self.pages.addWidget(self._built_lesson())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.pages)
        self.player.changed.connect(self._refresh)
        self.player.shown_answer.connect(self.question.show_given)
        session.opened.connect(lambda *_: self._list_again())
        session.closed.connect(self._list_again)
        self._make_room()
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    def teach(self) -> None:
        if self.player.lesson is None:
            self._fill_list()
        self.setFocus()

    def show_missions(self) -> None:
        if self.player.lesson is not None:
            self.player.leave()
        self._fill_list()
        QTimer.singleShot(0, self, self.list.show_missions)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._listed:
            self._fill_list()
        for card in self.list.cards:
            card.refresh()  # another window may have continued a lesson

    def _list_again(self) -> None:
        self._listed = False
        if self.isVisible():
            self._fill_list()

    def _fill_list(self) -> None:
        if self.player.lesson is None:
            self._listed = True
            shard = self._session.shard
            self.list.fill(lessons(), shard.format if shard is not None else "", missions())

    def begin(self, lesson: Lesson) -> None:
        self.begun.emit()
        self.player.start(lesson, step=max(self._settings.lesson_step(lesson.name), 0))

    def _chosen(self, lesson: Lesson) -> None:
        self.begin(lesson)
        # The button that started the lesson is hidden now: keep the focus here.
        self.setFocus()
        self._keyboard = True

    # --- one lesson ---

    def _built_lesson(self) -> QWidget:
        top = self._built_top()
        self.bar = QProgressBar()
        self.bar.setObjectName("lessonProgress")
        self.bar.setAccessibleName(self.tr("Progress of the lesson"))
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.heading = Prose(bold=True, large=True)
        self.text = Prose()
        self.text.setObjectName("lessonText")
        self.text.linkActivated.connect(self._follow)
        self.trouble = Prose(tone="warning")
        self.trouble.setObjectName("lessonTrouble")
        self.on = QPushButton(self.tr("Back to the lesson's file"))
        self.on.setObjectName("lessonReturn")
        self.on.clicked.connect(lambda: self.player.go(self.player.number))
        self.question = QuestionBox()
        self.question.given.connect(self.player.answer)
        self.question.picked.connect(self.player.choose)
        inside = QWidget()
        body = self._body = QVBoxLayout(inside)
        body.setSpacing(12)
        for widget in (self.heading, self.text, self.trouble, self.question):
            body.addWidget(widget)
        body.insertWidget(3, self.on, 0, Qt.AlignmentFlag.AlignLeft)
        body.addStretch(1)
        self.area = QScrollArea()
        self.area.setObjectName("lessonScroll")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setAccessibleName(self.tr("Step of the lesson"))
        self.area.setWidget(inside)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.bar)
        column.addWidget(self.area, 1)
        column.addLayout(self._built_buttons())
        return page

    def _built_top(self) -> QHBoxLayout:
        self.title = Elided(greedy=True)
        self.counter = Elided()
        self.more = QToolButton()
        self.more.setObjectName("lessonMore")
        self.more.setText(self.tr("⋯"))
        self.more.setAutoRaise(True)
        self.more.setToolTip(self.tr("Instructor notes and export"))
        self.more.setAccessibleName(self.tr("More about the lesson"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        menu.addAction(self.tr("&Instructor notes"), self._show_notes).setObjectName("lessonNotesAction")
        menu.addAction(self.tr("&Export page…"), self._export).setObjectName("lessonExportAction")
        self.more.setMenu(menu)
        self.leave = QToolButton()
        self.leave.setObjectName("lessonLeave")
        self.leave.setText(self.tr("✕"))
        self.leave.setAutoRaise(True)
        self.leave.setToolTip(self.tr("Leave the lesson; you can continue later"))
        self.leave.setAccessibleName(self.tr("Leave the lesson"))
        self.leave.clicked.connect(self.player.leave)
        self.reload = QToolButton()
        self.reload.setObjectName("lessonReload")
        self.reload.setText(self.tr("Reload lesson"))
        self.reload.setAutoRaise(True)
        self.reload.setToolTip(self.tr("Reads the lesson file again. This happens automatically when it is saved."))
        self.reload.clicked.connect(self.reload_wanted)
        top = self._top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.counter)
        top.addWidget(self.reload)
        top.addWidget(self.more)
        top.addWidget(self.leave)
        return top

    def _built_buttons(self) -> QHBoxLayout:
        self.back = self._button(self.tr("Back"), "lessonBack", lambda: self.player.go(self.player.number - 1))
        self.hint = self._button(self.tr("Hint"), "lessonHint", self.player.hint)
        self.show_me = self._button(self.tr("Show me"), "lessonShowMe", self.player.show_answer)
        self.another = self._button(self.tr("Another file"), "lessonAnother", self.player.another_file)
        self.next = self._button(self.tr("Next"), "lessonNext", self._on)
        self._key("Ctrl+PgDown", self.next)
        self._key("Ctrl+PgUp", self.back)
        row = self._row = QHBoxLayout()
        row.setSpacing(4)
        for button in (self.back, self.hint, self.show_me):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.another)
        row.addWidget(self.next)
        return row

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()
        self._show_titles()

    def _make_room(self) -> None:
        low = self.height() < px(LOW)
        self._top.setContentsMargins(*((14, 0, 8, 0) if low else (14, 8, 8, 6)))
        self._body.setContentsMargins(*((16, 4, 16, 8) if low else (16, 14, 16, 16)))
        self._row.setContentsMargins(*((8, 2, 8, 2) if low else (8, 8, 8, 10)))

    def _button(self, text: str, name: str, act: object) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.clicked.connect(act)
        return button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or self.player.lesson is None:
            super().keyPressEvent(event)
            return
        here = QApplication.focusWidget()
        if event.isAutoRepeat():
            return
        if isinstance(here, QPushButton | QToolButton) and here is not self.next:
            here.click()
        elif self.player.solved:
            self._on()

    def _key(self, keys: str, button: QPushButton) -> None:
        action = QAction(button.text(), self)
        action.setShortcut(QKeySequence(keys))
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(button.click)
        self.addAction(action)

    def _on(self) -> None:
        if self.player.last:
            self.player.finish()
        else:
            # Opening a file moves the focus; it returns with the question.
            self._keyboard = self.isAncestorOf(QApplication.focusWidget() or self.window())
            if self.next.hasFocus():
                # If Next is disabled, the focus would move to Back.
                self.area.setFocus()
            self.player.go(self.player.number + 1)

    def _show_notes(self) -> None:
        if self.player.lesson is not None:
            self.files.show_notes(self.player.lesson)

    def _export(self) -> None:
        lesson = self.player.lesson
        if lesson is not None:
            name, kinds = f"{lesson.name}.html", {"HTML (*.html)": "html"}
            ask_target(self, self.tr("Export page"), partial(self.files.export, lesson), name=name, kinds=kinds)

    def _follow(self, link: str) -> None:
        if self.player.lesson is not None:
            self.files.follow_link(self.player.lesson, link)

    # --- telling ---

    def _refresh(self) -> None:
        player = self.player
        lesson = player.lesson
        # A focused button that is disabled or hidden would pass the focus to an arbitrary widget.
        held = self.isAncestorOf(QApplication.focusWidget() or self.window())
        left = lesson is None and self.pages.currentIndex() == 1
        if lesson is not None and self.pages.currentIndex() == 0:
            # Opening the file of the lesson moves the focus; it returns with the question.
            self._keyboard = True
        self.pages.setCurrentIndex(0 if lesson is None else 1)
        self.setFocusProxy(self.list if lesson is None else self.area)
        if lesson is None:
            self._asked = None
            self._list_again()
            if held and left:
                self.setFocus()
            return
        count = len(lesson.steps)
        self._show_titles()
        self._show_counter()
        self.reload.setVisible(player.trying)
        self.bar.setRange(0, count)
        self.bar.setValue(player.number + 1)
        stage = player.stage
        waiting = stage is None and not player.trouble and not player.astray
        self.text.set_text(self.tr("Loading …") if waiting else stage.text if stage is not None else "")
        self.trouble.set_text(self._trouble(lesson))
        self.on.setVisible(bool(player.astray))
        self.next.setEnabled(player.solved)
        self._show_question()
        if held and player.solved and player.verdict is not None:
            self.next.setFocus()
        self.back.setEnabled(player.number > 0)
        self.another.setVisible(player.can_repeat and player.solved)
        self.next.setText(self.tr("Finish") if player.last else self.tr("Next"))

    def _show_counter(self) -> None:
        player = self.player
        if player.lesson is None:
            return
        self.counter.set_text(self.tr("{0} of {1}").format(player.number + 1, len(player.lesson.steps)))

    def _show_titles(self) -> None:
        lesson = self.player.lesson
        if lesson is None:
            return
        step, low = lesson.steps[self.player.number].title, self.height() < px(LOW)
        self.title.set_text(step if low else lesson.title)
        font = self.title.font()
        if font.bold() is not low:
            font.setBold(low)
            self.title.setFont(font)
        self.heading.set_text("" if low else step)

    def _trouble(self, lesson: Lesson) -> str:
        player = self.player
        if player.astray:
            words = self.tr("{0} is open, but the lesson is about another file. Go back to it, or leave the lesson.")
            if self._session.request.sandbox:
                words = self.tr(
                    "The sandbox of {0} is open, but the lesson is about another file. Press *Back to the lesson's "
                    "file*: you are asked before changes are dropped."
                )
            return words.format(escaped(player.astray))
        if not player.trouble:
            return ""
        why = escaped(player.trouble.rstrip("."))
        if player.trying:
            line = player.stage.line if player.stage is not None else 0
            return self.tr("Line {0} of the lesson: {1}.").format(line or lesson.steps[player.number].line, why)
        return self.tr("This step cannot be shown: {0}. Continue with the next one.").format(why)

    def _show_question(self) -> None:
        player = self.player
        question = player.stage.question if player.stage is not None else None
        self.question.setVisible(question is not None)
        self.hint.setVisible(question is not None and bool(question.hints))
        self.show_me.setVisible(question is not None and question.kind is not Answer.MENDED)
        if question is None:
            self._asked = None
            return
        if self._asked is not player.stage:
            self._asked = player.stage
            self.question.ask(question)
            self.area.verticalScrollBar().setValue(0)
            held, self._keyboard = self._keyboard or self.hasFocus(), False
            if held:
                self.setFocus()
                if question.kind not in (Answer.NODE, Answer.ITEM):
                    self.question.take_focus()
        self.question.choose(player.chosen)
        self.question.show_verdict(player.verdict)
        self.question.show_hints(question.hints[: player.hints])
        more = player.hints < len(question.hints) and not player.solved
        if self.hint.hasFocus() and not more:
            self.setFocus()  # otherwise the focus moves to *Show me*, and Space would reveal the answer
            self.question.take_focus()
        self.hint.setEnabled(more)
        left = len(question.hints) - player.hints
        self.hint.setToolTip(self.tr("{0} left").format(plural(left, "hint")))
        self.show_me.setEnabled(not player.solved)
