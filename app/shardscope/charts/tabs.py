"""The tabs of the charts."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar, QWidget


class Kind(Enum):
    """A chart."""

    BUDGET = "budget"
    SIZES = "sizes"
    ENTROPY = "entropy"
    LOAD = "load"


class ChartTabs(QTabBar):
    """One tab for each chart."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chartTabs")
        self.setAccessibleName(self.tr("Charts"))
        self.setExpanding(False)
        self.setDrawBase(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        # All four are there in the narrowest dock.
        self.setStyleSheet("QTabBar::tab { padding-left: 7px; padding-right: 7px; }")
        tips = (
            self.tr("What the bytes of the file are for"),
            self.tr("How large the objects are"),
            self.tr("How surprising the bytes are, along the file"),
            self.tr("How full slots, minishards, xorbs or files are"),
        )
        names = (self.tr("Bytes"), self.tr("Sizes"), self.tr("Entropy"), self.tr("Load"))
        for name, tip in zip(names, tips, strict=True):
            self.setTabToolTip(self.addTab(name), tip)

    @property
    def kind(self) -> Kind:
        """The chart in front."""
        return tuple(Kind)[self.currentIndex()]
