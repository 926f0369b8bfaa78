"""Prices of one's own: what a thousand requests and a gigabyte cost where one reads."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QDoubleSpinBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from shardscope.widgets.request_log.costs import OWN, Price

_MOST = 1000.0


class OwnPrice(QDialog):
    """Asks for prices; `chosen` carries the `Price`.

    Args:
        price: What the fields begin with.
        parent: Over what it stands.

    Attributes:
        reads: Dollars for a thousand requests that read.
        listings: The same for those that list.
        gigabyte: Dollars for 10^9 bytes.
    """

    chosen = Signal(object)

    def __init__(self, price: Price, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("ownPrice")
        self.setWindowTitle(self.tr("My prices"))
        self.reads = self._field(price.reads, 5, "readsPrice")
        self.listings = self._field(price.listings, 5, "listingsPrice")
        self.gigabyte = self._field(price.gigabyte, 4, "gigabytePrice")
        form = QFormLayout()
        form.addRow(self.tr("1,000 requests that &read"), self.reads)
        form.addRow(self.tr("1,000 requests that &list"), self.listings)
        form.addRow(self.tr("1 &GB that leaves the store"), self.gigabyte)
        note = QLabel(self.tr("As your store bills them, in dollars. They count from now on."), self)
        note.setWordWrap(True)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, parent=self
        )
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(12)
        column.addWidget(note)
        column.addLayout(form)
        column.addWidget(buttons)

    def _field(self, value: float, digits: int, name: str) -> QDoubleSpinBox:
        field = QDoubleSpinBox(self)
        field.setObjectName(name)
        field.setPrefix("$ ")
        field.setDecimals(digits)
        field.setRange(0.0, _MOST)
        field.setSingleStep(10.0 ** (1 - digits))
        field.setValue(value)
        return field

    def _accept(self) -> None:
        self.chosen.emit(Price(OWN, self.reads.value(), self.listings.value(), self.gigabyte.value()))
        self.accept()
