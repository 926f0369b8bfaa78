"""Text that came out of a file, before it is shown: nothing in it acts, and none of it is taken for markup."""

from __future__ import annotations

import re
from html import escape

from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QTextBrowser

from shardcore.model.text import shown_lines


def tip(text: str) -> str:
    text = shown_lines(text)
    # Qt guesses whether a text is markup: with a tag of our own around it there is nothing to guess.
    return f"<span>{escape(text)}</span>".replace("\n", "<br>") if "<" in text else text


_TAG = re.compile(r"(?<![`\\])(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])")


def without_resources(markdown: str) -> str:
    return _TAG.sub(lambda found: found[0] if found[1] else "&lt;", markdown.replace("![", "["))


class ResourceFreeText(QTextBrowser):
    def loadResource(self, kind: int, name: QUrl | str) -> object:
        # With nothing, Qt would read the file itself.
        return QImage()
