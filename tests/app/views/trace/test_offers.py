"""Keys to begin with, in the empty panel: three of a sample, one of any other file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore.teaching import resources
from shardscope.session.session import Session
from shardscope.views.trace.panel import TracePanel
from shardscope.views.trace.suggested_keys import KeyMenu, sample_of
from tests.app.conftest import open_in, visible


@pytest.fixture
def panel(session: Session, qtbot: QtBot) -> TracePanel:
    """A panel with nothing open."""
    return visible(qtbot, TracePanel(session), 420, 760)


def test_a_sample_offers_its_three_keys(
    panel: TracePanel, session: Session, qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    offers = panel.offers
    assert not offers.isVisible()
    sample = resources.main_samples()[0]
    open_in(session, qtbot, sample.path)
    qtbot.waitUntil(lambda: len(offers.links) == 3)
    assert [one.key for one in offers.offers] == [one.key for one in sample.keys]
    assert [one.word for one in offers.offers] == ["Typical", "Crowded", "Not found"]
    texts = [part.text for part in offers.findChildren(type(panel.hint))]
    assert sample.see in texts
    assert sample.keys[1].about in texts
    QTest.mouseClick(offers.links[2], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert panel.trace.outcome == "absent"
    assert panel.field.text() == sample.keys[2].key
    actions = panel.findChild(KeyMenu).menu().actions()
    assert [action.text().partition(":")[0] for action in actions] == ["Typical", "Crowded", "Not found"]
    actions[0].trigger()
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.outcome == "found")
    copied = Path(shutil.copy(sample.path, tmp_path / "mine.shard"))
    open_in(session, qtbot, copied)
    qtbot.waitUntil(lambda: offers.sample == sample)
    copied.write_bytes(copied.read_bytes()[:-1] + b"\1")
    open_in(session, qtbot, data / "swh" / "one.shard")
    qtbot.waitUntil(lambda: [one.word for one in offers.offers] == ["First"])
    QTest.keyClick(offers.links[0], Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert panel.trace.outcome == "found"
    session.close()
    assert not offers.isVisible()


def test_a_sample_is_known_by_its_place_or_its_bytes(tmp_path: Path) -> None:
    for sample in resources.samples():
        assert sample_of(str(sample.path)) == sample
    archive = next(one for one in resources.samples() if one.path.name == "archive")
    copied = tmp_path / "my folder"
    shutil.copytree(archive.path, copied)
    assert sample_of(str(copied)) == archive
    first = next(copied.glob("*.des"))
    assert sample_of(str(first)) is None
    data = bytearray(first.read_bytes())
    data[20] ^= 1
    first.write_bytes(data)
    assert sample_of(str(copied)) is None
    assert sample_of(str(tmp_path / "nowhere")) is None
    assert sample_of("https://example.invalid/small.shard") is None
    many = tmp_path / "many"
    many.mkdir()
    for number in range(60):
        (many / str(number)).touch()
    assert sample_of(str(many)) is None
