"""The window does not wait for bytes: while all reads are held, its event loop goes on."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import DataSet, Depth, FileSource, Source, Span
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.sources.local import LocalFolder
from shardcore.teaching import resource_paths
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.views.structure.tree import StructureTree
from tests.app.gui_thread import subclasses
from tests.bench.inputs import sharding
from tests.shardcore.formats.neuroglancer.made import build, random_rows

MOST_SECONDS = 30
"""A read that is held for so long was waited for by the window."""


class Gate:
    def __init__(self) -> None:
        self.opened = threading.Event()
        self.opened.set()
        self.late: list[str] = []

    def held(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            if not self.opened.wait(MOST_SECONDS):
                self.late.append(method.__qualname__)
            return method(*given, **named)

        return call


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    for kind in subclasses(Source):
        if kind.__module__ == FileSource.__module__ and "_read" in vars(kind):
            monkeypatch.setattr(kind, "_read", made.held(vars(kind)["_read"]))
    monkeypatch.setattr(LocalFolder, "list", made.held(LocalFolder.list))
    yield made
    made.opened.set()


@pytest.fixture(scope="module")
def many_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, spec = random.Random(7), sharding("murmurhash3_x86_128", 3, 2)
    folder = tmp_path_factory.mktemp("many")
    rows = random_rows(rng.sample(range(2**40), 20_000), rng)
    for name, content in build(ShardingSpec.parse(spec), rows).items():
        (folder / name).write_bytes(content)
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))
    return folder


@pytest.mark.parametrize("sample", ["many keys", "one shard of them", str(resource_paths.main_samples()[0].path)])
def test_held_reads_do_not_stop_the_window(
    qtbot: QtBot, settings: Settings, gate: Gate, many_keys: Path, sample: str
) -> None:
    path = {"many keys": many_keys, "one shard of them": min(many_keys.glob("*.shard"))}.get(sample, Path(sample))
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(1200, 800)
    window.show()
    qtbot.waitExposed(window)
    session = window.session

    def held(action: Callable[[], object]) -> None:
        gate.opened.clear()
        action()
        beats: list[int] = []
        for number in range(5):
            QTimer.singleShot(0, lambda number=number: beats.append(number))
            QApplication.processEvents()
        qtbot.waitUntil(lambda: len(beats) == 5)
        gate.opened.set()
        qtbot.waitUntil(lambda: session.shard is not None and not window.jobs.open_jobs)

    held(lambda: window.open(str(path)))
    shard = session.shard
    name, size = (shard.members[-1].name, shard.members[-1].size) if isinstance(shard, DataSet) else ("", 0)
    size = size or window.hex.state.layout.size
    key = next((key for key in shard.objects.keys[:50] if key), "0")
    for offset in (size // 2, size - 1):
        held(lambda offset=offset: session.select_span(Span(name, offset, offset + 1)))
    held(lambda: session.select_row(0))
    held(lambda: window.panels.panel(StructureTree).expandToDepth(2))
    held(lambda: session.lookup.start(key))
    held(lambda: session.verification.start(Depth.STRUCTURE))
    assert gate.late == []
    window.close()
