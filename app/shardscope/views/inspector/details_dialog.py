"""Dialog with the details of a selection as a page that can be copied and saved."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QGuiApplication,
    QImage,
    QImageWriter,
    QPaintDevice,
    QPainter,
    QPalette,
    QPdfWriter,
    QTextDocument,
)
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from shardcore.model.details import Card, markdown
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import ResourceFreeText
from shardscope.widgets.save_picture import svg_file

WIDTH = 600
"""Width of the picture in pixels at 100 %."""

SCALE = 2
"""Device pixels per pixel of the picture."""

_MARGIN = 18
_PRINT_RESOLUTION = 144


class DetailsDialog(QDialog):
    def __init__(self, card: Card, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "cardSheet", windowTitle=self.tr("Details"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._card = card
        self.view = made(ResourceFreeText(), "cardView", accessibleName=card.name, openLinks=False)
        self.view.document().setDocumentMargin(_MARGIN)
        self.view.setMarkdown(markdown(card))
        self.said = made(Elided(greedy=True), "cardSaid")
        self.copy_picture = QPushButton(self.tr("Copy &picture"))
        self.copy_link = QPushButton(self.tr("Copy &link"))
        self.copy_link.setToolTip(self.tr("Copy the line that opens these bytes again, in a shell or in Open as…"))
        self.save = QPushButton(self.tr("&Save…"))
        row = QHBoxLayout()
        row.addWidget(self.said, 1)
        for button, slot in (
            (self.copy_picture, self._copy_picture),
            (self.copy_link, self._copy_link),
            (self.save, self.ask_save),
            (QPushButton(self.tr("Close")), self.accept),
        ):
            row.addWidget(made(button, autoDefault=False, clicked=slot))
        column = QVBoxLayout(self)
        column.addWidget(self.view, 1)
        column.addLayout(row)
        self.resize(QSize(WIDTH + 60, 620).boundedTo(self.screen().availableGeometry().size() * 0.9))

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.picture())
        self.said.setText(self.tr("Copied."))

    def _copy_link(self) -> None:
        copy_text(self._card.link)
        self.said.setText(self.tr("Copied."))

    def ask_save(self) -> QFileDialog:
        kinds = {
            self.tr("SVG: vector graphics (*.svg)"): "svg",
            self.tr("PNG: pixels (*.png)"): "png",
            self.tr("PDF (*.pdf)"): "pdf",
            self.tr("Markdown (*.md)"): "md",
        }
        return ask_target(self, self.tr("Export details"), self._save, name="details", kinds=kinds)

    def _save(self, path: str) -> None:
        done = self.write(Path(path))
        saved, not_saved = self.tr("Saved: {0}"), self.tr("Cannot write {0}. Choose another folder.")
        self.said.setText((saved if done else not_saved).format(Path(path).name))

    # --- the page ---

    def _page(self) -> QTextDocument:
        page = made(QTextDocument(), documentMargin=_MARGIN, defaultFont=self.font())
        page.setMarkdown(markdown(self._card))
        page.setTextWidth(WIDTH)
        return page

    def _paint(self, device: QPaintDevice, page: QTextDocument, scale: float = 1) -> None:
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
        painter = QPainter(device)
        painter.scale(scale, scale)
        page.documentLayout().draw(painter, context)
        painter.end()

    def picture(self) -> QImage:
        page = self._page()
        image = QImage(page.size().toSize() * SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(SCALE)
        image.fill(Qt.GlobalColor.white)
        self._paint(image, page)
        return image

    def write(self, path: Path) -> bool:
        """Write the page as `.md`, `.svg`, `.pdf` or, for other suffixes, PNG; return whether it was written."""
        kind, page = path.suffix.lower(), self._page()
        try:
            path.write_text(markdown(self._card) if kind == ".md" else "", encoding="utf-8")
        except OSError:
            return False
        if kind == ".svg":
            self._paint(svg_file(path, self, page.size().toSize(), self._card.name), page)
        elif kind == ".pdf":
            writer = QPdfWriter(str(path))
            writer.setResolution(_PRINT_RESOLUTION)
            writer.setTitle(self._card.name)
            self._paint(writer, page, writer.logicalDpiX() / self.logicalDpiX())
        elif kind != ".md":
            return QImageWriter(str(path), b"png").write(self.picture())
        return True
