"""Jobs and sessions for tests of the window; settings go to a scope of their own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardscope.session.byte_pages import PageCache
from shardscope.session.display_text import set_decimal
from shardscope.session.extraction import ExtractionRequest
from shardscope.session.jobs import Job, Jobs
from shardscope.session.session import IndexState, Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.actions import ObjectActions
from tests.app.gui_thread import GuiReads, guarded
from tests.app.hex_samples import SampleReader
from tests.remote.conftest import s3, server

__all__ = ["s3", "server"]

AnyWidget = TypeVar("AnyWidget", bound=QWidget)

# On a busy machine what is waited for comes late; only what never comes costs all of this.
for _wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitExposed, QtBot.waitActive):
    _wait.__kwdefaults__["timeout"] = 20_000


@pytest.fixture(autouse=True)
def gui_reads() -> Iterator[GuiReads]:
    """A test fails when the window reads, or looks into a folder, on the thread that paints."""
    reads = GuiReads()
    with guarded(reads):
        yield reads
    if reads.found:
        pytest.fail("read on the GUI thread:\n" + "\n".join(dict.fromkeys(reads.found)), pytrace=False)


@pytest.fixture(autouse=True)
def _collected_here() -> Iterator[None]:
    """Garbage is collected on this thread, as in the program: a Qt object that another destroys ends the process."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture(autouse=True)
def user_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the user: notes of one test are not on the files of another."""
    folder = tmp_path / "user-data"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture(scope="module", autouse=True)
def _freeze() -> None:
    """What is imported need not be examined after every test; a third of a second of each, late in a run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_keys_held(qapp: QApplication) -> None:
    """Qt remembers the modifiers of the last click or key, and code that selects a row obeys them."""
    if qapp.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        QTest.keyRelease(QWidget(), Qt.Key.Key_Shift)


@pytest.fixture(scope="session", autouse=True)
def _clear_clipboard(qapp: QApplication) -> Iterator[None]:
    """Data that Python knows and Qt deletes at exit, after Python, ends the process with a crash."""
    yield
    qapp.clipboard().clear()


@pytest.fixture
def jobs(qtbot: QtBot) -> Iterator[Jobs]:
    """Pools that are empty again after the test."""
    made = Jobs()
    yield made
    assert made.shutdown()


@pytest.fixture
def session(jobs: Jobs) -> Iterator[Session]:
    """A session with nothing open."""
    made = Session(jobs)
    yield made
    made.documents.close_all()


@pytest.fixture
def in_hexadecimal(qapp: QApplication) -> Iterator[None]:
    """Offsets are hexadecimal at the start of the test, and again after it."""
    set_decimal(False)
    yield
    set_decimal(False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings in a file of the test."""
    return Settings(tmp_path / "settings.json")


@pytest.fixture
def reader() -> Iterator[SampleReader]:
    """The sample; reads that are held are let go at the end."""
    made = SampleReader()
    yield made
    made.held.set()


@pytest.fixture
def pages(jobs: Jobs, reader: SampleReader) -> PageCache:
    """A page cache on the sample."""
    made = PageCache(jobs)
    made.use(reader)
    return made


def visible(qtbot: QtBot, widget: AnyWidget, *size: int) -> AnyWidget:
    """Shows a widget, in its own size or another, until the end of the test."""
    qtbot.addWidget(widget)
    if size:
        widget.resize(*size)
    widget.show()
    return widget


def open_in(session: Session, qtbot: QtBot, path: Path) -> None:
    """Opens a sample and waits until its index is read."""
    with qtbot.waitSignal(session.opened):
        session.open(str(path))
    qtbot.waitUntil(lambda: session.index.state in (IndexState.LOADED, IndexState.FAILED))


def extract_to(actions: ObjectActions, folder: Path) -> Job | None:
    """Write the selected objects to files of a folder, with a manifest, without asking."""
    shard, rows = actions._session.shard, actions._table.selected_ranges()
    assert shard is not None
    return actions.extracting.start(ExtractionRequest(shard, actions._session.request, rows, folder))
