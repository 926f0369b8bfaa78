"""Screenshots of the window without a display, taken once no job is running."""

from __future__ import annotations

import math
import time
from pathlib import Path

from PySide6.QtCore import QBuffer, QEventLoop, QSize, QTimer
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QApplication, QWidget

from shardcore import Depth, RemoteOptions, Span
from shardcore.dataclasses import dataclass
from shardcore.model.text import plural
from shardscope.session.session import IndexState, OpenFailure
from shardscope.shell.main_window import MainWindow

DRAWING = "drawing"
"""Value of `--show` for drawings: `drawing` or `drawing:NAME`."""

LECTURE = "lecture"
"""Value of `--show` for the lecture; `lecture:N` is the screen after N key presses."""

MOST_SECONDS = 120

REST_MILLISECONDS = 300
"""Milliseconds without open jobs before the screenshot is taken."""

SHORT_REST = 60
"""Milliseconds without open jobs before the next key press of a lecture."""


class ScreenshotError(Exception):
    """The screenshot cannot be taken."""


@dataclass(frozen=True)
class ScreenshotRequest:
    """Content of a screenshot; the size is in device-independent pixels.

    Attributes:
        step: Step of the lookup, from 1; 0 for the last.
        show: Panel, `drawing[:NAME]` or `lecture[:N]`; or empty.
        lesson: Lesson file to start, about the file `uri` or, if that is empty, its sample; None for no lesson.
    """

    target: Path
    uri: str = ""
    format: str | None = None
    size: tuple[int, int] = (1440, 900)
    select: int | None = None
    trace: str = ""
    step: int = 0
    verify: Depth | None = None
    show: str = ""
    remote: RemoteOptions | None = None
    place: Span | None = None
    lesson: Path | None = None


def take(window: MainWindow, wanted: ScreenshotRequest) -> None:
    """Save the screenshot; raises `ScreenshotError` if a file cannot be opened or jobs run longer than two minutes."""
    if wanted.show and wanted.show.partition(":")[0] not in (*window.panels.by_name, DRAWING, LECTURE):
        parts = ", ".join((*window.panels.by_name, DRAWING, f"{DRAWING}:NAME", LECTURE, f"{LECTURE}:N"))
        raise ScreenshotError(f"--show must be one of {parts}")
    failures: list[OpenFailure] = []
    window.session.documents.failed.connect(failures.append)
    window.resize(QSize(*wanted.size))
    window.show()
    if wanted.uri:
        window.open(wanted.uri, wanted.format, wanted.remote, wanted.place)
        settle(window)
        if failures:
            raise ScreenshotError(f"{failures[0].uri}: {failures[0].error}")
        arrange(window, wanted)
    settle(window)
    if wanted.lesson is not None:
        window.teaching.try_lesson(wanted.lesson, own=bool(wanted.uri))
        settle(window)
    part, _, keys = wanted.show.partition(":")
    screen = lecture(window, int(keys) if keys.isdecimal() else 0) if part == LECTURE else window
    _save(screen.grab().toImage(), wanted.target)


def lecture(window: MainWindow, keys: int) -> QWidget:
    """Return the lecture screen after pressing *next* `keys` times, with animations finished."""
    screen = window.start_lecture(full=False)
    for _ in range(keys):
        settle(window, SHORT_REST)
        screen.go_on()
    settle(window)
    screen.drawing.walk.advance(math.inf)
    settle(window, SHORT_REST)
    return screen


def _save(image: QImage, target: Path) -> None:
    written = QBuffer()
    if not QImageWriter(written, target.suffix[1:].encode()).write(image):
        raise ScreenshotError(f"cannot write {target}: unsupported image type; use .png")
    try:
        target.write_bytes(written.data().data())
    except OSError as error:
        raise ScreenshotError(f"cannot write {target}: {error.strerror}") from error


def arrange(window: MainWindow, wanted: ScreenshotRequest) -> None:
    session = window.session
    if wanted.verify is not None:
        session.verification.start(wanted.verify)
        settle(window)
        window.show_part("findings")
    if wanted.trace:
        session.lookup.start(wanted.trace)
        settle(window)
        session.lookup.go_to_step((wanted.step or session.lookup.walk.steps) - 1)
        window.show_part("trace")
    if wanted.select is not None:
        source = session.shard.source if session.shard is not None else None
        if source is not None and not 0 <= wanted.select < source.size:
            raise ScreenshotError(f"no byte {wanted.select:#x}: the file has {plural(source.size, 'byte')}")
        session.select_span(Span("", wanted.select, wanted.select + 1))
    settle(window)
    part, _, sketch = wanted.show.partition(":")
    if part == DRAWING:
        window.hex.drawings.show(sketch)
    elif part != LECTURE and part:
        window.show_part(part)


def settle(window: MainWindow, rest: int = REST_MILLISECONDS) -> None:
    """Run the event loop until no job has been open for `rest` milliseconds; `ScreenshotError` after two minutes."""
    until = time.monotonic() + MOST_SECONDS
    quiet = 0
    while quiet < rest:
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec()
        # Watching the file also uses jobs, so wait until none has been open for some time.
        busy = window.jobs.open_jobs or window.session.index.state is IndexState.LOADING
        quiet = 0 if busy else quiet + 20
        if time.monotonic() > until:
            raise ScreenshotError("jobs are still running after two minutes")
    QApplication.processEvents()
