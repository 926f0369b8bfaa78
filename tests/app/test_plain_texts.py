"""Sources of the window: texts out of files reach labels as plain text, and the clipboard through one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

import shardscope
from shardscope.widgets.clipboard import copy_lines, copy_text

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
