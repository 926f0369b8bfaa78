"""Texts in the window have the colours of `theme.CONTRASTS`, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.oklch import contrast
from shardscope.widgets.wrap_text import WrapText

TEXTS = (QAbstractButton, QAbstractItemView, Elided, QHeaderView, QLabel, QLineEdit, QTabBar, WrapText)
SCALE = 4
"""Large enough for pixels that are wholly covered by a letter."""
OFTEN = 40
"""Pixels of an ink: fewer are a corner of something else."""


def seen(window: QWidget) -> Iterator[tuple[QWidget, QColor, QColor]]:
    """Every text of a window, the colour that stands out most in it, and its ground, the most frequent one."""
    image = QImage(window.size() * SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SCALE)
    window.render(image)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, TEXTS) or not widget.isVisible() or widget.window() is not window:
            continue
        shown = widget.visibleRegion().boundingRect().translated(widget.mapTo(window, QPoint()))
        left, top, right, bottom = (SCALE * side for side in (shown.x(), shown.y(), shown.right(), shown.bottom()))
        colours, counts = np.unique(pixels[top:bottom, left:right], return_counts=True)
        often = [QColor.fromRgb(int(colour)) for colour in colours[counts >= OFTEN]]
        if len(often) > 1:
            ground = QColor.fromRgb(int(colours[counts.argmax()]))
            yield widget, max(often, key=partial(contrast_of, ground)), ground


def contrast_of(one: QColor, other: QColor) -> float:
    """The contrast of two colours."""
    return contrast(one.getRgbF()[:3], other.getRgbF()[:3])


@pytest.mark.thorough
@pytest.mark.parametrize("name", theme.NAMES)
def test_texts_have_listed_colours(window: MainWindow, data: Path, name: str) -> None:
    """On the welcome page, in panels and dialogs the strongest colour is an ink that is listed for its ground."""
    window.set_theme(name)
    colours = theme.palette(name)
    listed = {
        (getattr(colours, ink).rgb(), getattr(colours, ground).rgb())
        for ink, ground in theme.CONTRASTS
        if hasattr(colours, ground)
    }
    found, wrong = 0, []
    path = str(data / "swh" / "small.shard")
    for step in (window.show, partial(window.open, path), window.new_shards.ask_new, window.connecting.ask):
        step()
        settle(window, 40)
        for shown in (window, *window.findChildren(QDialog)):
            if (focused := shown.focusWidget()) is not None:
                # The text cursor has a colour of its own.
                focused.clearFocus()
            for widget, ink, ground in seen(shown):
                found += 1
                if isinstance(widget, QLabel) and not widget.text():
                    continue  # it shows a picture
                # What is faint is a control that is disabled.
                faint = ink.rgb() == colours.faint.rgb() and not isinstance(widget, QAbstractButton)
                if faint or (ink.rgb(), ground.rgb()) not in listed:
                    wrong.append((type(widget).__name__, widget.objectName(), ink.name(), ground.name()))
    assert found > 80
    assert not wrong
