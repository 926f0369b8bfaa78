"""Safe display of text from files: control characters are escaped, markup is not interpreted."""

from __future__ import annotations

import re
from html import escape

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QImage
from PySide6.QtWidgets import QLabel, QMessageBox, QTextBrowser, QWidget

from shardcore.model.text import shown_lines
from shardscope.widgets.fonts import sized
from shardscope.widgets.layouts import made


def tip(text: str) -> str:
    """Return text escaped for a tooltip or a rich-text label."""
    text = shown_lines(text)
    # Qt guesses whether text is markup; a tag around it makes that certain.
    return f"<span>{escape(text)}</span>".replace("\n", "<br>") if "<" in text else text


def plain_label(
    text: str = "", name: str = "", *, size: float = 0, bold: bool = False, wrap: bool = False, quiet: bool = False
) -> QLabel:
    label = made(QLabel(text), name, textFormat=Qt.TextFormat.PlainText, wordWrap=wrap)
    if quiet:
        label.setForegroundRole(label.palette().ColorRole.PlaceholderText)
    font = sized(label.font(), size) if size else label.font()
    font.setWeight(QFont.Weight.DemiBold if bold else font.weight())
    if size or bold:
        label.setFont(font)
    return label


def question_box(window: QWidget, name: str, title: str, text: str, detail: str) -> QMessageBox:
    icon, plain = QMessageBox.Icon.Question, Qt.TextFormat.PlainText
    box = made(QMessageBox(window), name, windowTitle=title, text=text, icon=icon, textFormat=plain)
    box.setInformativeText(detail)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


_TAG = re.compile(r"(?<![`\\])(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])")


def without_resources(markdown: str) -> str:
    """Return Markdown with images as links and HTML tags as text; otherwise Qt would load the files that they name."""
    return _TAG.sub(lambda found: found[0] if found[1] else "&lt;", markdown.replace("![", "["))


class ResourceFreeText(QTextBrowser):
    def loadResource(self, kind: int, name: QUrl | str) -> object:
        # For None, Qt would read the file itself.
        return QImage()
