"""What the program is, and the versions that matter when something is reported."""

from __future__ import annotations

import platform

import PySide6
from PySide6.QtCore import QCoreApplication, QSize, Qt, qVersion
from PySide6.QtWidgets import QMessageBox, QWidget

import shardcore
from shardcore.shards.registry import FORMATS


def versions() -> list[tuple[str, str]]:
    """Names and versions of what the program runs on."""
    # Reading what is installed imports much, and the window is seen sooner without it.
    from importlib import metadata

    found = [
        ("Shardscope", shardcore.__version__),
        ("Formats", ", ".join(FORMATS)),
        ("Python", f"{platform.python_version()} ({platform.system()} {platform.machine()})"),
        ("PySide6", f"{PySide6.__version__}, Qt {qVersion()}"),
    ]
    return found + [(name, metadata.version(name)) for name in ("numpy", "pyqtgraph")]


def about_box(window: QWidget) -> QMessageBox:
    """A box that tells the versions; open it with `open()`, which does not wait."""
    box = QMessageBox(window)
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(QCoreApplication.translate("About", "About Shardscope"))
    box.setIconPixmap(window.windowIcon().pixmap(QSize(64, 64), window.devicePixelRatioF()))
    about = QCoreApplication.translate("About", "See what is inside shard files: bytes, fields, objects, lookups.")
    box.setText(f"<b>Shardscope</b><br>{about}<br>{QCoreApplication.translate('About', 'MIT licence.')}")
    box.setInformativeText("\n".join(f"{name}: {version}" for name, version in versions()))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return box
