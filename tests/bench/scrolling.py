"""The event loop while a window scrolls through 10 GB: here, and on a server at 100 ms in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure, report
from tests.bench.sparse_swh import make_sparse
from tests.remote.bills import HUGE, bills
from tests.remote.servers import RangeServer

LATENCY = 0.1
FRAME = 16
"""Milliseconds between two steps."""

BEAT = 3
"""Milliseconds between two beats of the clock by which gaps are measured; a gap has one of them in it."""

SECONDS = 8.0
P95_MILLISECONDS = 16.0
WORST_MILLISECONDS = 50.0


def run() -> Iterator[Figure]:
    """What `make bench` prints."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import qInstallMessageHandler
    from PySide6.QtWidgets import QApplication

    qInstallMessageHandler(lambda kind, context, text: None)
    application = QApplication(["bench"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "huge.shard"
        make_sparse(path, **HUGE)
        with served() as address:
            for where, uri in (("here", str(path)), ("at 100 ms", address)):
                yield from scrolled(where, uri, Path(folder))
    del application


def wait(done: Callable[[], bool], seconds: float = 60.0) -> float:
    """Runs the event loop until something is so; how long it took."""
    from PySide6.QtCore import QCoreApplication, QEventLoop

    began = time.perf_counter()
    while not done():
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
        if time.perf_counter() - began > seconds:
            raise TimeoutError("the window does not get there")
    return time.perf_counter() - began


@contextmanager
def served() -> Iterator[str]:
    """The address of the shard on a server in another process: its threads take none of the window's time."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,))
    process.start()
    try:
        yield str(ours.recv())
    finally:
        ours.send(None)
        process.join()


def serve(connection: Connection) -> None:
    """Serves the shard until somebody says that it is enough."""
    with RangeServer(latency=LATENCY) as server:
        connection.send(server.put("/huge.shard", bills()["swh"].files["huge.shard"]))
        connection.recv()


def scrolled(where: str, uri: str, folder: Path) -> Iterator[Figure]:
    """Opens the shard and scrolls, 60 steps a second: as the wheel does, with a jump now and then, and by screens."""
    from shiboken6 import delete

    from shardscope.shell.main_window import MainWindow
    from shardscope.startup.settings import Settings

    window = MainWindow(Settings(folder / "settings.json"))
    window.resize(1440, 900)
    window.show()
    window.open(uri)
    took = wait(lambda: window.session.shard is not None and not window.jobs.open_jobs)
    yield Figure(f"open {where}, until nothing is left to do", took, 5.0)
    state, bar = window.hex.view.state, window.objects.table.verticalScrollBar()
    try:
        for what, step in (
            ("bytes by the wheel", lambda n: state.scroll_to(n // 50 * 10**8 + n * 48)),
            ("bytes screen by screen", lambda n: state.scroll_to(n * 640)),
            ("rows", lambda n: bar.setValue(n // 50 * 10**5 + n * 3)),
        ):
            gaps = sorted(gaps_while(step))
            name = f"{what}, {where}: longest pause of the event loop"
            load = f"median {statistics.median(gaps):.1f} ms, {len(gaps)} pauses; load {os.getloadavg()[0]:.1f}"
            yield Figure(f"{name} in 95 %", gaps[int(len(gaps) * 0.95)], P95_MILLISECONDS, "ms", note=load)
            yield Figure(name, gaps[-1], WORST_MILLISECONDS, "ms")
    finally:
        window.close()
        delete(window)


def gaps_while(step: Callable[[int], Any]) -> list[float]:
    """The times between the beats of a fast clock while something scrolls, in milliseconds."""
    from PySide6.QtCore import QEventLoop, Qt, QTimer

    beats: list[float] = []
    steps = iter(range(1 << 30))
    loop, clocks = QEventLoop(), []
    for interval, work in ((BEAT, lambda: beats.append(time.perf_counter())), (FRAME, lambda: step(next(steps)))):
        clock = QTimer()
        clock.setTimerType(Qt.TimerType.PreciseTimer)
        clock.setInterval(interval)
        clock.timeout.connect(work)
        clock.start()
        clocks.append(clock)
    QTimer.singleShot(int(SECONDS * 1000), loop.quit)
    loop.exec()
    for clock in clocks:
        clock.stop()
    return [1000 * (later - before) for before, later in pairwise(beats)]


if __name__ == "__main__":
    report(run())
