"""What a person sees of drawings, charts, cards, the comparison and a salvage: states, and where their parts are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRect
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QMenu,
    QMenuBar,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QTabBar,
    QWidget,
)

from shardcore.model.drawing import Item
from shardscope.learning.charts.pages import ChartPages
from shardscope.learning.charts.panel import Charts
from shardscope.learning.comparison.window import CompareWindow
from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.shell.main_window import MainWindow
from shardscope.tasks.recover.dialog import RecoverDialog
from shardscope.views.inspector.panel import Inspector
from shardscope.views.trace.panel import TracePanel
from shardscope.widgets.wrap_text import WrapText

State = dict[str, Any]
Where = tuple[QWidget, QRect]


def front() -> QWidget | None:
    """The window that has the keyboard, or the dialog that holds it."""
    return QApplication.activeModalWidget() or QApplication.activeWindow()


# --- states ---


def taught(shown: MainWindow) -> State:
    """What is shown of a lookup, of drawings, charts and sheets."""
    top = front()
    return {
        "front": top.objectName() if top is not None else "",
        "popup": isinstance(QApplication.activePopupWidget(), QMenu),
        "clipboard": QApplication.clipboard().text(),
        "message": shown.line.note.text(),
        **_focus(),
        **_walk(shown),
        **_drawing(shown),
        **_asked(shown),
        **_chart(shown),
        **_compared(shown),
        **_salvaged(shown),
    }


def _line(focus: QWidget | None) -> str:
    """The text that is typed over by keys."""
    if isinstance(focus, QComboBox):
        return focus.currentText() if focus.isEditable() else ""
    return focus.text() if isinstance(focus, QLineEdit) else ""


def _focus() -> State:
    """What says what the part with the keyboard is: the name it was given, or the words on it."""
    focus = QApplication.focusWidget()
    words = focus.text().replace("&", "") if isinstance(focus, QAbstractButton) else ""
    return {
        "part": type(focus).__name__ if focus is not None else "",
        "part_of": [one.objectName() for one in _around(focus) if one.objectName()],
        "line": _line(focus),
        "spoken": (focus.accessibleName() if focus is not None else "") or words,
        "described": focus.accessibleDescription() if focus is not None else "",
    }


def _around(widget: QWidget | None) -> Iterator[QWidget]:
    while widget is not None:
        yield widget
        widget = widget.parentWidget()


def _walk(shown: MainWindow) -> State:
    session = shown.session
    walk = session.walk
    lit = shown.tree.lit
    in_tree = {light.number for lights in (*lit.ends.values(), *lit.ways.values()) for light in lights}
    costs = shown.panels.panel(TracePanel).costs
    return {
        "step": walk.step,
        "steps": walk.steps,
        "lights": [[one.span.source, one.span.start, one.span.stop] for one in session.lights],
        "numbers": [one.number for one in session.lights],
        "in_bytes": [one.number for one in shown.hex.state.lights],
        "in_strip": [one.number for one in shown.hex.overview.lights],
        "in_tree": sorted(in_tree),
        "cold": costs.cold.isChecked(),
        "cost": costs.told.text if costs.told.isVisible() else "",
    }


def _drawing(shown: MainWindow) -> State:
    panel = shown.hex.drawings.panel
    if panel is None or not shown.hex.drawings.in_front:
        return {"drawing": "", "controls": [], "items": [], "sketches": [], "grips": [], "values": {}, "pointed": []}
    sketch = next((one for one in panel.sketches if one.name == panel.name), None)
    items = panel.drawing.items if panel.drawing is not None else ()
    picture = panel.view.picture
    return {
        "drawing": panel.name,
        "sketches": [one.name for one in panel.sketches],
        "titles": [panel.tabs.tabText(number) for number in range(panel.tabs.count())],
        "controls": [
            {"name": one.name, "kind": one.kind.value, "value": one.value, "low": one.low, "high": one.high}
            for one in (sketch.controls if sketch is not None else ())
        ],
        "values": panel.values,
        "drawing_title": panel.drawing.title if panel.drawing is not None else "",
        "items": [_spans(item) for item in items],
        "texts": [item.text for item in items],
        "grips": [grip.control for grip in picture.grips] if picture is not None else [],
        "hatched": panel.drawing is not None and panel.drawing.what_if,
        "framed": sorted(panel.view.lit),
        "handle": panel.view.handle,
        "pointed": _spans(items[panel.view._hover]) if 0 <= panel.view._hover < len(items) else [],
        "notice": panel.notice.text if panel.notice.isVisible() else "",
    }


def _spans(item: Item) -> list[list[Any]]:
    return [[one.source, one.start, one.stop] for one in item.spans]


def _asked(shown: MainWindow) -> State:
    question = shown.panels.panel(Inspector).leads
    return {
        "leads": len(question.links) if question.told.isVisible() else -1,
        "leads_told": question.told.text if question.told.isVisible() else "",
        "arrows": len(shown.session.arrows),
    }


def _chart(shown: MainWindow) -> State:
    pages = _pages(shown)
    if pages is None:
        return {"chart": "", "bins": 0, "shares": 0, "chosen_bins": [-1, -1], "read_out": "", "filter": ""}
    counts = pages.chart.values.tolist() if pages.chart is not None else []
    return {
        "chart": pages.kind.value if pages.isVisible() else "",
        "bins": len(counts),
        "full": [number for number, count in enumerate(counts) if count > 0],
        "shares": len(pages.budget.shares.things) if pages.budget.isVisible() else 0,
        "chosen_bins": list(pages.plot.bins),
        "read_out": pages.read_out.text(),
        "why": pages.why.text if pages.why.isVisible() else "",
        "filter": shown.objects.filter.text(),
    }


def _pages(shown: MainWindow) -> ChartPages | None:
    pages = shown.panels.panel(Charts).pages
    return pages if isinstance(pages, ChartPages) else None


def _compared(shown: MainWindow) -> State:
    sheet = shown.comparing.sheet
    if sheet is None:
        return {"compared_formats": []}
    return {
        "compared_formats": list(sheet.rows),
        "to_pack": len(sheet.stale),
        "compared_now": sheet.strips.current,
    }


def _salvaged(shown: MainWindow) -> State:
    sheet = shown.breaking.salvaging.sheet
    there = sheet is not None and sheet.isVisible()
    return {
        "salvage": sheet.title.text() if there and sheet is not None else "",
        "salvage_rows": sheet.rows.topLevelItemCount() if there and sheet is not None else 0,
        "can_extract": there and sheet is not None and sheet.take.isEnabled(),
    }


# --- places ---


def _tops(shown: MainWindow) -> list[QWidget]:
    """Where parts are looked for: in what holds the keyboard first."""
    modal = QApplication.activeModalWidget()
    if modal is not None:
        return [modal]
    sheets = [one for one in shown.findChildren(QDialog) if one.isVisible()]
    return [*reversed(sheets), shown]


def _tab(shown: MainWindow, name: str) -> Where | None:
    for bar in (bar for top in _tops(shown) for bar in top.findChildren(QTabBar) if bar.isVisible()):
        for number in range(bar.count()):
            if bar.tabText(number).replace("&", "") == name:
                return bar, bar.tabRect(number)
    return None


def _menu(shown: MainWindow, name: str) -> Where | None:
    """An entry of the open menu, or of the bar while none is open."""
    popup = QApplication.activePopupWidget()
    menu: QMenu | QMenuBar = popup if isinstance(popup, QMenu) else shown.menuBar()
    for action in menu.actions():
        if action.isVisible() and action.text().replace("&", "").rstrip("…") == name.rstrip("…"):
            return menu, menu.actionGeometry(action)
    return None


def _link(shown: MainWindow, name: str) -> Where | None:
    for top in _tops(shown):
        for text in top.findChildren(WrapText):
            if text.link and text.isVisible() and text.text.startswith(name):
                return text, text.rect()
    return None


def _panel(shown: MainWindow) -> DrawingPanel:
    return shown.hex.drawings.made()


def _item(shown: MainWindow, name: str) -> Where:
    view = _panel(shown).view
    middle = view.place_of(int(name))
    return view.viewport(), QRect(middle, middle)


def _grip(shown: MainWindow, name: str) -> Where | None:
    view = _panel(shown).view
    grip = view.picture.grips[int(name)] if view.picture is not None else None
    if grip is None:
        return None
    place = view.mapFromScene(QPointF(*grip.rect.middle))
    return view.viewport(), QRect(place, place)


def _bin(shown: MainWindow, name: str) -> Where | None:
    pages = _pages(shown)
    if pages is None or not pages.plot.isVisible():
        return None
    plot = pages.plot
    box = plot.getViewBox()
    found = [x for x in range(plot.width()) if plot.bin_at(QPointF(x, plot.height() / 2)) == int(name)]
    low = plot.mapFromScene(box.mapToScene(box.boundingRect().topLeft())).x()
    inside = [x for x in found if x > low] or found
    place = QPoint(inside[len(inside) // 2], plot.height() // 2)
    return plot.viewport(), QRect(place, place)


def _share(shown: MainWindow, name: str) -> Where | None:
    pages = _pages(shown)
    if pages is None:
        return None
    return pages.budget.viewport(), pages.budget.visualRect(pages.budget.shares.index(int(name), 0))


def _handle(shown: MainWindow, name: str) -> Where | None:
    for top in _tops(shown):
        for slider in top.findChildren(QSlider, name):
            if slider.isVisible():
                option = QStyleOptionSlider()
                slider.initStyleOption(option)
                control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
                return slider, slider.style().subControlRect(control, option, part, slider)
    return None


def _choice(shown: MainWindow, name: str) -> Where | None:
    """An entry of the list of a box that is open."""
    popup = QApplication.activePopupWidget()
    boxes = [box for top in _tops(shown) for box in top.findChildren(QComboBox) if box.view().isVisible()]
    if popup is None or not boxes:
        return None
    view = boxes[0].view()
    return view.viewport(), view.visualRect(boxes[0].model().index(int(name), 0))


def _strip(shown: MainWindow, name: str) -> Where | None:
    sheet = shown.comparing.sheet
    if not isinstance(sheet, CompareWindow) or int(name) >= len(sheet.strips.rows):
        return None
    return sheet.strips, sheet.strips.strip_of(int(name)).toRect()


def _saved(shown: MainWindow, name: str) -> Where | None:
    sheet = shown.breaking.salvaging.sheet
    if not isinstance(sheet, RecoverDialog) or (item := sheet.rows.topLevelItem(int(name))) is None:
        return None
    return sheet.rows.viewport(), sheet.rows.visualItemRect(item)


def _box(shown: MainWindow, name: str) -> Where | None:
    """The square of a switch: what is beside its words is no part of it."""
    for box in shown.findChildren(QCheckBox, name):
        if box.isVisible():
            return box, QRect(0, 0, 18, box.height())
    return None


_PLACES: dict[str, Callable[[MainWindow, str], Where | None]] = {
    "tab": _tab,
    "menu": _menu,
    "link": _link,
    "item": _item,
    "grip": _grip,
    "bin": _bin,
    "share": _share,
    "handle": _handle,
    "entry": _choice,
    "strip": _strip,
    "saved": _saved,
    "box": _box,
}
KINDS = frozenset(_PLACES)


def place_of(shown: MainWindow, kind: str, name: str) -> State:
    """Where a part is; where it is scrolled away, over what the wheel is turned, and in which direction."""
    found = _PLACES[kind](shown, name)
    return on_screen(*found) if found is not None else {}


def on_screen(widget: QWidget, place: QRect) -> State:
    """The middle of a place of a widget, or how to bring it into view; nothing where that is not possible."""
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
