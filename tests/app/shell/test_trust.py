"""Stores that an opened file names: the window asks before anything is sent to them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.app.shell.conftest import asked, press
from tests.remote.servers import RangeServer
from tests.remote.test_trust import write_zones


def test_the_window_asks_before_a_folder_beside_the_info(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    root = shutil.copytree(data / "cases/10-key-with-dotdot/dotdot", tmp_path / "set")
    info = json.loads((root / "x/info").read_text())
    info["scales"].append(info["scales"][0] | {"key": "../s1"})
    (root / "x/info").write_text(json.dumps(info))
    with qtbot.waitSignal(window.session.opened):
        window.open(str(root / "x"))
    model = window.places.model
    window.places.chosen.emit(model.place(model.index(0, 0)).where)
    box = asked(qtbot, window, "untrusted")
    assert box.text() == f"Open {root / 's0'}, {root / 's1'}?"
    with qtbot.waitSignal(window.session.opened):
        press(box, "Open")
    assert window.session.shard.objects.keys[:] == ["0"]


@pytest.mark.parametrize("agrees", [True, False])
def test_the_answer_decides_what_is_told(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, data: Path, agrees: bool
) -> None:
    root = shutil.copytree(data / "cases/10-key-with-dotdot/dotdot", tmp_path / "set")
    window.open_paths([str(data / "swh" / "small.shard"), str(root / "x")])
    box = asked(qtbot, window, "untrusted")
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert window.notices.all == []
    press(box, "Open" if agrees else "Cancel")
    if agrees:
        qtbot.waitUntil(lambda: window.session.uri == str(root / "x"))
    assert [one.text.count("Cannot open ") for one in window.notices.all] == [1] * (not agrees)


@pytest.mark.thorough
def test_the_window_asks_before_it_connects(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "<b>lab</b>")
    with RangeServer() as server:
        write_zones(tmp_path, f"http://{server.host}")
        window.open(str(tmp_path))
        box = asked(qtbot, window, "untrusted")
        assert box.text() == f"Connect to http://{server.host} as profile <b>lab</b>?"
        assert box.textFormat() is Qt.TextFormat.PlainText
        assert box.defaultButton() is box.escapeButton()
        box.reject()
        settle(window, 20)
        assert window.session.shard is None
        assert not list(server.log)
        monkeypatch.delenv("AWS_PROFILE")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        window.open(str(tmp_path))
        box = asked(qtbot, window, "untrusted")
        with qtbot.waitSignal(window.session.opened, timeout=60_000):
            press(box, "Connect")
        assert list(server.log)
        assert window.session.request.remote.trusted == {f"http://{server.host}"}
