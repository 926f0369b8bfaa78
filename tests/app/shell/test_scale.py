"""From 100 % to 300 %: the window is as large as asked, and no words are cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from tests.app.shell.scaled import clipped

ROOT = Path(__file__).parents[3]


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize("scale", ["1", "1.5", "3"])
def test_everything_fits_at_every_scale(scale: str) -> None:
    """At 1280 × 800 and 1440 × 840, on the welcome page and with each panel in front: nothing larger, nothing cut."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.app.shell.scaled"],
        cwd=ROOT,
        env={**os.environ, "QT_SCALE_FACTOR": scale},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"ratio {scale}"]


def test_words_that_are_cut_are_found(qtbot: QtBot) -> None:
    """The test bites: a label and a button that are too narrow for their words are told from those that are not."""
    for kind in (QLabel, QPushButton):
        part = kind("Some words")
        qtbot.addWidget(part)
        part.resize(part.sizeHint())
        assert not clipped(part)
        part.resize(20, part.height())
        assert clipped(part)
