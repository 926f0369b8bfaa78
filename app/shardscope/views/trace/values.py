"""What a step produced: names, values with their units, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from shardcore import Step
from shardcore.model.text import said
from shardcore.shards.trace import Meaning
from shardscope.session.words import grouped
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.plain_text import tip
from shardscope.widgets.wrap_text import WrapText

MOST_VALUES = 24
"""Values of a step that are shown."""

MOST_LETTERS = 1 << 16
"""Characters of a value that are copied."""

LONGEST_VALUE = 200
"""Characters of a value that are shown."""

LONG_NAME = 14
"""Letters of a name beside which there is no room for its value."""

BESIDE = 12
"""Letters of the longest name and the longest value beside which there is room for what they mean."""

_KEYS = frozenset({"key", "uid", "id", "hash"})
"""Names of values that are keys, even where they are numbers: they are read as they are typed."""

_LINES = 3
"""Lines of the grid for each value: its name, the value where it stands below the name, its meaning."""


def value_text(value: Any) -> str:
    """A value that a step produced, as text."""
    return said(value, MOST_LETTERS)


def with_commas(value: Any) -> str:
    """A value as the window shows it: of numbers, alone or in a row, with commas."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return f"{value:,}"
    if isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value[:LONGEST_VALUE]):
        return said([f"{one:,}" for one in value[:LONGEST_VALUE]], MOST_LETTERS)
    return value_text(value)


def values_of(step: Step) -> QWidget | None:
    """Names and values in the font of bytes, and what they mean; None for a step without any.

    What a value means stands beside it where names and values are short, else below it; what several mean, once.
    """
    if not step.values:
        return None
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(2)
    rows = [_Row.of(name, value, step.meanings.get(name)) for name, value in list(step.values.items())[:MOST_VALUES]]
    beside = max(len(row.name) for row in rows) + max(len(row.text) for row in rows) <= BESIDE
    grid.setColumnStretch(3 if beside else 2, 1)
    told: set[str] = set()
    for number, row in enumerate(rows):
        _add(grid, number * _LINES, row, beside=beside, known=row.meaning in told)
        told.add(row.meaning)
    if len(step.values) > MOST_VALUES:
        more = QCoreApplication.translate("StepValues", "and {0} more").format(len(step.values) - MOST_VALUES)
        grid.addWidget(WrapText(more, tone="muted"), _LINES * MOST_VALUES, 0, 1, 4)
    return box


@dataclass(frozen=True, slots=True)
class _Row:
    """A value as it is shown: name, text with its unit, what is copied, what it means."""

    name: str
    text: str
    copied: str
    meaning: str
    unit: str

    @staticmethod
    def of(name: str, value: Any, meaning: Meaning | None) -> _Row:
        copied = value_text(value)
        seen = copied if name in _KEYS else with_commas(value)
        cut = seen if len(seen) <= LONGEST_VALUE else seen[:LONGEST_VALUE] + "…"
        if meaning is None:
            return _Row(name, cut, copied, "", "")
        return _Row(name, meaning.with_unit(cut, value), copied, grouped(meaning.text), meaning.unit)

    @property
    def sentence(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.name}: {self.meaning}{unit}"


def _add(grid: QGridLayout, line: int, row: _Row, *, beside: bool, known: bool) -> None:
    top = Qt.AlignmentFlag.AlignTop
    value = WrapText(mono=True)
    value.set_text(row.text, copied=row.copied)
    widgets = [value]
    if len(row.name) > LONG_NAME or (len(row.name) > LONG_NAME / 2 and len(row.text) > LONG_NAME):
        # Beside it the value would have the room of a few letters.
        label = WrapText(f"{row.name} =", tone="muted", mono=True)
        grid.addWidget(label, line, 0, 1, 4)
        grid.addWidget(value, line + 1, 2, 1, 2)
    else:
        label = WrapText(row.name, tone="muted", mono=True)
        equals = WrapText("=", tone="muted", mono=True)
        equals.setFixedWidth(equals.sizeHint().width())
        grid.addWidget(label, line, 0, top)
        grid.addWidget(equals, line, 1, top)
        grid.addWidget(value, line, 2, 1, 1 if beside else 2, top)
        if beside:
            value.setFixedWidth(value.sizeHint().width())
            label.setFixedWidth(label.sizeHint().width())
    widgets.append(label)
    if not row.meaning:
        return
    if beside or not known:
        told = WrapText(row.meaning, tone="muted")
        told.setFont(sized(told.font(), SMALL))
        grid.addWidget(told, line if beside else line + 2, 3 if beside else 2, 1, 1 if beside else 2)
        widgets.append(told)
    for widget in widgets:
        widget.setToolTip(tip(row.sentence))
