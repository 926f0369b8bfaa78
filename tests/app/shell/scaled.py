"""Opens the window at the scale of its environment, and writes what does not fit. Run by `test_scale.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QAbstractButton, QApplication, QDockWidget, QLabel, QSizePolicy, QWidget

from shardcore.teaching import assets
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings

SIZES = ((1280, 800), (1440, 840))


def clipped(part: QWidget) -> bool:
    """Whether the words of a label or a button have too little room; labels that are made to be cut do not count."""
    if isinstance(part, QAbstractButton):
        least = part.minimumSizeHint()
        return bool(part.text()) and (part.width() < least.width() or part.height() < least.height())
    if not isinstance(part, QLabel) or not part.text() or part.wordWrap():
        return False
    if part.sizePolicy().horizontalPolicy() is QSizePolicy.Policy.Ignored or part.toolTip():
        return False
    room, metrics = part.contentsRect(), part.fontMetrics()
    words = QTextDocumentFragment.fromHtml(part.text()).toPlainText() if "<" in part.text() else part.text()
    return metrics.horizontalAdvance(words) > room.width() + 1 or metrics.height() > room.height() + 1


def troubles(window: MainWindow, size: tuple[int, int]) -> list[str]:
    """What is larger than the window, or has words that do not fit."""
    found = []
    if (window.width(), window.height()) != size:
        found.append(f"asked for {size}, got {window.width()}x{window.height()}")
    inside = QRect(QPoint(0, 0), window.size())
    for part in window.findChildren(QWidget):
        if not part.isVisible() or part.window() is not window or part.visibleRegion().isEmpty():
            continue
        name = part.objectName() or type(part).__name__
        if isinstance(part, QDockWidget) and not inside.contains(QRect(part.mapTo(window, QPoint(0, 0)), part.size())):
            found.append(f"{name} lies outside the window")
        if clipped(part):
            found.append(f"{name} is cut: {getattr(part, 'text', str)()!r} in {part.width()}x{part.height()}")
    return found


def main() -> int:
    """Writes the ratio of pixels, then one line for each trouble."""
    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(Settings(Path(folder) / "settings.json"))
        window.show()
        sys.stdout.write(f"ratio {window.devicePixelRatioF():g}\n")
        for size in SIZES:
            window.resize(*size)
            for uri in ("", *(str(one.path) for one in assets.main_samples()[:2])):
                if uri:
                    window.open(uri)
                settle(window, 60)
                for panel in window.panels.by_name if uri else ("",):
                    if panel:
                        window.show_part(panel)
                    application.processEvents()
                    for trouble in troubles(window, size):
                        sys.stdout.write(f"{size[0]}x{size[1]} {Path(uri).name[:12]} {panel}: {trouble}\n")
            window.session.close_all()
            settle(window, 60)
        window.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
