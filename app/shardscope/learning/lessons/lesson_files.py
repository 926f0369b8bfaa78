"""Files of lessons, accessed in jobs: instructor notes, exported pages, and links to files beside a lesson."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QByteArray, QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from shardcore import UsageError
from shardcore.codecs.decoder_process import IsolatedDecoder
from shardcore.codecs.images import decode_picture
from shardcore.teaching.lessons.html_page import answer_of, lesson_page, lesson_stages
from shardcore.teaching.lessons.lesson import Lesson, LessonError
from shardcore.teaching.lessons.lesson_list import beside, notes_of, read_lesson
from shardcore.writing.temporary import write_whole
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import JobPriority, Jobs, Pool, alive
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
