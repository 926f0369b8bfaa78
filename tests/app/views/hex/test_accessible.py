"""What screen readers are told about the bytes."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.pages import PageCache
from shardscope.views.hex.accessible import NOT_LOADED
from shardscope.views.hex.view import HexView
from tests.app.hex_samples import DATA, SECTIONS, SIZE, SampleReader


@pytest.fixture
def view(qtbot: QtBot, pages: PageCache) -> HexView:
    """A view on the sample, with its first page."""
    made = HexView(pages)
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.state.set_source("", SIZE, SECTIONS)
    made.show()
    qtbot.waitUntil(lambda: pages.bytes_at("", 0, 1000) is not None)
    return made


def test_the_row_is_a_text(view: HexView) -> None:
    view.state.select(Span("", 0, 0))
    face = QAccessible.queryAccessibleInterface(view)
    assert face.role() == QAccessible.Role.EditableText
    assert face.state().readOnly
    assert face.text(QAccessible.Text.Name) == "Bytes"
    text = face.textInterface()
    row = text.text(0, -1)
    assert row.startswith("00000000  53 41 4d 50 4c 45 00 00")
    assert row.endswith("SAMPLE..........")
    assert text.characterCount() == len(row)
    assert text.cursorPosition() == 10
    view.state.move_caret(16 + 9)
    assert text.text(0, 8) == "00000010"
    position = text.cursorPosition()
    assert text.text(position, position + 2) == f"{DATA[25]:02x}"
    assert face.text(QAccessible.Text.Value) == text.text(0, -1)


def test_the_caret_follows(view: HexView) -> None:
    text = QAccessible.queryAccessibleInterface(view).textInterface()
    view.state.move_caret(16)
    text.setCursorPosition(10 + 3 * 5)
    assert view.state.selection.caret == 21
    text.setSelection(0, 10, 10 + 3 * 3 + 2)
    assert view.state.selection.span == Span("", 16, 20)
    text.removeSelection(0)
    assert view.state.selection.span.size == 1
    box = text.characterRect(text.cursorPosition())
    assert text.offsetAtPoint(box.center()) == text.cursorPosition()


def test_bytes_that_are_not_there_are_not_read_as_zeros(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    reader.held.clear()
    view = HexView(pages)
    qtbot.addWidget(view)
    view.state.set_source("", SIZE, SECTIONS)
    text = QAccessible.queryAccessibleInterface(view).textInterface()
    assert text.text(0, -1) == f"00000000  {NOT_LOADED}"


def test_interfaces_that_are_not_there_are_null(view: HexView) -> None:
    face = QAccessible.queryAccessibleInterface(view)
    assert face.textInterface() is not None
    for ask in (
        face.valueInterface,
        face.actionInterface,
        face.editableTextInterface,
        face.tableCellInterface,
        face.selectionInterface,
        face.attributesInterface,
    ):
        assert ask() is None
