"""Page of the format beside the file; its rows link to their bytes, and selected bytes to their row."""

from __future__ import annotations

from PySide6.QtCore import QSize, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from shardcore import Node, Shard
from shardscope.learning.help.help_pages import GLOSSARY, HelpPage, find_field, page, titles
from shardscope.learning.help.page_view import PageView
from shardscope.session.jobs import Job
from shardscope.session.selection import Selection
from shardscope.session.session import Session


class FormatPage(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formatPage")
        self.setAccessibleName(self.tr("Format reference"))
        self._session = session
        self._wanted = GLOSSARY
        self._row: int | None = None
        self.choice = QComboBox()
        self.choice.setObjectName("pageChoice")
        self.choice.setAccessibleName(self.tr("Select page"))
        self.choice.setToolTip(self.tr("The pages of all formats, and the glossary"))
        self.choice.setMinimumContentsLength(10)
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.activated.connect(lambda _: self.show_page(str(self.choice.currentData())))
        self.view = PageView()
        self.view.chosen.connect(self._follow_link)
        self.setFocusProxy(self.view)
        label = QLabel(self.tr("Page:"))
        label.setBuddy(self.choice)
        top = QHBoxLayout()
        top.setContentsMargins(12, 6, 12, 6)
        top.addWidget(label)
        top.addWidget(self.choice, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.view, 1)
        session.opened.connect(self._opened)
        session.selection_changed.connect(self._selected)

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    def show_page(self, name: str) -> None:
        if name not in titles():
            return
        self._wanted = name
        if self.isVisible():
            self._fill()

    def show_page_of_file(self) -> None:
        if self._session.shard is not None:
            self.show_page(self._session.shard.format)
            self._row = None
            self._highlight(self._session.selection)

    def show_word(self, word: str) -> None:
        self.show_page(GLOSSARY)
        self.view.highlight(f"word:{word}")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fill()
        self._highlight(self._session.selection)

    def _fill(self) -> None:
        if not self.choice.count():
            for name, title in titles().items():
                self.choice.addItem(title, name)
        self.choice.setCurrentIndex(self.choice.findData(self._wanted))
        found = page(self._wanted)
        if found is not None and found is not self.view.page:
            self._row = None
            self.view.show_page(found)

    # --- from the file to the page ---

    def _opened(self, shard: Shard) -> None:
        self.show_page(shard.format)

    def _selected(self, selection: Selection) -> None:
        if self.isVisible() and selection.complete:
            self._highlight(selection)

    def _highlight(self, selection: Selection) -> None:
        found, row = self._format_page(), None
        if found is None or self.view.page is not found:
            return
        if selection.path:
            row = found.row_of(selection.path)
        if row != self._row:
            self._row = row
            self.view.highlight("" if row is None else f"field:{row}")

    def _format_page(self) -> HelpPage | None:
        shard = self._session.shard
        return page(shard.format) if shard is not None else None

    # --- from the page to the file ---

    def _follow_link(self, address: str) -> None:
        kind, _, rest = address.partition(":")
        if kind == "field":
            self._select(int(rest))
        elif kind == "word":
            self.show_word(rest)
        elif kind in ("http", "https"):
            QDesktopServices.openUrl(QUrl(address))
        elif address.endswith("glossary.md"):
            self.show_page(GLOSSARY)
        else:
            self.show_page(address.rpartition("/")[2].removesuffix(".md"))

    def _select(self, number: int) -> None:
        shown, of_file = self.view.page, self._format_page()
        if shown is None:
            return
        name = shown.rows[number].name
        if shown is not of_file:
            sentence = self.tr("Open a file of the format {0} to see {1} in it")
            self._session.message.emit(sentence.format(shown.title, name))
            return
        near = self._session.selection.path

        def work(shard: Shard, job: Job) -> tuple[Node, ...]:
            return find_field(shown, number, shard.tree, near, job.check)

        def take(path: tuple[Node, ...]) -> None:
            if path:
                self._session.select_node(path, self)
            else:
                sentence = self.tr("No {0} found in the searched part of this file")
                self._session.message.emit(sentence.format(name))

        self._session.ask(work, take, failed=self.tr("Cannot search for {0}").format(name), key=("page field", self))
