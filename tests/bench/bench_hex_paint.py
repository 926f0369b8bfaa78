"""The hex view: paint times of a full screen, with colours, fields, hits and findings: scrolling, moving, jumping."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product

from PySide6.QtWidgets import QApplication

from shardcore import Finding, Severity, Span
from shardcore.operations.search import parse_hex
from shardscope.session.highlights import Arrow, Highlight
from shardscope.session.jobs import Jobs
from shardscope.session.pages import PAGE, PageCache
from shardscope.views.hex.view import HexView
from shardscope.widgets import theme
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, SampleReader
from tests.bench.figures import Figure

ROWS = (26, 60)
WIDTH = 16
FRAMES = 300
SCROLLING = 8.0
"""Milliseconds: half of the time between two frames at 60 frames per second."""

MOVING = 8.0
"""Milliseconds: the caret goes from byte to byte, with its field and record framed."""

JUMPING = 16.0
"""Milliseconds: a screen on which every row is new may take a frame."""


def run() -> Iterator[Figure]:
    """Median times of a paint at one and two device pixels per pixel, each in a process of its own."""
    for scale in ("1", "2"):
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale}
        for rows, (way, limit) in product(ROWS, (("scrolling", SCROLLING), ("moving", MOVING), ("jumping", JUMPING))):
            command = [sys.executable, "-m", "tests.bench.bench_hex_paint", way, str(rows)]
            told = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            yield Figure(f"hex view, {rows} rows, {way}, scale {scale}, median", float(told), limit, "ms")


def measure(way: str, rows: int) -> float:
    """The median milliseconds of a paint of the sample, with all that can be seen on it, lights and arrows included."""
    application = QApplication([])
    theme.apply(application, "dark")
    jobs = Jobs()
    pages = PageCache(jobs)
    pages.use(SampleReader())
    view = HexView(pages)
    view.state.set_source("", SIZE, SECTIONS)
    view.state.set_findings([Finding(Severity.ERROR, "bench", Span("", INDEX + 40, INDEX + 80), "")])
    view.state.select(Span("", INDEX + 100, OBJECTS))
    view.state.set_patterns([parse_hex("0?")])
    highlights = [Highlight(number, Span("", INDEX + 70 * number, INDEX + 70 * number + 40)) for number in range(1, 6)]
    arrows = [Arrow(light.span, Span("", INDEX + 30 * light.number, INDEX + 30 * light.number)) for light in highlights]
    view.state.set_highlights(highlights, arrows)
    view.show()
    view.resize(900, round(view.state.grid.row * rows + view.state.grid.header) + 1)
    wait_for_pages(application, pages)
    times = []
    screens = SIZE // (rows * WIDTH)
    # By rows over fields, selection and finding; byte by byte; or by screens that were not seen before.
    tops = {
        "scrolling": [WIDTH * (n % 40) for n in range(FRAMES)],
        "moving": [0] * FRAMES,
        "jumping": [rows * WIDTH * n for n in range(screens)],
    }
    for number, top in enumerate(tops[way]):
        view.state.scroll_to(top)
        if way == "moving":
            view.state.move_caret(number)
            view.state.set_frames([(number, number + 8), (INDEX, INDEX + 40)])
        # The time of this thread: other programs on the machine do not count.
        before = time.thread_time()
        view.viewport().repaint()
        times.append(time.thread_time() - before)
    jobs.shutdown()
    return 1000 * statistics.median(times)


def wait_for_pages(application: QApplication, pages: PageCache) -> None:
    """Has every page of the sample in memory, with its colours."""
    last = (SIZE - 1) // PAGE
    end = time.monotonic() + 30
    while any((page := pages.get("", number)) is None or page.runs is None for number in range(last + 1)):
        pages.want("", range(last + 1))
        application.processEvents()
        if time.monotonic() > end:
            raise RuntimeError("the pages did not come")


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2])))
