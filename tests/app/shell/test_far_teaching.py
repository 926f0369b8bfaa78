"""What teaches, on files of other machines: traces, drawings, references, charts, lessons, sandbox and salvage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from shardcore import DataSet, RemoteOptions
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_list import lessons_of
from shardcore.testing import sampled
from shardscope.learning.charts.chart_pages import ChartKind
from shardscope.learning.charts.panel import Charts
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.documents import CostlyRead
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer

PATIENCE = 30_000
MOST_REQUESTS = 40
"""What opening and the whole walk may cost; the samples have up to eleven files each."""


Far = tuple[OpenRequest, list[object]]
"""How it is opened, and the log of its server."""


@pytest.fixture(params=sampled([sample.format for sample in resource_paths.main_samples()], 3, full=False))
def far(request: pytest.FixtureRequest, server: RangeServer, s3: Place) -> Iterator[Far]:
    sample = next(one for one in resource_paths.main_samples() if one.format == request.param)
    if sample.path.is_file():
        yield OpenRequest(f"{server.put(f'/{sample.path.name}', sample.path)}?signature=secret"), server.log
        return
    with s3.counted() as proxy:
        files = {path.relative_to(sample.path).as_posix(): path for path in sample.path.rglob("*") if path.is_file()}
        s3.put({f"teach/{sample.format}/{name}": path.read_bytes() for name, path in files.items()})
        keys = RemoteOptions(endpoint_url=proxy.url, access_key=s3.key, secret_key=s3.secret, region="us-east-1")
        yield OpenRequest(f"{s3.uri(f'teach/{sample.format}')}/", remote=keys), proxy.log


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_far_file_teaches(qtbot: QtBot, window: MainWindow, far: Far) -> None:
    """Everything that teaches works on it; nothing is read twice, nor while the window waits."""
    session, (request, log) = window.session, far

    def idle() -> None:
        qtbot.waitUntil(lambda: not window.jobs.open_jobs, timeout=PATIENCE)
        settle(window)

    asked: list[CostlyRead] = []
    session.costly.connect(asked.append)
    with qtbot.waitSignal(session.opened, timeout=PATIENCE):
        session.open(request)
    qtbot.waitUntil(lambda: session.index.state is IndexState.LOADED, timeout=PATIENCE)
    shard = session.shard
    sample = next(one for one in resource_paths.main_samples() if one.format == shard.format)

    # Lookups, what a first reader pays, drawings, and what leads there.
    for one in reversed(sample.keys):
        session.lookup.start(one.key)
        qtbot.waitUntil(lambda: session.lookup.walk.trace is not None, timeout=PATIENCE)
        for number in range(len(session.lookup.walk.trace.steps)):
            session.lookup.go_to_step(number)
        idle()
        before = len(log)
        window.trace.costs.cold.click()
        qtbot.waitUntil(lambda: session.lookup.walk.cold is not None, timeout=PATIENCE)
        assert len(log) == before
        window.trace.costs.warm.click()
    trace_of_key = len(log)
    window.hex.drawings.show()
    idle()
    panel = window.hex.drawings.panel
    assert panel.sketches
    ref = session.lookup.walk.trace.ref
    session.select_span(ref.spans[0])
    idle()
    session.references.find()
    qtbot.waitUntil(
        lambda: session.references.question is not None and session.references.question.references is not None,
        timeout=PATIENCE,
    )
    assert session.references.question.references.found

    # Charts.
    window.show_part("charts")
    charts = window.panels.panel(Charts)
    charts.fill()
    for number, _ in enumerate(ChartKind):
        charts.pages.kinds.setCurrentIndex(number)
        idle()
        found = charts.pages.found
        assert found.chart is not None or found.shares or found.why

    # A lesson on it stays on it.
    lesson = window.panels.panel(LessonPanel)
    window.show_part("lessons")
    for each in lessons_of(shard.format):
        lesson.player.start(replace(each, sample=""))
        idle()
        assert session.request == request
        lesson.player.leave()
        idle()
    assert len(log) == trace_of_key

    # Broken, and what can still be taken out.
    if isinstance(shard, DataSet):
        session.select_row(0)
        idle()
    sandbox = window.panels.panel(SandboxPanel).sandbox
    sandbox.switch(True)
    qtbot.waitUntil(lambda: session.request.sandbox and session.index.state is IndexState.LOADED, timeout=PATIENCE)
    sandbox.flip(0)
    idle()
    qtbot.waitUntil(lambda: sandbox.comparing is None and sandbox.impact is not None, timeout=PATIENCE)
    sheet = window.sandbox_shell.salvaging.ask()
    idle()
    assert sheet.take.isEnabled()
    sheet.close()
    sandbox.drop()
    idle()
    assert asked == []
    assert len(log) <= MOST_REQUESTS
