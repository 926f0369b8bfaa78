"""Dialogs keep their size, and their buttons their place, while what is typed is valid or not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.app.shell.conftest import opened

MDB = "mdb/cache/b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"


def edited(name: str) -> Callable[[MainWindow], object]:
    return lambda window: window.changing.actions.verbs[name, False].trigger()


DIALOGS: dict[str, tuple[str, Callable[[MainWindow], object]]] = {
    "open address": ("", lambda window: window.connecting.ask()),
    "open as": ("neuroglancer/worked/0.shard", lambda window: window.ways.change()),
    "find key": ("", lambda window: window.finding.ask()),
    "new shard": ("", lambda window: window.new_shards.new.trigger()),
    "extract": ("swh/small.shard", lambda window: window.objects.actions_.extract_all.trigger()),
    "convert": ("swh/small.shard", lambda window: window.new_shards.convert.trigger()),
    "delete": ("swh/small.shard", edited("delete")),
    "tombstone": ("des/contents.des", edited("tombstone")),
    "append": ("bloscpack/array.blp", edited("append")),
    "re-key": (MDB, lambda window: window.changing.actions.rekey.trigger()),
}


def room(dialog: QDialog) -> list[QSize | QPoint]:
    """Size of the dialog, and the corners of its buttons."""
    box = dialog.findChild(QDialogButtonBox)
    return [dialog.size(), *(one.mapTo(dialog, QPoint(0, 0)) for one in box.buttons())]


@pytest.mark.parametrize("zoom", [1, 2])
@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_keeps_its_size(window: MainWindow, qtbot: QtBot, tmp_path: Path, name: str, zoom: int) -> None:
    sample, show = DIALOGS[name]
    window.appearance.set_zoom(zoom)
    if sample:
        opened(window, qtbot, shutil.copytree("resources/samples", tmp_path / "samples") / sample)
    window.changing.switch.allow(True)
    window.objects.table.selectRow(1)
    show(window)
    settle(window, 20)
    (dialog,) = [one for one in window.findChildren(QDialog) if one.isVisible()]
    before = room(dialog)
    for field in dialog.findChildren(QLineEdit):
        if field.isVisible() and not field.isReadOnly():
            for text in ("not valid " * 30, "s3://bucket/" + "k" * 200):
                field.setText(text)
                QApplication.processEvents()
                assert room(dialog) == before, (field.objectName(), text)
                assert not field.isVisible() or field.height() >= field.fontMetrics().height(), field.objectName()
    for editor in dialog.findChildren(QPlainTextEdit):
        editor.setPlainText("{")
    settle(window, 20)
    assert room(dialog) == before
    dialog.reject()
