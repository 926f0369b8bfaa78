"""The passport of a selection as a dialog: looked at, copied, saved as a picture or a page."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMarginsF, QRect, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QGuiApplication,
    QImage,
    QImageWriter,
    QPageLayout,
    QPageSize,
    QPainter,
    QPaintEvent,
    QPdfWriter,
    QTextDocument,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from shardcore import SectionRole
from shardcore.model.details import Card, markdown
from shardscope.views.inspector.details_page import WIDTH, card_document, card_size, paint_card
from shardscope.widgets import fonts, theme
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.file_dialogs import ask_target

SCALE = 2
"""Points of a picture for each pixel."""

_PRINT_RESOLUTION = 144


class CardView(QWidget):
    """The card, painted."""

    spoken_role = QAccessible.Role.Graphic

    def __init__(self, card: Card, role: SectionRole | None, size: int | None) -> None:
        super().__init__()
        self._card, self._role, self._size = card, role, size
        self.setObjectName("cardView")
        self.setAccessibleName(card.name)
        self.setAccessibleDescription(markdown(card))
        self.setFixedSize((card_size(self._document(theme.of(self))) * fonts.px(WIDTH) / WIDTH).toSize())

    def _document(self, colours: theme.Palette) -> QTextDocument:
        return card_document(self._card, colours, self._size)

    def tell_role(self, role: SectionRole) -> None:
        """Set the section in which the bytes lie."""
        self._role = role
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        painter.scale(self.width() / WIDTH, self.width() / WIDTH)
        paint_card(painter, self._document(colours), colours, self._role)
        painter.end()

    def picture(self) -> QImage:
        """Return the card as points, in the light theme: pictures are for paper and pages."""
        colours = theme.palette("light")
        document = self._document(colours)
        size = card_size(document).toSize()
        image = QImage(size * SCALE, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(SCALE)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        paint_card(painter, document, colours, self._role)
        painter.end()
        return image

    def write(self, path: Path) -> bool:
        """Write the card; the ending says how: `.md`, `.svg`, `.pdf`, else PNG.

        Returns:
            Whether it could be written.
        """
        kind = path.suffix.lower()
        try:
            if kind == ".md":
                path.write_text(markdown(self._card), encoding="utf-8")
                return True
            with path.open("wb"):
                pass
        except OSError:
            return False
        if kind not in (".svg", ".pdf"):
            return QImageWriter(str(path), b"png").write(self.picture())
        colours = theme.palette("light")
        document = self._document(colours)
        size = card_size(document).toSize()
        device = self._svg(path, size) if kind == ".svg" else self._pdf(path)
        painter = QPainter(device)
        if kind == ".pdf":
            painter.scale(device.logicalDpiX() / self.logicalDpiX(), device.logicalDpiY() / self.logicalDpiY())
        paint_card(painter, document, colours, self._role)
        painter.end()
        return True

    def _svg(self, path: Path, size: QSize) -> QSvgGenerator:
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(size)
        generator.setViewBox(QRect(0, 0, size.width(), size.height()))
        generator.setResolution(self.logicalDpiX())
        generator.setTitle(self._card.name)
        return generator

    def _pdf(self, path: Path) -> QPdfWriter:
        writer = QPdfWriter(str(path))
        writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
        writer.setPageMargins(QMarginsF(18, 18, 18, 18), QPageLayout.Unit.Millimeter)
        writer.setResolution(_PRINT_RESOLUTION)
        writer.setTitle(self._card.name)
        return writer


class DetailsDialog(QDialog):
    """Shows the card, with what can be done with it."""

    def __init__(self, card: Card, role: SectionRole | None, size: int | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("cardSheet")
        self.setWindowTitle(self.tr("Details"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._card = card
        self.view = CardView(card, role, size)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self.view)
        area.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.said = QLabel()
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.said.setObjectName("cardSaid")
        row = QHBoxLayout()
        row.addWidget(self.said, 1)
        self.copy_text = self._button(self.tr("&Copy as Markdown"), self._copy_text)
        self.copy_picture = self._button(self.tr("Copy &picture"), self._copy_picture)
        self.copy_link = self._button(self.tr("Copy &link"), self._copy_link)
        self.copy_link.setToolTip(self.tr("Copies the line that opens these bytes again: in a shell, or in Open with…"))
        self.save = self._button(self.tr("&Save…"), self.ask_save)
        close = self._button(self.tr("Close"), self.accept)
        for button in (self.copy_text, self.copy_picture, self.copy_link, self.save, close):
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.addWidget(area, 1)
        column.addLayout(row)
        self.resize(QSize(self.view.width() + 48, self.view.height() + 90) * WIDTH / fonts.px(WIDTH))

    def _button(self, text: str, act: object) -> QPushButton:
        button = QPushButton(text)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _=False: act())  # type: ignore[operator]
        return button

    def _copy_text(self) -> None:
        copy_lines(markdown(self._card))
        self.said.setText(self.tr("Copied."))

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.view.picture())
        self.said.setText(self.tr("Copied."))

    def _copy_link(self) -> None:
        copy_text(self._card.link)
        self.said.setText(self.tr("Copied."))

    def ask_save(self) -> QFileDialog:
        """Ask where the card goes, and as what."""
        kinds = {
            self.tr("Picture, lines and letters (*.svg)"): "svg",
            self.tr("Picture, points (*.png)"): "png",
            self.tr("Page to print (*.pdf)"): "pdf",
            self.tr("Markdown (*.md)"): "md",
        }
        return ask_target(self, self.tr("Export details"), self._save, name="details", kinds=kinds)

    def _save(self, path: str) -> None:
        done = self.view.write(Path(path))
        saved, not_saved = self.tr("Saved: {0}"), self.tr("{0} cannot be written. Choose another folder.")
        self.said.setText((saved if done else not_saved).format(Path(path).name))
