"""The page of the format in its dock: links both ways, looks, and nothing fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.teaching import resources
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.help.pages import GLOSSARY
from shardscope.session.session import Session
from shardscope.widgets import theme
from tests.app.conftest import open_in


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> FormatPage:
    """The panel, shown, as wide as its dock."""
    made = FormatPage(session)
    qtbot.addWidget(made)
    made.resize(340, 600)
    made.show()
    qtbot.waitExposed(made)
    return made


def selected(session: Session, qtbot: QtBot, start: int) -> None:
    """Selects a byte and waits until it is explained."""
    session.select_span(Span("", start, start + 1))
    qtbot.waitUntil(lambda: session.selection.complete)


def link_to(panel: FormatPage, layout: str, field: str) -> str:
    """The address of a field on the page that is shown."""
    page = panel.view.page
    (number,) = [n for n, row in enumerate(page.rows) if (row.layout, row.name) == (layout, field)]
    return f"field:{number}"


def test_the_page_of_the_open_format(qtbot: QtBot, session: Session, panel: FormatPage, data: Path) -> None:
    """Without a file the glossary is there; opening one shows the page of its format; others can be chosen."""
    assert panel.choice.currentText() == "Glossary"
    open_in(session, qtbot, data / "swh" / "small.shard")
    assert panel.choice.currentText() == "Software Heritage Read Shard"
    assert "perfect hash" in panel.view.toPlainText()
    panel.show_page("des")
    assert "Data Easy Store" in panel.view.toPlainText()
    panel.show_page("nothing")
    assert panel.choice.currentText() == "Data Easy Store"


def test_a_selected_field_lights_its_row(qtbot: QtBot, session: Session, panel: FormatPage, data: Path) -> None:
    """The row of the field that owns the selected byte is lit and in view; bytes of no field light none."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    selected(session, qtbot, 72)
    assert panel.view.lit == "72 index_size"
    at = panel.view.cursorRect().center()
    assert panel.view.viewport().rect().contains(at)
    selected(session, qtbot, 100)
    assert panel.view.lit == ""


def test_a_field_of_the_page_selects_its_bytes(qtbot: QtBot, session: Session, panel: FormatPage, data: Path) -> None:
    """Following the name of a field selects the first bytes of that name; the page stays where it is."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    panel.view.light(link_to(panel, "header", "version"))
    place = panel.view.verticalScrollBar().value()
    panel.view.anchorClicked.emit(QUrl(link_to(panel, "header", "version")))
    qtbot.waitUntil(lambda: session.selection.complete and session.selection.span == Span("", 32, 40))
    assert [node.name for node in session.selection.path[-2:]] == ["header", "version"]
    assert panel.view.lit == "32 version"
    assert panel.view.verticalScrollBar().value() == place


def test_a_field_that_is_not_there(qtbot: QtBot, session: Session, panel: FormatPage, data: Path) -> None:
    """A field of another format, or one that this file has not, is said in one line; nothing is selected."""
    said: list[str] = []
    session.message.connect(lambda text: said.append(str(text)))
    open_in(session, qtbot, data / "swh" / "small.shard")
    panel.show_page("des")
    panel.view.anchorClicked.emit(QUrl(link_to(panel, "header", "magic")))
    assert said == ["Open a file of the format Data Easy Store to see magic in it"]
    assert session.selection.span is None


def test_words_lead_to_the_glossary(qtbot: QtBot, session: Session, panel: FormatPage, data: Path) -> None:
    """A word that is explained leads to its row; its meaning is the tooltip, too."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    assert "<word:" in (panel.view.page.markdown if panel.view.page else "")
    panel.view.anchorClicked.emit(QUrl("word:tombstoned"))
    assert panel.choice.currentData() == GLOSSARY
    assert panel.view.lit.startswith("tombstoned ")


def test_a_page_leads_to_another(panel: FormatPage) -> None:
    """The links between pages work; what is not shipped leads nowhere and breaks nothing."""
    panel.show_page("xorb")
    panel.view.anchorClicked.emit(QUrl("mdb.md"))
    assert panel.choice.currentData() == "mdb"
    panel.view.anchorClicked.emit(QUrl("../decisions/none.md"))
    assert panel.choice.currentData() == "mdb"


def test_nothing_is_fetched(panel: FormatPage) -> None:
    """A page asks for no file and no network, whatever stands in it."""
    for kind in (QTextDocument.ResourceType.ImageResource, QTextDocument.ResourceType.HtmlResource):
        for name in ("https://example.org/a.png", str(resources.path("icons/shardscope.svg"))):
            assert panel.view.document().resource(kind, QUrl(name)) == QImage()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_page_has_the_colours_of_the_theme(
    qtbot: QtBot, session: Session, panel: FormatPage, data: Path, name: str
) -> None:
    """Background and links are the theme's, and the row that was lit stays lit when the theme changes."""
    application = QApplication.instance()
    open_in(session, qtbot, data / "swh" / "small.shard")
    selected(session, qtbot, 72)
    colours = theme.apply(application, name)
    qtbot.wait(10)
    assert panel.view.lit == "72 index_size"
    picture = panel.view.viewport().grab().toImage()
    assert picture.pixelColor(2, 2).name() == colours.base.name()


def test_pages_are_made_when_they_are_seen(qtbot: QtBot, session: Session, data: Path) -> None:
    """A dock that is on a tab behind others costs nothing until it is shown; then it shows what is selected."""
    hidden = FormatPage(session)
    qtbot.addWidget(hidden)
    open_in(session, qtbot, data / "swh" / "small.shard")
    selected(session, qtbot, 72)
    assert hidden.view.page is None
    hidden.show()
    assert hidden.view.lit == "72 index_size"
