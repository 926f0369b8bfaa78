"""Panel of lessons: the list, or the lesson in progress."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QByteArray, QCoreApplication, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QKeyEvent, QPainter, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import UsageError
from shardcore.model.text import plural
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonError
from shardcore.teaching.lessons.lesson_list import beside, lessons, missions, notes_of, read_lesson
from shardcore.teaching.lessons.placeholders import escaped
from shardcore.writing.temporary import write_whole
from shardscope.learning.lessons.list_page import LessonList
from shardscope.learning.lessons.markdown_paragraph import Prose
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.learning.lessons.question_box import QuestionBox
from shardscope.session.display_text import error_text
from shardscope.session.jobs import JobPriority, Pool, alive
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import drop_menu, lay, made, new_action
from shardscope.widgets.plain_text import ResourceFreeText
from shardscope.widgets.scroll_area import scrolled

T = TypeVar("T")
_MOST_PICTURE = 4 << 20
_PICTURE = QSize(900, 640)


_LOADS = re.compile(rb"""<!(?:DOCTYPE|ENTITY)|href\s*=\s*["'](?!\s*#)""", re.IGNORECASE)


def _picture(path: Path) -> QImage:
    """Decode a picture file to which a lesson links.

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
        from shardcore.codecs.decoder_process import IsolatedDecoder
        from shardcore.codecs.images import decode_picture

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
    """Panel of lessons. Its content is built when the panel is first shown or a lesson starts."""

    begun = Signal()
    reload_wanted = Signal()

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "lessonPanel", accessibleName=self.tr("Lessons"))
        self._session = session
        self._settings = settings
        self._asked: object = None
        self._listed = False
        self._keyboard = False
        self._page: QWidget | None = None
        self.player = LessonPlayer(session, settings)
        self.pages = QStackedWidget()
        lay(QVBoxLayout(self), self.pages, spacing=-1)
        self.player.changed.connect(self._refresh)
        for name, text, keys in (("next", self.tr("Next"), "Ctrl+PgDown"), ("back", self.tr("Back"), "Ctrl+PgUp")):
            context = Qt.ShortcutContext.WidgetWithChildrenShortcut
            new_action(self, text, partial(self._press, name), keys, shortcutContext=context)
        session.opened.connect(self._list_again)
        session.closed.connect(self._list_again)

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    # --- the list ---

    @cached_property
    def list(self) -> LessonList:
        found = made(LessonList(self._settings), chosen=self._chosen)
        self.pages.insertWidget(0, found)
        return found

    def teach(self) -> None:
        self._fill_list()
        self.setFocus()

    def show_missions(self) -> None:
        self.player.leave()
        self._fill_list()
        QTimer.singleShot(0, self, self.list.show_missions)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._lesson_page()
        if not self._listed:
            self._fill_list()
        if self.player.lesson is None:
            for card in self.list.cards:
                card.refresh()  # another window may have continued a lesson

    def _list_again(self, *_: object) -> None:
        self._listed = False
        if self.isVisible():
            self._fill_list()

    def _fill_list(self) -> None:
        if self.player.lesson is None:
            self._listed = True
            shard = self._session.shard
            self.list.fill(lessons(), shard.format if shard is not None else "", missions())
            self.setFocusProxy(self.list)
            self.pages.setCurrentWidget(self.list)

    def begin(self, lesson: Lesson) -> None:
        self.begun.emit()
        self.player.start(lesson, step=max(self._settings.lesson_step(lesson.name), 0))

    def _chosen(self, lesson: Lesson) -> None:
        self.begin(lesson)
        # The button that started the lesson is hidden now: keep the focus here.
        self.setFocus()
        self._keyboard = True

    # --- the page of a step ---

    @cached_property
    def question(self) -> QuestionBox:
        return QuestionBox()

    def _lesson_page(self) -> QWidget:
        if self._page is not None:
            return self._page
        player = self.player
        self.title, self.counter = Elided(greedy=True), Elided()
        menu = QMenu(self)
        for name, text, act in (
            ("lessonNotesAction", self.tr("&Instructor notes"), self.show_notes),
            ("lessonExportAction", self.tr("&Export page…"), self._ask_export),
        ):
            menu.addAction(text, partial(self._of_lesson, act)).setObjectName(name)
        self.reload, self.more, self.leave = (
            made(QToolButton(), name, text=text, autoRaise=True, toolTip=tip, accessibleName=spoken)
            for name, text, spoken, tip in (
                (
                    "lessonReload",
                    self.tr("Reload lesson"),
                    "",
                    self.tr("Reads the lesson file again. This happens automatically when it is saved."),
                ),
                ("lessonMore", "⋯", self.tr("More about the lesson"), self.tr("Instructor notes and export")),
                ("lessonLeave", "✕", self.tr("Leave the lesson"), self.tr("Leave the lesson; you can continue later")),
            )
        )
        drop_menu(self.more, menu)
        spoken = self.tr("Progress of the lesson")
        self.bar = made(QProgressBar(), "lessonProgress", accessibleName=spoken, textVisible=False)
        self.bar.setFixedHeight(4)
        self.heading, self.text = Prose(bold=True, large=True), made(Prose(), "lessonText")
        self.trouble = made(Prose(tone="warning"), "lessonTrouble")
        self.on, self.back, self.hint, self.show_me, self.another, self.next = (
            made(QPushButton(text), name)
            for name, text in (
                ("lessonReturn", self.tr("Back to the lesson's file")),
                ("lessonBack", self.tr("Back")),
                ("lessonHint", self.tr("Hint")),
                ("lessonShowMe", self.tr("Show me")),
                ("lessonAnother", self.tr("Another file")),
                ("lessonNext", self.tr("Next")),
            )
        )
        for signal, slot in (
            (self.reload.clicked, self.reload_wanted),
            (self.leave.clicked, player.leave),
            (self.text.linkActivated, partial(self._of_lesson, self.follow_link)),
            (self.on.clicked, lambda: player.go(player.number)),
            (self.back.clicked, lambda: player.go(player.number - 1)),
            (self.hint.clicked, player.hint),
            (self.show_me.clicked, player.show_answer),
            (self.another.clicked, player.another_file),
            (self.next.clicked, self._on),
            (self.question.given, player.answer),
            (self.question.picked, player.choose),
            (player.shown_answer, self.question.show_given),
        ):
            signal.connect(slot)
        inside, page = QWidget(), QWidget()
        self._page = page
        parts = self.heading, self.text, self.trouble, self.on, self.question
        self._body = lay(QVBoxLayout(inside), *parts, 1, spacing=12)
        self._body.setAlignment(self.on, Qt.AlignmentFlag.AlignLeft)
        self.area = scrolled(inside, "lessonScroll", self.tr("Step of the lesson"), page)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._top = lay(QHBoxLayout(), (self.title, 1), self.counter, self.reload, self.more, self.leave, spacing=-1)
        buttons = self.back, self.hint, self.show_me, 1, self.another, self.next
        self._row = lay(QHBoxLayout(), *buttons, spacing=4)
        lay(QVBoxLayout(page), self._top, self.bar, (self.area, 1), self._row)
        self.pages.addWidget(page)
        self._make_room()
        return page

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._page is not None:
            self._make_room()
            self._show_titles()

    def _make_room(self) -> None:
        low = self.height() < px(LOW)
        self._top.setContentsMargins(*((14, 0, 8, 0) if low else (14, 8, 8, 6)))
        self._body.setContentsMargins(*((16, 4, 16, 8) if low else (16, 14, 16, 16)))
        self._row.setContentsMargins(*((8, 2, 8, 2) if low else (8, 8, 8, 10)))

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

    def _press(self, name: str) -> None:
        self._lesson_page()
        getattr(self, name).click()

    def _on(self) -> None:
        if self.player.last:
            self.player.finish()
        else:
            # Opening a file moves the focus; it returns with the question.
            self._keyboard = self._has_focus
            if self.next.hasFocus():
                # If Next is disabled, the focus would move to Back.
                self.area.setFocus()
            self.player.go(self.player.number + 1)

    @property
    def _has_focus(self) -> bool:
        return self.isAncestorOf(QApplication.focusWidget() or self.window())

    # --- showing ---

    def _refresh(self) -> None:
        player = self.player
        lesson = player.lesson
        # A focused button that is disabled or hidden would pass the focus to an arbitrary widget.
        held = self._has_focus
        if lesson is None:
            self._asked = None
            if self._page is not None and self.pages.currentWidget() is self._page:
                self.pages.setCurrentWidget(self.list)
                self.setFocusProxy(self.list)
                self._list_again()
                if held:
                    self.setFocus()
            return
        page = self._lesson_page()
        if self.pages.currentWidget() is not page:
            # Opening the file of the lesson moves the focus; it returns with the question.
            self._keyboard = True
        self.pages.setCurrentWidget(page)
        self.setFocusProxy(self.area)
        self._show_titles()
        count = len(lesson.steps)
        self.counter.set_text(self.tr("{0} of {1}").format(player.number + 1, count))
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
        self.hint.setToolTip(self.tr("{0} left").format(plural(len(question.hints) - player.hints, "hint")))
        self.show_me.setEnabled(not player.solved)

    # --- files beside the lesson ---

    def _ask_export(self, lesson: Lesson) -> None:
        def save(path: str) -> None:
            from shardcore.teaching.lessons.html_page import lesson_page

            def take(_: object) -> None:
                self._session.say(self.tr("Saved: {0}").format(path))

            self._ask(lambda: write_whole(Path(path), [lesson_page(lesson).encode()], force=True), take, "export")

        name, kinds = f"{lesson.name}.html", {"HTML (*.html)": "html"}
        ask_target(self, self.tr("Export page"), save, name=name, kinds=kinds)

    def show_notes(self, lesson: Lesson) -> None:
        title = self.tr("Instructor notes")

        def text() -> str:
            from shardcore.teaching.lessons.html_page import answer_of, lesson_stages

            answers = [(stage, answer_of(stage)) for stage in lesson_stages(lesson)]
            lines = [f"{stage.number + 1}. **{stage.step.title}**: {one.answer}" for stage, one in answers if one]
            examples = self.tr("For generated files, the answers are examples.")
            return "\n\n".join((notes_of(lesson), "## Solutions", examples, *lines))

        def take(words: str) -> None:
            view = made(ResourceFreeText(), "lessonNotesText", accessibleName=title, openLinks=False, markdown=words)
            self._dialog(view, title, "lessonNotes")

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
                self.begin(found)
                return
            label = made(QLabel(), accessibleName=path, alignment=Qt.AlignmentFlag.AlignCenter)
            label.setPixmap(QPixmap.fromImage(found))
            self._dialog(scrolled(label, "lessonPictureArea", path, self), path, "lessonPicture")

        self._ask(find, take, "link")

    def _of_lesson(self, act: Callable[..., object], *arguments: object) -> None:
        if self.player.lesson is not None:
            act(self.player.lesson, *arguments)

    def _dialog(self, inside: QWidget, title: str, name: str) -> None:
        dialog = made(QDialog(self.window()), name, windowTitle=title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        buttons = made(QDialogButtonBox(QDialogButtonBox.StandardButton.Close), rejected=dialog.reject)
        column = QVBoxLayout(dialog)
        column.addWidget(inside, 1)
        column.addWidget(buttons)
        dialog.resize(680, 560)
        dialog.open()

    def _ask(self, work: Callable[[], T], take: Callable[[T], object], key: str) -> None:
        def done(result: T | None, error: BaseException | None) -> None:
            if not alive(self.begin) or job.cancelled:
                return
            if result is None:
                self._session.say(error_text(error), failed=True)
            else:
                take(result)

        job = self._session.jobs.submit(
            lambda _: work(),
            key=("lessons", key, self),
            pool=Pool.CPU,
            priority=JobPriority.SELECTED,
            lasting=True,
            done=done,
        )
