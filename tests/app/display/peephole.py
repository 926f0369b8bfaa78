"""The command `shardscope` with a peephole: a line on standard input is answered by a line of JSON.

Hands and eyes of a test stay outside: the mouse and the keys are those of the display. What is asked here is what a
person sees: where a part is on the screen, and what state the window is in.

Questions: `state`; `where PART`, which is `byte:OFFSET`, `row:NUMBER`, `drop:PLACE`, `button:TEXT`, or
the name of a widget; `picture PATH`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QObject, QPoint, QRect, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLineEdit,
    QWidget,
)

from shardscope.__main__ import main
from shardscope.shell.drop_targets import DropTarget
from shardscope.shell.main_window import MainWindow

KEY = 1
"""The column of the key: there always."""

FAST = 90
"""Qt's quality of a picture: larger files, in a quarter of the time."""


def window() -> MainWindow | None:
    found = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MainWindow)]
    return found[0] if found and found[0].isVisible() else None


def state() -> dict[str, Any]:
    shown = window()
    if shown is None:
        return {"title": ""}
    session = shown.session
    span, walk = session.selection.span, session.lookup.walk
    focus, sheet = QApplication.focusWidget(), QApplication.activeModalWidget()
    return {
        "title": shown.windowTitle().replace("[*]", ""),
        "focus": focus.objectName() if focus is not None else "",
        "sheet": sheet.objectName() if sheet is not None and sheet.isVisible() else "",
        "active": QApplication.activeWindow() is not None,
        "dark": shown.palette().window().color().lightnessF() < 0.5,
        "span": [span.start, span.stop] if span is not None else None,
        "row": session.selection.row,
        "rows": shown.objects.table.model().rowCount(),
        "status": shown.objects.status.text(),
        "first_byte": shown.hex.view.state.visible_bytes[0],
        "outcome": walk.trace.outcome if walk.trace is not None else "",
        "looked_up": walk.key,
        "search": shown.hex.search.status.text(),
        "results": "\n".join(notice.toolTip() for notice in shown.notices.all),
        "busy": bool(shown.jobs.open_jobs),
        "line": _line(focus),
    }


def _line(focus: QWidget | None) -> str:
    if isinstance(focus, QComboBox):
        return focus.currentText() if focus.isEditable() else ""
    return focus.text() if isinstance(focus, QLineEdit) else ""


def where(part: str) -> dict[str, Any]:
    shown = window()
    if shown is None:
        return {}
    kind, _, name = part.partition(":")
    if kind == "byte":
        view = shown.hex.view
        return _middle(view.viewport(), view.state.byte_rect(int(name)).toRect())
    if kind == "row":
        table = shown.objects.table
        place = table.visualRect(table.objects.index(int(name), KEY))
        return _middle(table.viewport(), QRect(place.left(), place.top(), 60, place.height()))
    if kind == "drop":
        places = shown.drop_places
        return _middle(places, places.rect_of(DropTarget[name]).toRect()) if places.isVisible() else {}
    top = QApplication.activeModalWidget() or shown
    found: list[QWidget]
    if kind == "button":
        buttons = top.findChildren(QAbstractButton)
        found = [one for one in buttons if name in (one.text().replace("&", ""), one.toolTip().partition(" (")[0])]
    else:
        found = top.findChildren(QWidget, part)
    seen = [_on_screen(one, one.rect()) for one in found if one.isVisible() and one.isEnabled()]
    return next((place for place in seen if "x" in place), next(filter(None, seen), {}))


def _middle(widget: QWidget, place: QRect) -> dict[str, Any]:
    if not widget.isVisible() or not widget.rect().contains(place.center()):
        return {}
    point = widget.mapToGlobal(QPoint(place.center()))
    return {"x": point.x(), "y": point.y()}


def _around(widget: QWidget | None) -> Iterator[QWidget]:
    while widget is not None:
        yield widget
        widget = widget.parentWidget()


def _on_screen(widget: QWidget, place: QRect) -> dict[str, Any]:
    if not widget.isVisible():
        return {}
    middle = place.center()
    point = widget.mapToGlobal(middle)
    # What is inside a part covers it: the region of a list that is full of cards is empty.
    top = QApplication.widgetAt(point)
    if widget.visibleRegion().contains(middle) or (top is not None and widget.isAncestorOf(top)):
        return {"x": point.x(), "y": point.y()}
    for area in _around(widget):
        if isinstance(area, QAbstractScrollArea) and area.verticalScrollBar().maximum() > 0:
            port = area.viewport()
            inside = port.mapFromGlobal(widget.mapToGlobal(middle))
            # A port that is full of parts has no region of its own either.
            seen = port.visibleRegion().boundingRect() or port.rect()
            hub = port.mapToGlobal(seen.center())
            there = QApplication.widgetAt(hub)
            if not port.rect().contains(inside) and there is not None and (there is port or port.isAncestorOf(there)):
                return {"wheel": [hub.x(), hub.y(), 4 if inside.y() < 0 else 5]}
    return {}


def picture(path: str) -> dict[str, Any]:
    return {"saved": QApplication.primaryScreen().grabWindow(0).save(path, "PNG", FAST)}


class Peephole(QObject):
    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.asked.connect(self._answer, Qt.ConnectionType.QueuedConnection)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self.asked.emit(line.strip())

    def _answer(self, line: str) -> None:
        question, _, rest = line.partition(" ")
        answer = {"state": lambda _: state(), "where": where, "picture": picture}[question](rest)
        sys.stdout.write(json.dumps({"event": question, **answer}) + "\n")
        sys.stdout.flush()


def watched(arguments: list[str]) -> int:
    peephole = Peephole()
    code = main(arguments)
    peephole.asked.disconnect()
    return code
