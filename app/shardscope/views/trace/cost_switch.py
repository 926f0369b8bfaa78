"""Costs of a lookup: with the cache, or on a cold start."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QRadioButton, QVBoxLayout, QWidget

from shardcore.model.text import plural
from shardcore.operations.cold_cost import ColdTrace
from shardcore.sources.cold_source import ColdCost
from shardscope.widgets.wrap_text import WrapText


def cost_text(requests: int, size: int) -> str:
    if not requests:
        return "cached, nothing read"
    return f"read {plural(requests, 'range')}, {plural(size, 'byte')}"


def cold_text(cost: ColdCost) -> str:
    if not cost.requests:
        return "already cached"
    return f"{plural(cost.requests, 'request')}, {plural(cost.bytes, 'byte')}, {plural(cost.rounds, 'round trip')}"


class CostSwitch(QWidget):
    cold_wanted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("traceCosts")
        self.setAccessibleName(self.tr("Costs of the lookup"))
        tips = (
            self.tr("Bytes that each step read now. Cached bytes cost nothing."),
            self.tr("Cost of each step with an empty cache, including opening. Measured by opening the shard again."),
        )
        self.warm, self.cold = QRadioButton(self), QRadioButton(self)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(QLabel(self.tr("Cost:"), self))
        # These mnemonics must differ from those of the menus.
        texts = (self.tr("W&ith cache"), self.tr("C&old start"))
        for button, text, tip in zip((self.warm, self.cold), texts, tips, strict=True):
            button.setText(text)
            button.setToolTip(tip)
            row.addWidget(button)
        self.warm.setObjectName("traceWarm")
        self.cold.setObjectName("traceCold")
        self.warm.setChecked(True)
        row.addStretch(1)
        self.summary = WrapText(tone="muted")
        self.summary.setObjectName("traceColdTold")
        self.summary.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 6, 12, 4)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.summary)
        self.cold.toggled.connect(self.cold_wanted.emit)

    def show_cold(self, cold: ColdTrace | None, error: str = "") -> None:
        self.summary.setVisible(self.cold.isChecked())
        self.summary.set_tone("error" if error else "muted")
        if error:
            self.summary.set_text(error)
        elif cold is None:
            self.summary.set_text(self.tr("Measuring …"))
        else:
            text = self.tr("Opening: {0}.\nTotal: {1}.")
            self.summary.set_text(text.format(cold_text(cold.opening), cold_text(cold.total)))
