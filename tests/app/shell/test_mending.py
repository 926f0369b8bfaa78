"""Where an error has a remedy, one button does it: serving what was deleted, naming the folder of xorbs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from shardcore import State
from shardscope.session.error_words import ACTIONS
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.app.conftest import extract_to


def show(window: MainWindow, path: Path, row: int) -> None:
    window.open(str(path))
    settle(window, 60)
    window.objects.table.follow(row)
    window.session.select_row(row)
    settle(window, 60)


def choose_folder(window: MainWindow, folder: Path) -> None:
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(folder))
    dialog.reject()
    settle(window, 60)


@pytest.mark.thorough
def test_tombstoned_data_is_shown_by_one_button(window: MainWindow, data: Path) -> None:
    show(window, next((data / "des" / "sidecar").glob("*.des")), 1)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "was deleted" in window.notices.text
    assert "deleted=True" not in window.notices.text
    assert window.notices.button.text() == "Show tombstoned data"
    span = window.session.selection.span
    window.notices.button.click()
    settle(window, 60)
    assert window.session.request.deleted
    assert window.session.selection.span == span
    assert window.notices.text == ""
    window.objects.table.follow(1)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "readable" in window.notices.text


@pytest.mark.thorough
def test_a_missing_xorb_is_found_by_one_button(window: MainWindow, data: Path, tmp_path: Path) -> None:
    alone = next((data / "mdb" / "cas" / "shards").glob("*.mdb"))
    path = Path(shutil.copy(alone, tmp_path))
    show(window, path, 0)
    row = next(n for n in range(3) if window.session.shard and window.session.shard.objects.ref(n).size > 0)
    window.objects.table.follow(row)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "missing xorb" in window.notices.text
    assert window.notices.button.text() == "Choose the xorb folder…"
    window.notices.button.click()
    choose_folder(window, data / "mdb" / "cas" / "xorbs")
    shard = window.session.shard
    assert shard.objects.ref(row).state is State.EXTERNAL
    assert len(shard.read(shard.objects.ref(row))) > 0


@pytest.mark.thorough
def test_what_was_not_extracted_offers_the_remedy(window: MainWindow, data: Path, tmp_path: Path) -> None:
    alone = next((data / "mdb" / "cas" / "shard-cache").glob("e74f*.mdb"))
    show(window, Path(shutil.copy(alone, tmp_path)), 1)
    extract_to(window.objects.actions_, tmp_path / "out")
    settle(window, 60)
    (mend,) = [button for button in window.notices.buttons if button.text() in ACTIONS.values()]
    mend.click()
    assert window.notices.text == ""
    choose_folder(window, tmp_path)
    assert dict(window.session.request.options) == {"xorbs": str(tmp_path)}
