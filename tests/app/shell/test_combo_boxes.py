"""The popup of every combo box can be read, and shows all of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.widgets import theme
from shardscope.widgets.oklch import contrast


def contrast_in(image: QImage) -> float:
    """The contrast between the most frequent colour of a picture, its background, and what stands out most."""
    counts: dict[int, int] = {}
    for y in range(image.height()):
        for x in range(image.width()):
            pixel = image.pixel(x, y)
            counts[pixel] = counts.get(pixel, 0) + 1
    ground = QColor.fromRgb(max(counts, key=counts.__getitem__)).getRgbF()[:3]
    return max(contrast(QColor.fromRgb(pixel).getRgbF()[:3], ground) for pixel in counts)


def check(box: QComboBox, qtbot: QtBot) -> None:
    """Opens a popup, and looks at the highlighted row."""
    box.showPopup()
    qtbot.wait(1)
    view = box.view()
    row = max(box.currentIndex(), 0)
    index = box.model().index(row, box.modelColumn())
    view.setCurrentIndex(index)
    rows = min(box.count(), box.maxVisibleItems())
    name = box.objectName() or box.accessibleName()
    assert view.viewport().height() >= sum(view.sizeHintForRow(n) for n in range(rows)), name
    if box.itemText(row).strip() and box.isEnabled():
        picture = view.viewport().grab(view.visualRect(index).adjusted(2, 2, -2, -2)).toImage()
        assert contrast_in(picture) > 4, name
    box.hidePopup()


@pytest.mark.thorough
def test_highlighted_entries_can_be_read(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """In the panels and in every dialog, in every theme."""
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    window.hex.actions_.find.trigger()
    sheet = window.objects.actions_.extracting.ask(None)
    assert sheet is not None
    address = window.connecting.ask()
    window.open_with()
    window.new_shards.ask_new()
    settle(window, 40)
    boxes = [box for box in window.findChildren(QComboBox) if box.count()]
    assert len(boxes) >= 8
    for name in theme.NAMES:
        window.set_theme(name)
        for box in boxes:
            check(box, qtbot)
    sheet.reject()
    address.reject()
