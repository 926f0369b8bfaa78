"""Texts of the window go through Qt's translation, so that the window can speak other languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from shardscope.learning.help.shortcuts import ShortcutDialog
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings

APP = Path(__file__).parents[2] / "app" / "shardscope"

SHOWING = frozenset(
    {
        *("setText", "setToolTip", "setStatusTip", "setWhatsThis", "setAccessibleName", "setWindowTitle"),
        *("setPlaceholderText", "setIconText", "addAction", "addMenu", "_action"),
        *("QAction", "QPushButton", "QLabel", "QCheckBox", "QRadioButton", "QGroupBox", "QDockWidget", "QMenu"),
        *("emit", "add_notice", "report_error", "say", "_say", "say_for_a_while", "set_text"),
        *("WrapText", "Form", "addItem"),
    }
)
"""Calls that take a text that people read; sentences of the status line and of bars, too."""

AT: Mapping[str, int] = MappingProxyType(
    {"setTabText": 1, "addTab": 1, "showText": 1, "QFileDialog": 1, "setTabToolTip": 1, "addRow": 0}
)
"""Calls that take the text at another place than the first."""

KEYWORDS = frozenset({"action"})
"""Arguments by name that people read."""


def literals(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in SHOWING and name not in AT:
            continue
        texts = node.args[AT.get(name, 0) :][:1]
        for argument in [*texts, *(one.value for one in node.keywords if one.arg in KEYWORDS)]:
            text = _literal(argument)
            if any(letter.isalpha() for letter in re.sub(r"<[^>]*>|Shardscope", "", text)):
                yield node.lineno, text


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.IfExp):
        return _literal(node.body) + _literal(node.orelse)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return ""


def untranslated() -> dict[str, list[str]]:
    modules = sorted(APP.rglob("*.py"))
    found = {path.relative_to(APP).as_posix(): list(literals(path.read_text("utf-8"))) for path in modules}
    return {name: [f"{line}: {text}" for line, text in texts] for name, texts in found.items() if texts}


@pytest.mark.thorough
def test_every_text_is_translated() -> None:
    """No text is shown that was not handed to `tr` or `translate`: labels, menus, and sentences of the status line."""
    assert untranslated() == {}


class Marked(QTranslator):
    def translate(self, context: str, source: str, comment: str | None = None, n: int = -1) -> str:  # type: ignore[override]
        return f"«{source}»"

    def isEmpty(self) -> bool:
        return False


@pytest.fixture
def marked(qapp: QApplication) -> Iterator[Marked]:
    made = Marked()
    QCoreApplication.installTranslator(made)
    yield made
    QCoreApplication.removeTranslator(made)


def test_help_speaks_the_language(qtbot: QtBot, settings: Settings, marked: Marked) -> None:
    """In another language the help menu and the sheet are in that language."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    (menu,) = [a.menu() for a in window.menuBar().actions() if "Help" in a.text()]
    assert isinstance(menu, QMenu)
    texts = [action.text() for action in menu.actions() if action.text() and action is not window.actions_.about]
    assert texts
    assert all(text.startswith("«") for text in texts), texts
    sheet = ShortcutDialog(window)
    assert sheet.windowTitle() == "«Keyboard shortcuts»"
    sheet.close()
    window.close()
