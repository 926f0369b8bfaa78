"""Charts as files: numbers as CSV, pictures as SVG."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton, QWidget

from shardcore.teaching.charts.charts import Chart
from shardcore.teaching.charts.export import chart_csv, shares_csv
from shardcore.teaching.charts.svg import Inks, chart_svg, shares_svg
from shardscope.learning.charts.count import Found

translate = QCoreApplication.translate


def written(found: Found | None, chart: Chart | None, kind: str, inks: Inks) -> str:
    """What is shown, as the text of a file.

    Args:
        found: What is known.
        chart: The chart that is drawn, or None.
        kind: `csv` or `svg`.
        inks: The colours of a picture.
    """
    if found is not None and found.shares:
        return shares_csv(found.shares) if kind == "csv" else shares_svg(found.shares, inks=inks)
    if chart is None:
        return ""
    return chart_csv(chart) if kind == "csv" else chart_svg(chart, inks)


class SaveButton(QToolButton):
    """The menu of what a chart is saved as.

    Args:
        ask: Asks where to, for `csv` or `svg`.
        parent: Where it stands.
    """

    def __init__(self, ask: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chartSave")
        self.setText(self.tr("Save"))
        self.setAccessibleName(self.tr("Save the chart"))
        self.setToolTip(self.tr("Writes the chart as numbers or as a picture"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.addAction(self.tr("Numbers, &CSV…"), partial(ask, "csv"))
        menu.addAction(self.tr("Picture, &SVG…"), partial(ask, "svg"))
        self.setMenu(menu)


def ask_save(parent: QWidget, name: str, kind: str, text: str, told: Callable[[str, bool], object]) -> QFileDialog:
    """Asks where a chart goes, and writes it.

    Args:
        parent: Where the question stands.
        name: What the file is called by default, without an ending.
        kind: `csv` or `svg`.
        text: What is written.
        told: Takes a sentence about what became of it, and whether it failed.
    """
    kinds = {"csv": translate("Charts", "Numbers (*.csv)"), "svg": translate("Charts", "Picture (*.svg)")}
    dialog = QFileDialog(parent, translate("Charts", "Save chart"))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setNameFilters([kinds[kind]])
    dialog.setDefaultSuffix(kind)
    dialog.selectFile(f"{name}.{kind}")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(partial(write, text, told))
    dialog.open()
    return dialog


def write(text: str, told: Callable[[str, bool], object], path: str) -> None:
    """Writes a chart, and says whether that worked."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        not_saved = translate("Charts", "{0} cannot be written: {1}. Choose another folder.")
        told(not_saved.format(path, error.strerror), True)
    else:
        told(translate("Charts", "Chart saved: {0}").format(path), False)
