"""Sources of the window: texts are translated, reach labels as plain text, and the clipboard through one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

import shardscope
from shardscope.widgets.clipboard import copy_lines, copy_text

APP = Path(__file__).parents[2] / "app" / "shardscope"

SHOWING = frozenset(
    {
        *("setText", "setToolTip", "setStatusTip", "setWhatsThis", "setAccessibleName", "setWindowTitle"),
        *("setPlaceholderText", "setIconText", "addAction", "addMenu", "_action"),
        *("QAction", "QPushButton", "QLabel", "QCheckBox", "QRadioButton", "QGroupBox", "QDockWidget", "QMenu"),
        *("emit", "tell", "say", "_say", "say_for_a_while", "set_text"),
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


SOURCES = sorted(Path(shardscope.__file__).parent.rglob("*.py"))
FORMATS = "setTextFormat"


def is_constant(text: ast.expr | None) -> bool:
    if isinstance(text, ast.Call):
        name = getattr(text.func, "attr", getattr(text.func, "id", ""))
        return name in ("tr", "translate") and all(map(is_constant, text.args))
    if isinstance(text, ast.IfExp):
        return is_constant(text.body) and is_constant(text.orelse)
    return isinstance(text, ast.Constant)


def guessing_labels(tree: ast.AST) -> Iterator[str]:
    made: dict[str, bool] = {}
    plain: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            call = node.value
            if getattr(call.func, "id", "") in ("QLabel", "QMessageBox"):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                first = call.args[0] if call.args else None
                # A parent is no text.
                shows = bool(call.args) and not is_constant(first) and ast.unparse(call.args[0]) not in PARENTS
                for target in targets:
                    made[ast.unparse(target)] = made.get(ast.unparse(target), False) or shows
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if node.func.attr == FORMATS:
                plain.add(owner)
            if node.func.attr in ("setText", "setInformativeText") and owner in made and not is_constant(node.args[0]):
                made[owner] = True
    return (name for name, shows in made.items() if shows and name not in plain)


PARENTS = {"self", "page", "parent", "self._window", "window"}


@pytest.mark.thorough
def test_labels_do_not_guess() -> None:
    """A label or question whose text is not all in the source says that it is plain text."""
    trees = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert [f"{name}: {label}" for name, tree in trees.items() for label in guessing_labels(tree)] == []


def test_text_reaches_the_clipboard_through_one_place() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in SOURCES}
    assert [name for name, text in found.items() if "clipboard().setText" in text] == ["clipboard.py"]
    kept = re.compile(r"= QGuiApplication\.clipboard\(\)(?!\.text\(\))")
    assert not [name for name, text in found.items() if kept.search(text)]


def test_copied_text_does_not_act(qapp: QApplication) -> None:
    text = "a\x1b[201~\x9b\u202e\r\x00b\tc\nd"
    copy_text(text)
    assert QGuiApplication.clipboard().text() == "a\\x1b[201~\\x9b\\u202e\\r\\x00b\\tc\\nd"
    copy_lines(text)
    assert QGuiApplication.clipboard().text() == "a\\x1b[201~\\x9b\\u202e\\r\\x00b\tc\nd"
