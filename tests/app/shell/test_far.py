"""Files of other machines in the window: what is fetched, what is asked first, and what happens when they change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Depth, Remedy, RemoteOptions, SourceError, Span
from shardcore.sources.base import ReadPriority as Soon
from shardcore.sources.base import priority
from shardscope.session.documents import CostlyRead
from shardscope.session.extraction import ExtractionRequest
from shardscope.session.index import verifying, whole
from shardscope.session.jobs import JobPriority, Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.tasks.connect import AddressDialog
from tests.app.shell.conftest import asked
from tests.remote.bills import HUGE, des, swh_huge
from tests.remote.faults import Drop, FaultProxy, after
from tests.remote.servers import RangeServer

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"


@pytest.fixture
def window(window: MainWindow) -> MainWindow:
    """Small: few bytes and rows are on the screen."""
    window.resize(900, 600)
    return window


def opened(qtbot: QtBot, window: MainWindow, where: str) -> None:
    with qtbot.waitSignal(window.session.opened):
        window.open(where)
    qtbot.waitUntil(lambda: window.session.index.state in (IndexState.LOADED, IndexState.FAILED))


@pytest.fixture(scope="module")
def far(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    with RangeServer() as server:
        made = MainWindow(Settings(tmp_path_factory.mktemp("far") / "settings.json"))
        made.show()
        opening = made.session.open(server.put_folder("/set", SAMPLES / "neuroglancer" / "worked"))
        while not opening.state.ended or made.session.shard is None:
            QApplication.processEvents()
        settle(made)
        yield made
        made.close()


def test_jobs_say_how_soon_bytes_are_wanted(qtbot: QtBot, jobs: Jobs) -> None:
    found: list[Soon] = []
    for one in JobPriority:
        with qtbot.waitSignal(jobs._courier.reported):
            jobs.submit(lambda _: found.append(priority()), priority=one)
    assert found == [Soon.SCAN, Soon.PREFETCH, Soon.SELECTED, Soon.SCREEN]


def test_much_is_asked_for_first_when_it_is_far(
    qtbot: QtBot, window: MainWindow, server: RangeServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data / "swh" / "medium.shard"
    size = path.stat().st_size
    costs: list[CostlyRead] = []
    window.session.costly.connect(costs.append)
    monkeypatch.setattr(type(window.session.documents).with_consent, "__kwdefaults__", {"much": 1000})
    opened(qtbot, window, str(path))
    with qtbot.waitSignal(window.session.verification.changed):
        window.session.verification.start(Depth.CONTENT)
    window.hex.search.look_for("Text", "no such text")
    qtbot.waitUntil(lambda: not window.jobs.open_jobs)
    assert costs == []
    opened(qtbot, window, server.put("/medium.shard", path))
    shard = window.session.shard
    assert shard is not None
    assert 0 < whole(shard) < size
    assert verifying(shard, Depth.STRUCTURE) == 0
    before = len(server.log)
    window.session.verification.start(Depth.CONTENT)
    assert [one.size for one in costs] == [whole(shard)]
    box = asked(qtbot, window, "costly")
    assert box.text().startswith("Verifying the content fetches up to ")
    assert "100 Mbit/s" in box.informativeText()
    assert "$" in box.informativeText()
    box.reject()
    assert window.session.verification.report is None
    assert len(server.log) == before
    window.hex.search.look_for("Text", "no such text")
    assert [one.what for one in costs] == ["Verifying the content", "Searching the whole file"]
    sheet = window.sandbox_shell.salvaging.ask()
    assert (costs[-1].what, costs[-1].size) == ("Scanning the file", size)
    sheet.close()
    assert len(server.log) == before
    with qtbot.waitSignal(window.session.verification.changed):
        costs[0].go()
    assert whole(shard) == 0


@pytest.mark.thorough
def test_a_file_that_changed_on_the_server(
    qtbot: QtBot, window: MainWindow, server: RangeServer, tmp_path: Path
) -> None:
    (tmp_path / "one").write_bytes(b"1" * 4_000_000)  # larger than the gap that one request bridges
    shardcore.pack("swh", tmp_path / "a.shard", [tmp_path / "one"])
    content = (tmp_path / "a.shard").read_bytes()
    address = server.put("/a.shard", content)
    opened(qtbot, window, address)
    server.put("/a.shard", content[:1_000_000] + bytes(50_000) + content[1_050_000:])
    window.session.select_span(Span("", 1_020_000, 1_020_001))
    qtbot.waitUntil(lambda: window.notices.text != "")
    assert "was changed on the server" in window.notices.text
    assert window.notices.button.text() == "Reload"
    assert window.hex.pages.bytes_at("", 1_020_000, 1_020_001) is None
    with qtbot.waitSignal(window.session.opened):
        window.notices.button.click()
    window.session.select_span(Span("", 1_020_000, 1_020_001))
    qtbot.waitUntil(lambda: window.hex.pages.bytes_at("", 1_020_000, 1_020_001) == b"\0")
    server.behave(missing=403)
    del server.contents["/a.shard"]
    window.session.select_span(Span("", 2_220_000, 2_220_001))
    qtbot.waitUntil(lambda: window.notices.text != "")
    # The server is lost; the file is none other than it was.
    assert "still shown" in window.notices.text
    assert window.notices.button.text() == "Try again"


@pytest.mark.parametrize(
    ("error", "button", "sheet"),
    [
        (shardcore.CredentialsRefused("expired", remedy=Remedy.RENEW), "Connect…", True),
        (shardcore.Forbidden("no", status=403, remedy=Remedy.PROFILE), "Choose a profile…", True),
        (shardcore.NoSuchObject("gone", status=404), "Change the address…", True),
        (shardcore.TimedOut("nothing came", remedy=Remedy.AGAIN), "Try again", False),
        (shardcore.SourceChanged("changed", remedy=Remedy.REOPEN), "Reload", False),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_broke_after_opening_has_the_button_that_helps(
    qtbot: QtBot, far: MainWindow, error: SourceError, button: str, sheet: bool
) -> None:
    far.session.watch.set_trouble(error)
    assert far.notices.button.text() == button
    if sheet:
        far.notices.button.click()
        (dialog,) = [one for one in far.findChildren(AddressDialog) if one.isVisible()]
        assert dialog.address.text() == far.session.uri
        dialog.reject()
    else:
        with qtbot.waitSignal(far.session.opened):
            far.notices.button.click()
        assert far.session.document.trouble is None
    far.session.watch.set_trouble(None)


@pytest.mark.thorough
def test_a_large_index_is_read_when_it_is_asked_for(
    qtbot: QtBot, window: MainWindow, server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = swh_huge()
    address = server.put("/huge.shard", bill.files["huge.shard"])
    with qtbot.waitSignal(window.session.opened):
        window.open(address)
    settle(window)
    session, panel = window.session, window.objects
    assert session.index.state is IndexState.NONE
    assert server.log.sent < 1 << 20
    assert panel.load_button.isVisibleTo(panel)
    assert panel.load_button.text() == "Load index: 175 MiB"
    assert panel.model.total == HUGE["slots"]
    panel.table.scrollTo(panel.model.index(HUGE["slots"] - 1, 0))
    qtbot.waitUntil(lambda: panel.model.key_of(panel.model.index(HUGE["slots"] - 1, 0)) is not None)
    assert server.log.sent < 1 << 20
    panel.filter.setText(bill.key)
    panel._apply_now()
    qtbot.waitUntil(lambda: panel.model.total == 1)
    assert not [box for box in window.findChildren(QMessageBox, "costly") if box.isVisible()]
    panel.filter.setText("ab*")
    panel._apply_now()
    box = asked(qtbot, window, "costly")
    assert box.text() == "Filtering and sorting fetches up to 175 MiB."
    box.reject()
    assert "load the index first" in panel.status.text()
    panel.load_button.click()
    box = asked(qtbot, window, "costly")
    assert box.text() == "Reading the index fetches up to 175 MiB."
    box.reject()
    settle(window)
    assert session.index.state is IndexState.NONE
    assert server.log.sent < 1 << 20
    # Where opening itself needs a large index, that waits, too, and the bar keeps the offer.
    monkeypatch.setattr("shardscope.session.documents.MUCH", 80_000)
    large = des()[1]
    address = server.put("/large.des", large.files[large.target])
    with qtbot.waitSignal(session.documents.failed):
        window.open(address)
    box = asked(qtbot, window, "costly")
    assert box.text().startswith("Opening large.des fetches up to ")
    box.reject()
    assert "would be fetched at once" in window.notices.text
    assert window.notices.button.text().startswith("Fetch ")
    with qtbot.waitSignal(session.opened):
        window.notices.button.click()
    assert session.listing is not None
    assert len(session.listing) == 3000


@pytest.mark.thorough
def test_an_extraction_goes_on_after_the_line_broke(
    qtbot: QtBot, window: MainWindow, server: RangeServer, tmp_path: Path
) -> None:
    made, out = tmp_path / "a.shard", tmp_path / "out"
    dice = random.Random(5)
    with shardcore.create(made, format="swh") as writer:
        for _ in range(30):
            writer.add(None, dice.randbytes(1 << 20))
    server.put("/a.shard", made)
    with FaultProxy(server.host) as proxy:
        options = RemoteOptions(retries=0, patience=0.5, threads=1)
        with qtbot.waitSignal(window.session.opened):
            window.session.open(OpenRequest(f"http://{proxy.host}/a.shard", remote=options))
        qtbot.waitUntil(lambda: window.session.index.state is IndexState.LOADED)
        shard = window.session.shard
        settle(window)
        proxy.faults = [Drop(when=after(len(proxy.log) + 1))]
        extracting = window.objects.actions_.extracting
        with qtbot.waitSignal(extracting.finished) as told:
            extracting.start(ExtractionRequest(shard, window.session.request, None, out))
        first = told.args[0].found
        assert first.lost
        assert 0 < first.files < 30
        assert first.failed == 0
        assert first.stopped
        jobs = window.transfers.jobs
        assert not jobs.resume_button.isHidden()
        assert jobs.model.index(0, 1).data() == "interrupted"
        assert "Resume" in jobs.model.index(0, 4).data()
        proxy.faults = []
        server.log.clear()
        with qtbot.waitSignal(extracting.finished) as told:
            jobs.resume_button.click()
        second = told.args[0].found
        assert (second.files, second.failed, second.lost) == (30 - first.files, 0, False)
        assert server.log.sent < (second.files + 4) << 20
        assert jobs.resume_button.isHidden()
    assert {path.name for path in out.iterdir() if path.suffix != ".json"} == set(filter(None, shard.objects.keys[:]))
    settle(window)
