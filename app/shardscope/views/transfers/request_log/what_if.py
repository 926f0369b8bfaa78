"""Another line than the one there is: a latency and a rate, and how long the same requests would take on it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QToolButton, QVBoxLayout, QWidget

from shardcore.model.number_words import plural
from shardscope.widgets.elided import Elided
from shardscope.widgets.request_log.columns import RequestColumns
from shardscope.widgets.request_log.costs import RATES, Totals, bytes_per_second, seconds_text
from shardscope.widgets.request_log.schedule import download_seconds, replayed

MOST_LATENCY = 500
"""Milliseconds at the end of the slider: round the world, over a bad line."""

_USUAL_LATENCY = 100
_USUAL_RATE = 100


class WhatIf(QWidget):
    """A slider and a choice of rates. `changed` tells that another line is wanted, or none.

    Attributes:
        wanted: Whether the bars show the other line.
        slider: The latency in milliseconds.
        rate: The rate.
        answer: What it says.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.wanted = QToolButton(self)
        self.wanted.setText(self.tr("What if"))
        self.wanted.setCheckable(True)
        self.wanted.setToolTip(self.tr("Draw the same requests as they would be on another line"))
        self.wanted.toggled.connect(lambda _: self.changed.emit())
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setObjectName("latency")
        self.slider.setAccessibleName(self.tr("Latency in milliseconds"))
        self.slider.setToolTip(self.tr("Latency: how long a request waits for the first byte of its answer"))
        self.slider.setRange(0, MOST_LATENCY)
        self.slider.setSingleStep(5)
        self.slider.setPageStep(50)
        self.slider.setValue(_USUAL_LATENCY)
        self.slider.valueChanged.connect(self._moved)
        self.value = QLabel(self)
        self.value.setTextFormat(Qt.TextFormat.PlainText)
        self.value.setMinimumWidth(self.fontMetrics().horizontalAdvance("500 ms"))
        self.rate = QComboBox(self)
        self.rate.setObjectName("rate")
        self.rate.setAccessibleName(self.tr("How much the line carries"))
        for megabits, words in RATES:
            self.rate.addItem(words, megabits)
        self.rate.setCurrentIndex(self.rate.findData(_USUAL_RATE))
        self.rate.currentIndexChanged.connect(lambda _: self._want())
        self.answer = Elided(greedy=True, parent=self)
        self.answer.setObjectName("whatIfAnswer")
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.wanted)
        row.addWidget(self.slider, 1)
        row.addWidget(self.value)
        row.addWidget(self.rate)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.answer)
        self._tell_value()

    @property
    def latency(self) -> float:
        """Seconds."""
        return self.slider.value() / 1000

    @property
    def bytes_per_second(self) -> float:
        """The rate."""
        return bytes_per_second(float(self.rate.currentData()))

    @property
    def line(self) -> str:
        """How the rate is called."""
        return self.rate.currentText()

    def tell(self, columns: RequestColumns, totals: Totals) -> None:
        """Says how long the requests would take, and a full download.

        Args:
            columns: The requests.
            totals: Their sums.
        """
        plan = replayed(columns, self.latency, self.bytes_per_second)
        if not plan.rounds:
            self.answer.clear()
            return
        full = download_seconds(totals.files, totals.full, self.latency, self.bytes_per_second)
        text = self.tr("At {0}: {1}, {2}; in full at {3}: {4}").format(
            self.value.text(), plural(plan.rounds, "round"), seconds_text(plan.busy), self.line, seconds_text(full)
        )
        self.answer.tell(text)

    def _moved(self) -> None:
        self._tell_value()
        self._want()

    def _want(self) -> None:
        """Who moves the slider, or chooses a rate, wants to see it."""
        if not self.wanted.isChecked():
            self.wanted.setChecked(True)
        else:
            self.changed.emit()

    def _tell_value(self) -> None:
        self.value.setText(self.tr("{0} ms").format(self.slider.value()))
