"""Help menu: shortcuts, format reference, glossary, versions."""

from __future__ import annotations

import platform
from collections.abc import Callable

import PySide6
from PySide6.QtCore import QCoreApplication, QObject, QSize, Qt, qVersion
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMessageBox, QWidget

import shardcore
from shardcore.shards.registry import FORMATS
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.help.help_pages import GLOSSARY
from shardscope.learning.help.shortcuts import show_shortcuts
from shardscope.shell.docks import PanelDocks
from shardscope.shell.lesson_menu import Teaching
from shardscope.views.inspector.panel import Inspector

PAGE = "formatPage"


def versions() -> list[str]:
    # Imported late: it takes long, and the start does not need it.
    from importlib import metadata

    return [
        f"Formats: {', '.join(FORMATS)}",
        f"Python {platform.python_version()} ({platform.system()} {platform.machine()})",
        f"Qt {qVersion()}, PySide6 {PySide6.__version__}",
        *(f"{name} {metadata.version(name)}" for name in ("NumPy", "pyqtgraph")),
    ]


def about_box(window: QWidget, reference: QAction) -> QMessageBox:
    """Return the box; open it with `open()`, which does not block."""
    box = QMessageBox(window)
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(QCoreApplication.translate("About", "About Shardscope"))
    box.setIconPixmap(window.windowIcon().pixmap(QSize(64, 64), window.devicePixelRatioF()))
    about = QCoreApplication.translate("About", "Explorer for shard files: bytes, fields, objects, lookups.")
    licence = QCoreApplication.translate("About", "MIT licence.")
    box.setText(f"<b>Shardscope {shardcore.__version__}</b><br>{about}<br>{licence}")
    box.setInformativeText("<br>".join(versions()))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.addButton(QMessageBox.StandardButton.Close)
    docs = box.addButton(QCoreApplication.translate("About", "&Documentation"), QMessageBox.ButtonRole.HelpRole)
    docs.clicked.connect(reference.trigger)
    return box


class HelpMenu(QObject):
    def __init__(self, window: QMainWindow, panels: PanelDocks, about: QAction, teaching: Teaching) -> None:
        super().__init__(window)
        self._window = window
        self._panels = panels
        self.teaching = teaching
        self.shortcuts = self._action(self.tr("&Keyboard shortcuts"), "F1", lambda: show_shortcuts(window))
        self.page = self._action(self.tr("&Format reference"), "Alt+F1", self._show_page)
        self.glossary = self._action(self.tr("&Glossary"), "", self._show_glossary)
        menu = window.menuBar().addMenu(self.tr("&Help"))
        menu.addAction(self.shortcuts)
        menu.addSeparator()
        menu.addActions([self.page, self.glossary])
        menu.addSeparator()
        menu.addAction(about)
        panels.panel(Inspector).page_wanted.connect(self._show_page)

    def _show_page(self) -> None:
        page = self._panels.panel(FormatPage)
        page.show_page_of_file()
        self._panels.show(PAGE, focus=True)

    def _show_glossary(self) -> None:
        self._panels.panel(FormatPage).show_page(GLOSSARY)
        self._panels.show(PAGE, focus=True)

    def _action(self, text: str, keys: str, act: Callable[[], object]) -> QAction:
        action = QAction(text, self._window)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _=False: act())
        return action
