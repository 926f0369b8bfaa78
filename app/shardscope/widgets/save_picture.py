"""Saving a widget as a picture: SVG (vector graphics) or PNG (pixels)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QSize
from PySide6.QtGui import QAction
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from shardscope.widgets.file_dialogs import ask_target

KINDS = ("SVG: vector graphics (*.svg)", "PNG: pixels (*.png)")


def write_picture(widget: QWidget, path: Path) -> bool:
    """Write a widget as SVG or PNG, by the suffix (default: PNG); return whether the file was written."""
    if path.suffix.lower() != ".svg":
        return widget.grab().save(str(path), "PNG")
    try:
        with path.open("wb"):
            pass
    except OSError:
        return False
    # `QGraphicsView.render` would only render the scene.
    QWidget.render(widget, svg_file(path, widget, widget.size(), widget.accessibleName() or widget.windowTitle()))
    return True


def svg_file(path: Path, widget: QWidget, size: QSize, title: str) -> QSvgGenerator:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setViewBox(QRect(QPoint(0, 0), size))
    # Otherwise text is smaller than its boxes.
    generator.setResolution(widget.logicalDpiX())
    generator.setTitle(title)
    return generator


def ask_picture(widget: QWidget, name: str, report: Callable[[str, bool], object]) -> QFileDialog:
    """Ask for a path and write the picture; `report` gets a message and whether writing failed."""

    def save(path: str) -> None:
        done = write_picture(widget, Path(path))
        saved = QCoreApplication.translate("Picture", "Picture saved: {0}")
        not_saved = QCoreApplication.translate("Picture", "Cannot write {0}. Choose another folder.")
        report((saved if done else not_saved).format(path), not done)

    title = QCoreApplication.translate("Picture", "Save picture")
    return ask_target(widget, title, save, name=name, kinds=dict(zip(KINDS, ("svg", "png"), strict=True)))


def add_picture(menu: QMenu, widget: QWidget, name: str, report: Callable[[str, bool], object]) -> QAction:
    return menu.addAction(
        QCoreApplication.translate("Picture", "Save &picture…"), lambda: ask_picture(widget, name, report)
    )
