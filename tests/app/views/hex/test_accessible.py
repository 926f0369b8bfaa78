"""What screen readers are told about the bytes."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.testing import rounds
from shardscope.session.pages import PageCache
from shardscope.views.hex.accessible import NOT_LOADED, RowText
from shardscope.views.hex.layout import HexLayout
from shardscope.views.hex.panel import HexPanel
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
    """The interface is an editable text, read-only, whose text is the row of the caret, with the caret in it."""
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


def test_the_overview_has_a_value_and_the_fields_have_labels(swh: HexPanel) -> None:
    """Where the selection is, and in which section; a placeholder is not the only label."""
    swh.state.move_caret(0x1171)
    face = QAccessible.queryAccessibleInterface(swh.overview)
    assert face.text(QAccessible.Text.Value) == "0x1171 of 0x13c8, index"
    for label, field in ((swh.address.label, swh.address.field), (swh.search.label, swh.search.field)):
        assert label.buddy() is field
        assert label.text()


def test_the_caret_follows(view: HexView) -> None:
    """A screen reader can move the caret, and select."""
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
    """While bytes are missing the row says so."""
    reader.held.clear()
    view = HexView(pages)
    qtbot.addWidget(view)
    view.state.set_source("", SIZE, SECTIONS)
    text = QAccessible.queryAccessibleInterface(view).textInterface()
    assert text.text(0, -1) == f"00000000  {NOT_LOADED}"


def test_places_are_announced(view: HexView) -> None:
    """Where the caret is in the structure is the description, until the caret moves."""
    face = QAccessible.queryAccessibleInterface(view)
    view.accessibility.tell_place("index, slot 3, key")
    assert face.text(QAccessible.Text.Description) == "index, slot 3, key"
    view.state.select(Span("", 16, 48))
    assert face.text(QAccessible.Text.Description) == "32 bytes selected"
    view.state.move_caret(100)
    assert face.text(QAccessible.Text.Description) == ""


def test_interfaces_that_are_not_there_are_null(view: HexView) -> None:
    """Asking for an interface other than the text one gives none, as screen readers do for every widget."""
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


@pytest.mark.thorough
def test_the_interface_goes_with_its_view(qtbot: QtBot, pages: PageCache) -> None:
    """Views come and go with a screen reader running; none takes the process along."""
    QAccessible.setActive(True)
    try:
        for _ in range(rounds(20, 10)):
            view = HexView(pages)
            view.state.set_source("", SIZE, SECTIONS)
            assert QAccessible.queryAccessibleInterface(view).textInterface().characterCount() > 8
            view.state.move_caret(40)
            view.accessibility.tell_place("header")
            view.deleteLater()
            del view
            gc.collect()
            qtbot.wait(1)
    finally:
        QAccessible.setActive(False)


def test_positions_and_bytes_are_inverse() -> None:
    """In rows with a lead, short rows and empty sources, a position gives back its byte."""
    for size, width, lead in ((100, 16, 0), (100, 40, 24), (5, 16, 0), (90, 7, 3)):
        layout = HexLayout(size, width, lead)
        data = bytes(range(size))
        for caret in range(size):
            start = max(layout.row_start(layout.row_of(caret)), 0)
            stop = min(layout.row_start(layout.row_of(caret)) + width, size)
            row = RowText(layout, caret, data[start:stop])
            at = row.position(caret)
            assert row.offset(at) == caret
            assert row.text[at : at + 2] == f"{caret:02x}"
    assert RowText(HexLayout(0), 0, b"").position(0) >= 0
