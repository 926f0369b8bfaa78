"""The window on a sparse shard of 100 GB with 46 million slots: time to see something, ranges read, paint times."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench import figures
from tests.bench.figures import Figure
from tests.bench.sparse_swh import SLOTS, make_sparse

SCROLLS = 300


def wait(done: Callable[[], bool], seconds: float = 60.0) -> float:
    """Runs the event loop until something is so; how long it took."""
    from PySide6.QtCore import QCoreApplication, QEventLoop

    began = time.perf_counter()
    while not done():
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
        if time.perf_counter() - began > seconds:
            raise TimeoutError("the window does not get there")
    return time.perf_counter() - began


def paint_times(view: Any, step: Callable[[int], None], ready: Callable[[], bool]) -> float:
    """The median time of painting a view after each of many scrolls, in milliseconds; bytes and rows are there."""
    times = []
    for number in range(SCROLLS):
        step(number)
        wait(ready)
        began = time.perf_counter()
        view.viewport().repaint()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def run() -> Iterator[Figure]:
    """Opens, scrolls, filters."""
    application = figures.application()
    from shiboken6 import delete

    from shardscope.shell.main_window import MainWindow
    from shardscope.startup.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sparse.shard"
        make_sparse(path)
        settings = Settings(Path(folder) / "settings.json")
        settings.theme = "light"
        began = time.perf_counter()
        window = MainWindow(settings)
        window.resize(1440, 900)
        window.show()
        application.processEvents()
        yield Figure("window: on the screen, empty", time.perf_counter() - began, 1.5)
        try:
            yield from _opening(window, path)
            yield from _painting(window)
        finally:
            window.close()
            application.processEvents()
            delete(window)


def _opening(window: Any, path: Path) -> Iterator[Figure]:
    import shardcore
    from shardcore import FileSource
    from shardscope.views.structure.tree import StructureTree
    from shardscope.widgets.object_model import STATE_ROLE

    ranges = 0
    read = FileSource.read

    def counted(self: FileSource, start: int, stop: int) -> bytes:
        nonlocal ranges
        ranges += stop > start
        return read(self, start, stop)

    before: list[int] = []
    opening = shardcore.open

    def opened(*where: Any, **options: Any) -> Any:
        shard = opening(*where, **options)
        before.append(ranges)
        return shard

    FileSource.read = counted  # type: ignore[method-assign]
    shardcore.open = opened
    try:
        window.open(str(path))
        seconds = wait(lambda: window.session.shard is not None)

        def seen() -> bool:
            page = window.hex.pages.get("", 0)
            first = window.objects.model.index(0, 0)
            tree = window.panels.panel(StructureTree).nodes
            return (
                page is not None
                and page.runs is not None
                and first.data(STATE_ROLE) is not None
                and tree.rowCount(tree.index(0, 0)) > 0
            )

        seconds += wait(seen)
    finally:
        FileSource.read = read  # type: ignore[method-assign]
        shardcore.open = opening
    note = f"{SLOTS:,} slots"
    yield Figure("sparse 100 GB: bytes, sections, tree and objects on the screen", seconds, 0.5, note=note)
    yield Figure("sparse 100 GB: ranges read before the first paint", before[0], 2, "ranges")


def _painting(window: Any) -> Iterator[Figure]:
    from shardscope.views.objects.paint import row_height

    table, view = window.objects.table, window.hex.view
    total = window.objects.model.rowCount()
    window.panels.by_name["objects"].setFloating(True)
    window.panels.by_name["objects"].resize(900, 60 * row_height(table) + 120)
    wait(lambda: len(table.visible_places()) > 50)
    rows = len(table.visible_places())

    def there() -> bool:
        places = [table.rowAt(0), table.rowAt(table.viewport().height() // 2)]
        return all(window.objects.model.key_of(table.model().index(place, 1)) != "" for place in places) and all(
            window.objects.model._page(table.model().index(place, 1)) is not None for place in places
        )

    # As the wheel scrolls, three rows at a time, with a jump far away now and then.
    bar = table.verticalScrollBar()
    milliseconds = paint_times(table, lambda n: bar.setValue(n // 50 * (total // 7) + n * 3), there)
    yield Figure(f"object table: paint of {rows} rows", milliseconds, 8.0, "ms")
    window.panels.by_name["objects"].setFloating(False)
    window.resize(1440, 1660)
    wait(lambda: view.state.page_rows > 50)

    def loaded() -> bool:
        start, stop = view.state.visible_bytes
        return window.hex.pages.bytes_at("", start, stop) is not None

    milliseconds = paint_times(view, lambda n: view.state.scroll_to(n // 50 * 10**10 + n * 16 * 3), loaded)
    yield Figure(f"hex view: paint of {view.state.page_rows} rows x 16 bytes", milliseconds, 8.0, "ms")
