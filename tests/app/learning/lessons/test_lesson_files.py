"""Files of lessons in the window: links, notes, and the page of a lesson."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QImage, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QTextBrowser
from pytestqt.qtbot import QtBot

from shardcore import FormatError, UsageError
from shardcore.teaching.lessons.lesson_list import read_lesson
from shardscope.learning.lessons import panel as lessons_panel
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets.plain_text import ResourceFreeText
from tests.app.conftest import open_in, visible

FIRST = """# First
sample: swh/small.shard

## Begin

See [next](b.md), ![a picture](it.png), [no](gone.md), [web](https://a/).
"""
SECOND = "# Second\nneeds: a\nsample: swh/small.shard\n\n## Go\n\ntext\n"


@pytest.fixture
def panel(session: Session, settings: Settings, qtbot: QtBot, data: Path) -> LessonPanel:
    """A panel beside a small shard."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    return visible(qtbot, LessonPanel(session, settings), 420, 700)


def red(path: Path) -> Path:
    """Writes a red picture."""
    image = QImage(8, 5, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    assert image.save(str(path))
    return path


@pytest.mark.thorough
def test_links_notes_and_page(panel: LessonPanel, qtbot: QtBot, tmp_path: Path) -> None:
    """Links lead to lessons and pictures beside the lesson, and to nothing else; notes and page are written."""
    for name, text in {"a.md": FIRST, "b.md": SECOND, "a.notes.md": "**Ask.** Why?\n"}.items():
        (tmp_path / name).write_text(text)
    red(tmp_path / "it.png")
    told: list[tuple[str, bool]] = []
    panel._session.troubled.connect(lambda words, _: told.append((words, True)))
    panel.begin(read_lesson(tmp_path / "a.md"))
    qtbot.waitUntil(lambda: panel.player.stage is not None)
    assert panel.text.textInteractionFlags() & Qt.TextInteractionFlag.LinksAccessibleByKeyboard
    assert "![" not in panel.text.text()
    for link in ("gone.md", "https://a/", "../it.png"):
        told.clear()
        panel.text.linkActivated.emit(link)
        qtbot.waitUntil(lambda: bool(told))
        assert told[0][1]
        assert "cannot open " in told[0][0]
    panel.text.linkActivated.emit("it.png")
    qtbot.waitUntil(lambda: panel.findChild(QDialog, "lessonPicture") is not None)
    QTest.keyClick(panel.findChild(QDialog, "lessonPicture"), Qt.Key.Key_Escape)
    panel.text.linkActivated.emit("b.md")
    qtbot.waitUntil(lambda: panel.player.lesson.name == "b" and panel.player.stage is not None)
    panel.show_notes(read_lesson(tmp_path / "a.md"))
    qtbot.waitUntil(lambda: panel.findChild(QTextBrowser, "lessonNotesText") is not None)
    view = panel.findChild(QTextBrowser, "lessonNotesText")
    assert "Why?" in view.toPlainText()
    assert "Solutions" in view.toPlainText()
    view.window().close()
    next(one for one in panel.more.menu().actions() if one.objectName() == "lessonExportAction").trigger()
    dialog, page = panel.findChild(QFileDialog), tmp_path / "page.html"
    dialog.fileSelected.emit(str(page))
    dialog.reject()
    qtbot.waitUntil(page.exists)
    assert "<h1>Second</h1>" in page.read_text()


def test_pictures_and_notes_load_nothing(qapp: QApplication, tmp_path: Path) -> None:
    """An SVG that names another file is refused, in any encoding and through entities; notes show no picture."""
    other = red(tmp_path / "other.png")
    begin = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" width="8" height="8">'
    for number, text in enumerate(
        (
            f'{begin}<image width="8" height="8" x:href="{other}"/></svg>'.encode(),
            f"{begin}<image width='8' height='8' x:href = '{other}'/></svg>".encode(),
            f'<!DOCTYPE s [<!ENTITY f "{other}">]>{begin}<image x:href="&f;"/></svg>'.encode(),
            f'{begin}<image width="8" height="8" x:href="{other}"/></svg>'.encode("utf-16"),
        )
    ):
        path = tmp_path / f"{number}.svg"
        path.write_bytes(text)
        with pytest.raises(UsageError, match="refers to other files"):
            lessons_panel._picture(path)
    begin = begin.replace("xmlns:x=", "xmlns:xlink=")
    path.write_text(f'{begin}<rect id="a" width="8" height="8"/><use xlink:href="#a"/></svg>')
    assert not lessons_panel._picture(path).isNull()
    view = ResourceFreeText()
    view.setMarkdown(f"![x]({other}) <img src='{other}'>")
    assert view.document().resource(QTextDocument.ResourceType.ImageResource, QUrl(str(other))).isNull()


def test_pictures_are_decoded_in_a_process_of_their_own(qapp: QApplication, tmp_path: Path) -> None:
    """A picture has the pixels that it was saved with; what is no picture, whatever its name is, is an error."""
    path = red(tmp_path / "red.png")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("PIL.Image.open", None)  # not used in this process
        shown = lessons_panel._picture(path)
    assert (shown.width(), shown.height(), shown.pixelColor(7, 4)) == (8, 5, QColor(Qt.GlobalColor.red))
    path.write_bytes(b"not an image")
    with pytest.raises(FormatError, match="not an image"):
        lessons_panel._picture(path)
