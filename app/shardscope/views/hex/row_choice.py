"""Choice of the bytes per row: the control, the record chip, and the value that follows from the path."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QToolButton

from shardcore import Node
from shardscope.session.words import cut_middle
from shardscope.views.hex.row_fit import AUTOMATIC
from shardscope.views.hex.state import HexState
from shardscope.views.hex.width import CHOICES, DEFAULT, RowMode, RowWidth, parse_width, record_of, table_record_of


class WidthBox(QComboBox):
    """Offers the usual widths, and takes any other that is typed. `chosen` carries a new `RowWidth`."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._width = RowWidth(RowMode.AUTO)
        self.setObjectName("rowWidth")
        self.setAccessibleName(self.tr("Bytes in a row"))
        self.setToolTip(
            self.tr("Bytes in a row: 16 where they fit, a number, as many as fit, or the record under the caret")
        )
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.addItems(list(CHOICES))
        self.setFixedWidth(96)
        if (field := self.lineEdit()) is not None:
            field.setAccessibleName(self.tr("Bytes in a row"))
            field.editingFinished.connect(self._typed)
        self.activated.connect(lambda _: self._typed())

    def show_width(self, width: RowWidth) -> None:
        """Show what was chosen; tell nobody."""
        self._width = width
        self.setEditText(width.text)

    def _typed(self) -> None:
        found = parse_width(self.currentText())
        if found is None:
            self.setEditText(self._width.text)
        elif found != self._width:
            self.chosen.emit(found)


_LONGEST = 16


class RowChoice(QObject):
    """Holds the choice, and applies it. `changed` carries a new `RowWidth`.

    Attributes:
        width: The choice.
        box: The control.
        chip: Offers rows of one record each, inside of tables; pressed while rows are that.
    """

    changed = Signal(object)

    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state
        self._path: Sequence[Node] = ()
        self._before = RowWidth(RowMode.AUTO)
        self.width = RowWidth(RowMode.AUTO)
        self.box = WidthBox()
        self.box.chosen.connect(self.choose)
        self.chip = QToolButton()
        self.chip.setObjectName("recordChip")
        self.chip.setCheckable(True)
        # It comes and goes; the line that it is stored in keeps its height.
        self.chip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)
        self.chip.hide()
        self.chip.clicked.connect(self._pressed)

    def choose(self, width: RowWidth) -> None:
        """Change how many bytes a row has."""
        if self.width.mode is not RowMode.RECORD:
            self._before = self.width
        self.width = width
        self.box.show_width(width)
        if width.mode is RowMode.FIXED:
            self._state.set_row_width(width.width)
        elif width.mode is RowMode.AUTO:
            self._state.set_row_rule(AUTOMATIC)
        else:
            self._apply()
        self._offer()

    def choose_text(self, text: str) -> None:
        """Choose by the text of a menu."""
        chosen = parse_width(text)
        if chosen is not None:
            self.choose(chosen)

    def set_path(self, path: Sequence[Node]) -> None:
        """The caret is elsewhere."""
        self._path = tuple(path)
        if path and self.width.mode is RowMode.RECORD:
            self._apply()
        self._offer()

    def _apply(self) -> None:
        size, start = record_of(self._path, self._state.name) or (DEFAULT, 0)
        rows = self._state.layout
        if rows.width != size or rows.column_of(start) != 0:
            self._state.set_row_width(size, start)

    def _offer(self) -> None:
        record = table_record_of(self._path, self._state.name)
        self.chip.setVisible(record is not None)
        if record is None:
            return
        size, name = record
        self.chip.setText(self.tr("One {0}").format(cut_middle(name, _LONGEST)))
        pressed = self.width.mode is RowMode.RECORD
        self.chip.setChecked(pressed)
        tip = self.tr("Rows as before") if pressed else self.tr("One {0} in each row: {1} bytes").format(name, size)
        self.chip.setToolTip(tip)
        self.chip.setAccessibleName(tip)

    def _pressed(self) -> None:
        self.choose(self._before if self.width.mode is RowMode.RECORD else RowWidth(RowMode.RECORD))
