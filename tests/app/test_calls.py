"""What the window runs for a click and for opening a small file."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from tests.calls import SAMPLE, measure
from tests.window_user import WindowUser

MOST = {"open": (8_000, 110), "click": (1_200, 55), "sort": (600, 30)}
"""Calls and modules of ours; what is painted meanwhile differs by some hundred calls from run to run."""


def test_little_runs_for_what_users_do_most(qtbot: QtBot, tmp_path: Path) -> None:
    user = WindowUser(tmp_path)
    for name, count in measure(user, SAMPLE).items():
        calls, modules = MOST[name.split()[0]]
        assert count.calls.total() <= calls, name
        assert len(count.modules) <= modules, name
    user.end()
