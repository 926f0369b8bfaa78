"""Names for those who do not see the window, and letters that every font has."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QFont, QFontDatabase, QFontMetrics
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from shardscope.looks.wrap_text import WrapText
from shardscope.session import IndexState
from shardscope.settings import Settings
from shardscope.window.main_window import MainWindow

ROOT = Path(__file__).parents[3]


def unnamed(window: QWidget) -> list[str]:
    """Widgets that take the keyboard and that a screen reader has no name for."""
    found = []
    for widget in window.findChildren(QWidget):
        if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or widget.objectName().startswith("qt_"):
            continue
        # A text is its own name; Qt makes and names the lists of boxes and the tabs of docks.
        popup = widget.window() is not window.window()
        if isinstance(widget, (QLabel, WrapText)) or popup or widget.parent() is window:
            continue
        if isinstance(widget, QAbstractButton) and not widget.isVisible():
            continue
        interface = QAccessible.queryAccessibleInterface(widget)
        name = interface.text(QAccessible.Text.Name) if interface is not None else "none"
        if not (name or widget.accessibleName()).strip():
            parents = [type(widget).__name__, widget.objectName()]
            above = widget.parentWidget()
            while above is not None and above is not window:
                parents.append(above.objectName() or type(above).__name__)
                above = above.parentWidget()
            found.append(" < ".join(parents))
    return found


def test_everything_that_takes_the_keyboard_has_a_name(qtbot: QtBot, settings: Settings, data: Path) -> None:
    """A screen reader can say of every part where the keyboard is, without a file and with one."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.show()
    assert unnamed(window) == []
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(data / "swh" / "small.shard"))
    qtbot.waitUntil(lambda: window.session.index_state is IndexState.LOADED and not window.jobs.open_jobs)
    assert unnamed(window) == []
    window.close()


def test_every_letter_that_is_shown_has_a_shape(qtbot: QtBot) -> None:
    """No sign of the window is an empty box: the common font has all letters that stand in the program."""
    family = "DejaVu Sans" if "DejaVu Sans" in QFontDatabase.families() else QApplication.font().family()
    metrics = QFontMetrics(QFont(family))
    missing = {
        f"{letter} (U+{ord(letter):04X}) in {path.name}"
        for folder in ("app", "shardcore")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for letter in set(path.read_text("utf-8"))
        if ord(letter) > 127 and not metrics.inFontUcs4(ord(letter))
    }
    assert missing == set()
