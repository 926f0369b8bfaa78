"""The page of the format in its dock: links both ways, looks, and nothing fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.teaching import resource_paths
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.help.help_pages import GLOSSARY
from shardscope.session.session import Session
from shardscope.widgets import theme
from tests.app.conftest import open_in, visible


@pytest.fixture
def panel(qtbot: QtBot, session: Session, data: Path) -> FormatPage:
    """The panel, shown, as wide as its dock, with a small shard."""
    made = visible(qtbot, FormatPage(session), 340, 600)
    assert made.choice.currentText() == "Glossary"
    open_in(session, qtbot, data / "swh" / "small.shard")
    return made


def link_to(panel: FormatPage, layout: str, field: str) -> str:
    """The address of a field on the page that is shown."""
    (number,) = [n for n, row in enumerate(panel.view.page.rows) if (row.layout, row.name) == (layout, field)]
    return f"field:{number}"


def test_pages_lead_to_others(session: Session, panel: FormatPage) -> None:
    """Opening a file shows the page of its format; links and words lead on, and what is not shipped nowhere."""
    view, choice, said = panel.view, panel.choice, list[str]()
    session.message.connect(said.append)
    assert choice.currentText() == "Software Heritage Read Shard"
    assert "perfect hash" in view.toPlainText()
    for name, title in (("des", "Data Easy Store"), ("nothing", "Data Easy Store")):
        panel.show_page(name)
        assert choice.currentText() == title
    view.anchorClicked.emit(QUrl(link_to(panel, "header", "magic")))
    assert (session.selection.span, len(said)) == (None, 1), "a field of another format"
    view.anchorClicked.emit(QUrl("word:tombstoned"))
    assert choice.currentData() == GLOSSARY
    assert view.lit.startswith("tombstoned ")
    panel.show_page("xorb")
    for link in ("mdb.md", "../decisions/none.md"):
        view.anchorClicked.emit(QUrl(link))
        assert choice.currentData() == "mdb"


def test_a_selected_field_lights_its_row(
    qapp: QApplication, qtbot: QtBot, session: Session, panel: FormatPage, data: Path
) -> None:
    """The row of the field that owns the selected byte is lit and in view; bytes of no field light none.

    A dock that is on a tab behind others makes no page until it is shown.
    """
    hidden = FormatPage(session)
    qtbot.addWidget(hidden)
    open_in(session, qtbot, data / "swh" / "small.shard")
    for start, lit in ((100, ""), (72, "72 index_size")):
        session.select_span(Span("", start, start + 1))
        qtbot.waitUntil(lambda: session.selection.complete)
        assert panel.view.lit == lit
    assert panel.view.viewport().rect().contains(panel.view.cursorRect().center())
    assert hidden.view.page is None
    hidden.show()
    theme.apply(qapp, "dark")
    QApplication.processEvents()
    assert hidden.view.lit == panel.view.lit == lit, "also in another theme"


def test_a_field_of_the_page_selects_its_bytes(qtbot: QtBot, session: Session, panel: FormatPage) -> None:
    """Following the name of a field selects the first bytes of that name; the page stays where it is."""
    panel.view.highlight(link_to(panel, "header", "version"))
    place = panel.view.verticalScrollBar().value()
    panel.view.anchorClicked.emit(QUrl(link_to(panel, "header", "version")))
    qtbot.waitUntil(lambda: session.selection.complete and session.selection.span == Span("", 32, 40))
    assert [node.name for node in session.selection.path[-2:]] == ["header", "version"]
    assert panel.view.lit == "32 version"
    assert panel.view.verticalScrollBar().value() == place


def test_nothing_is_fetched(panel: FormatPage) -> None:
    """A page asks for no file and no network, whatever stands in it."""
    for kind in (QTextDocument.ResourceType.ImageResource, QTextDocument.ResourceType.HtmlResource):
        for name in ("https://example.org/a.png", str(resource_paths.path("icons/shardscope.svg"))):
            assert panel.view.document().resource(kind, QUrl(name)) == QImage()
