"""`python -m tests.contact_sheet FOLDER [NAME…]`: pictures of all panels and dialogs, and a list of cut-off texts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

from PySide6.QtCore import Qt, qInstallMessageHandler
from PySide6.QtGui import QImage, QTextDocumentFragment
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionToolButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from shardscope.shell.main_window import MainWindow
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets import fonts
from tests.pictures import PICTURES, SAMPLES, SWH, Picture, shown, until, window

SIZES = ((1440, 900), (1000, 640))
ZOOMS = (1.0, 1.5, 2.0)
THEMES = ("light", "dark")


def opens(act: Callable[[MainWindow], object]) -> Picture:
    """Return the picture of a dialog that `act` opens over an swh sample."""

    def opened(window: MainWindow) -> QWidget:
        before = dialogs()
        settle(window)
        act(window)
        until(window, lambda: bool(dialogs() - before))
        return (dialogs() - before).pop()

    return Picture(SWH, "inspector", select=1175, act=opened)


def deleting(window: MainWindow) -> None:
    """Open the dialog that deletes an object, on a copy of the sample for which changes are allowed."""
    window.open(shutil.copy(SAMPLES / SWH, os.environ["XDG_DATA_HOME"]))
    settle(window, 100)
    window.changing.switch.allow(True)
    window.objects.table.selectRow(0)
    window.changing.actions.verbs["delete", False].trigger()


SCENES = {
    "welcome": Picture(),
    **{panel.name: Picture(SWH, panel.name, select=1175) for panel in PANELS},
    **{name: PICTURES[name] for name in PICTURES if name not in ("window", "themes") and "lecture" not in name},
    "open with": opens(lambda window: window.actions_["open_with"].trigger()),
    "change": opens(lambda window: window.actions_["change"].trigger()),
    "open address": opens(lambda window: window.actions_["open_address"].trigger()),
    "find key": opens(lambda window: window.actions_["find_key"].trigger()),
    "details": opens(lambda window: window.panels.panel(Inspector).export_details()),
    "note": opens(lambda window: window.hex.actions_.note.trigger()),
    "new shard": opens(lambda window: window.new_shards.ask_new()),
    "edit": opens(deleting),
    "palette": Picture(SWH, "inspector", select=1175, act=lambda window: window.palette_.open("ver") or window),
    "about": opens(lambda window: window.actions_["about"].trigger()),
}
"""Pictures by name."""


def dialogs() -> set[QWidget]:
    return {one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog) and one.isVisible()}


# --- what does not fit ---


def clipped(part: QWidget) -> bool:
    """Return whether the text of a widget is cut off; a widget that elides its text and has a tool tip is fine."""
    room, metrics = part.contentsRect(), part.fontMetrics()
    if isinstance(part, QToolButton) and part.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonTextOnly:
        # Its minimum size includes margins beside the text, which a narrow panel may take away.
        button = QStyleOptionToolButton()
        part.initStyleOption(button)
        room = part.style().subControlRect(
            QStyle.ComplexControl.CC_ToolButton, button, QStyle.SubControl.SC_ToolButton, part
        )
        text = metrics.size(Qt.TextFlag.TextShowMnemonic, button.text)
        return text.width() > room.width() or text.height() > room.height()
    if isinstance(part, QAbstractButton):
        least = part.minimumSizeHint()
        return bool(part.text()) and (part.width() < least.width() or part.height() < least.height())
    if isinstance(part, QTabBar):
        tabs = [tab for tab in range(part.count()) if part.isTabVisible(tab)]
        narrow = any(part.tabRect(tab).width() < metrics.horizontalAdvance(part.tabText(tab)) for tab in tabs)
        beyond = part.count() > 0 and part.tabRect(part.count() - 1).right() > part.width()
        elides = part.elideMode() is not Qt.TextElideMode.ElideNone and any(part.tabToolTip(tab) for tab in tabs)
        return (narrow and not elides) or (beyond and not part.usesScrollButtons()) or part.height() < metrics.height()
    if isinstance(part, QComboBox):
        option = QStyleOptionComboBox()
        part.initStyleOption(option)
        field = part.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, part
        )
        wide = metrics.horizontalAdvance(part.currentText()) > field.width() + 1 and not part.isEditable()
        return (wide and not part.toolTip()) or metrics.height() > field.height() + 1
    if isinstance(part, QLineEdit):
        return metrics.height() > room.height() + 1
    if not isinstance(part, QLabel) or not part.text():
        return False
    if part.wordWrap():
        return part.heightForWidth(part.width()) > part.height() + 1 and not part.toolTip()
    if part.sizePolicy().horizontalPolicy() is QSizePolicy.Policy.Ignored or part.toolTip():
        return False
    words = QTextDocumentFragment.fromHtml(part.text()).toPlainText() if "<" in part.text() else part.text()
    words = words.replace("&", "") if part.buddy() is not None else words
    most = max(map(metrics.horizontalAdvance, words.splitlines() or [""]))
    return most > room.width() + 1 or metrics.height() > room.height() + 1


def covered(part: QWidget) -> bool:
    """Return whether a surrounding widget hides part of the widget, so that scrolling cannot show it."""
    around = part.parentWidget()
    while around is not None and around is not part.window():
        if isinstance(around, QAbstractScrollArea | QTabBar):
            return False
        around = around.parentWidget()
    seen = part.visibleRegion().boundingRect()
    return seen.width() < part.width() - 1 or seen.height() < part.height() - 1


def troubles(window: QWidget, size: tuple[int, int], *, whole: bool) -> Iterator[str]:
    """Yield messages about a window or dialog that is larger than allowed, and about texts in it that are cut off.

    Args:
        window: A window or dialog.
        size: Largest size allowed.
        whole: Whether it is the main window, which must have exactly this size.
    """
    got = window.width(), window.height()
    if (whole and got != size) or got[0] > size[0] or got[1] > size[1]:
        yield f"requested {size}, got {got}"
    texts = (QAbstractButton, QTabBar, QComboBox, QLineEdit, QLabel)
    for part in window.findChildren(QWidget):
        if not isinstance(part, texts) or not part.isVisible() or part.window() is not window:
            continue
        if part.visibleRegion().isEmpty():
            continue
        if clipped(part) or covered(part):
            words = part.currentText() if isinstance(part, QComboBox) else getattr(part, "text", str)()
            name = part.objectName() or type(part).__name__
            why = "cut" if clipped(part) else "covered"
            yield f"{name} is {why}: {words[:40]!r} in {part.width()}x{part.height()}"


def pictures(
    theme: str, size: tuple[int, int], zoom: float, chosen: tuple[str, ...]
) -> Iterator[tuple[str, QImage, list[str]]]:
    """Yield name, picture and messages (see `troubles`) of each scene."""
    with window(Picture(theme=theme)) as made:
        made.resize(*size)
        made.appearance.set_theme(theme)
        while fonts.zoom() < zoom:
            made.zoom(larger=True)
        for name, scene in SCENES.items():
            if chosen and name not in chosen:
                continue
            made.resize(*size)
            pictured = shown(made, scene)
            yield name, pictured.grab().toImage(), list(troubles(pictured, size, whole=pictured is made))
            for one in dialogs():
                one.close()
            made.sandbox_shell.sandbox.drop()
            made.session.documents.close_all()
            settle(made, 40)
        made.reset_zoom()


def main(folder: str, *chosen: str) -> int:
    """Write the pictures as PNG files, and print the messages."""
    target = Path(folder).absolute()
    target.mkdir(parents=True, exist_ok=True)
    os.chdir(Path(__file__).parents[1])
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    qInstallMessageHandler(lambda kind, context, message: None)
    application = QApplication(sys.argv[:1])
    for theme, size, zoom in product(THEMES, SIZES, ZOOMS):
        for name, image, found in pictures(theme, size, zoom, chosen):
            title = f"{name}-{theme}-{size[0]}x{size[1]}-{zoom:.0%}"
            image.save(str(target / f"{title}.png"))
            sys.stdout.write("".join(f"{title}: {trouble}\n" for trouble in found))
    application.processEvents()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
