"""Dialog that previews an edit, placed beside the bytes, which show the changes in place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.options import Option
from shardcore.model.text import shown
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import cut_end, cut_middle, range_words
from shardscope.tasks.edit.edit_preview import ChangeRow, Proposal
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_files
from shardscope.widgets.fonts import LARGE, px
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.table import Index, TableModel
from shardscope.widgets.tick_box import TickBox

Roles = Qt.ItemDataRole

SHORT, NARROW = 6, 3
"""Number of old and new bytes shown per row, in a wide and in a narrow dialog."""
LONG = 64
"""Number of old and new bytes shown in the tooltip."""


class ChangeModel(TableModel):
    titles = ("Change", "Range", "Old", "New")
    numbers = ()
    things: tuple[ChangeRow, ...] = ()
    short = SHORT

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        return theme.fixed_font() if role == Roles.FontRole and index.column() > 1 else super().data(index, role)

    def tip(self, row: int, column: int) -> str:
        return self._text(row, column, LONG)

    def spoken(self, row: int, column: int) -> str:
        return f"{self.titles[column]}: {self.text(row, column)}"

    def text(self, row: int, column: int) -> str:
        return self._text(row, column, self.short)

    def _text(self, number: int, column: int, most: int) -> str:
        row = self.things[number]
        match column:
            case 0:
                return row.what
            case 1:
                return range_words(row.start, row.stop)
            case 2:
                return _bytes(row, row.old, row.old_size, most) or ("—" if row.is_text else self.tr("after the end"))
            case _:
                return _bytes(row, row.new, row.new_size, most) or ("—" if row.is_text else self.tr("cut off"))


def _bytes(row: ChangeRow, data: bytes, size: int, most: int) -> str:
    if row.is_text:
        # As many characters as the same bytes in hex.
        return cut_end(" ".join(data.decode("utf-8", "replace").split()), 3 * most)
    more = " …" if size > min(len(data), most) else ""
    return f"{data[:most].hex(' ')}{more}"


TYPING_MILLISECONDS = 250

NARROW_SHEET = 540
"""Width in pixels at 100 % below which rows show fewer bytes."""
LEAST = 400
"""Minimum width of the table in pixels."""


class EditDialog(QDialog):
    """Preview and confirmation of an edit.

    - `asked()`: the input changed, so the changes must be computed again
    - `side_chosen(new)`: show the new or the old bytes
    - `wanted(keep)`: run the edit; `keep` writes an undo file
    """

    asked = Signal()
    row_chosen = Signal(object)
    side_chosen = Signal(bool)
    wanted = Signal(bool)

    def __init__(
        self,
        title: str,
        help: str,
        act: str,
        options: tuple[Option, ...] = (),
        *,
        takes_files: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("editSheet")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(takes_files)
        self._paths: tuple[Path, ...] = ()
        self._proposal: Proposal | None = None
        self.title = plain_label(shown(title), size=LARGE)
        self.help = plain_label(shown(help), "editHelp", wrap=True)
        self.file = self._file_field() if takes_files else None
        self.fields = {option.name: self._field(option) for option in options}
        self.model = ChangeModel(self)
        self.table = self._table()
        self.total = plain_label("", "editTotal", wrap=True)
        self.old = QRadioButton(self.tr("&Old bytes"), self)
        self.new = QRadioButton(self.tr("&New bytes"), self)
        self.takedown = TickBox(self.tr("Do not &keep the old bytes (takedown)"), self)
        self.kept = plain_label("", "editKept", wrap=True)
        self.trouble = plain_label("", "editTrouble", wrap=True)
        self.buttons = QDialogButtonBox(self)
        self.apply = self.buttons.addButton(act, QDialogButtonBox.ButtonRole.AcceptRole)
        self.cancel = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        for button in (self.apply, self.cancel):
            button.setAutoDefault(False)
        self._soon = Debounce(self, self._ask, TYPING_MILLISECONDS)
        self._lay_out()
        self._connect()
        self.show_busy() if self.ready else self._update()
        first = self.file or next(iter(self.fields.values()), None)
        (first or self.table).setFocus()

    # --- making ---

    def _field(self, option: Option) -> QLineEdit:
        line = QLineEdit(self)
        line.setObjectName(f"edit_{option.name}")
        line.setAccessibleName(option.name.capitalize())
        line.setPlaceholderText(option.help.partition(";")[0])
        line.setToolTip(option.help)
        return line

    def _file_field(self) -> QLineEdit:
        line = QLineEdit(self)
        line.setObjectName("edit_file")
        line.setAccessibleName(self.tr("Files"))
        line.setPlaceholderText(self.tr("Drop or choose files"))
        line.setAcceptDrops(False)
        return line

    def _table(self) -> QTableView:
        table = _ChangesTable(self)
        table.setObjectName("editChanges")
        table.setAccessibleName(self.tr("Changes"))
        table.setModel(self.model)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setTabKeyNavigation(False)
        table.setMinimumHeight(_ChangesTable.LEAST)
        rows = table.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + 7)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(48)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        return table

    def _lay_out(self) -> None:
        form = QGridLayout()
        form.setHorizontalSpacing(10)
        form.setVerticalSpacing(8)
        if self.file is not None:
            choose = QPushButton(self.tr("&Choose…"), self)
            choose.setAutoDefault(False)
            choose.clicked.connect(lambda _: self._choose())
            self._row(form, self.tr("&Files"), self.file)
            form.addWidget(choose, 0, 2)
        for name, line in self.fields.items():
            self._row(form, f"&{name.capitalize()}", line)
        sides = QHBoxLayout()
        sides.setSpacing(14)
        self._sides = QButtonGroup(self)
        sides.addWidget(QLabel(self.tr("Show in the bytes view"), self))
        for button in (self.old, self.new):
            self._sides.addButton(button)
            sides.addWidget(button)
        sides.addStretch(1)
        self.new.setChecked(True)
        inner = QWidget(self)
        column = QVBoxLayout(inner)
        column.setContentsMargins(16, 12, 16, 4)
        column.setSpacing(8)
        for part in (self.title, self.help):
            column.addWidget(part)
        if form.count():
            column.addLayout(form)
        column.addWidget(self.trouble)
        column.addWidget(self.table, 1)
        column.addWidget(self.total)
        column.addLayout(sides)
        column.addWidget(self.takedown)
        column.addWidget(self.kept)
        self.area = scrolled(inner, "editArea", self.tr("Options and changes"), self)
        foot = QHBoxLayout()
        foot.setContentsMargins(16, 4, 16, 12)
        foot.addWidget(self.buttons)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.area, 1)
        outer.addLayout(foot)
        self.resize(620, 460)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST - 80, 200)

    def _row(self, form: QGridLayout, words: str, line: QLineEdit) -> None:
        label = QLabel(words, self)
        label.setBuddy(line)
        # Keep the height of the fields: a small dialog scrolls instead of squeezing them.
        line.ensurePolished()
        line.setMinimumHeight(line.sizeHint().height())
        number = form.rowCount() if form.count() else 0
        form.addWidget(label, number, 0, Qt.AlignmentFlag.AlignRight)
        form.addWidget(line, number, 1)

    def _connect(self) -> None:
        lines = [*self.fields.values(), *([self.file] if self.file is not None else [])]
        for line in lines:
            line.textChanged.connect(lambda _: self._typed())
        self.table.selectionModel().currentRowChanged.connect(self._chosen)
        self.new.toggled.connect(self.side_chosen)
        self.takedown.toggled.connect(lambda _: self._update())
        self.apply.clicked.connect(lambda _: self.wanted.emit(not self.takedown.isChecked()))
        self.buttons.rejected.connect(self.reject)

    # --- what it states ---

    @property
    def paths(self) -> tuple[Path, ...]:
        text = self.file.text().strip() if self.file is not None else ""
        if text == _listed(self._paths):
            return self._paths
        return (Path(text),) if text else ()

    def take_files(self, paths: Iterable[str]) -> None:
        assert self.file is not None
        self._paths = tuple(map(Path, paths))
        self.file.setText(_listed(self._paths))

    @property
    def values(self) -> dict[str, str]:
        return {name: line.text().strip() for name, line in self.fields.items()}

    @property
    def ready(self) -> bool:
        return self.file is None or bool(self.paths)

    @property
    def row(self) -> ChangeRow | None:
        index = self.table.currentIndex()
        return self.model.things[index.row()] if index.isValid() else None

    # --- what it is reported ---

    def show_busy(self) -> None:
        self._proposal = None
        self.trouble.setText("")
        self.total.setText(self.tr("Computing the changes …"))
        self._update()

    def show_error(self, text: str) -> None:
        self._proposal = None
        self.model.show_things(())
        self.total.setText("")
        self.trouble.setText(shown(text))
        self.trouble.setStyleSheet(f"color: {theme.of(self).error.name()};")
        self._update()

    def show_proposal(self, proposal: Proposal) -> None:
        self._proposal = proposal
        what = proposal.what[:1].upper() + proposal.what[1:]
        self.title.setText(shown(cut_middle(what, 160)))
        self.title.setToolTip(tip(what))
        self.title.setWordWrap(True)
        self.trouble.setStyleSheet(f"color: {theme.of(self).muted.name()};")
        self.trouble.setText(shown(proposal.remark))
        self.total.setText(shown(proposal.total))
        self.model.show_things(proposal.rows)
        self._size_columns()
        self._update()
        if proposal.rows:
            self.table.selectRow(0)

    def _size_columns(self) -> None:
        narrow = self.width() < px(NARROW_SHEET)
        self.model.short = NARROW if narrow else SHORT
        for column in range(1, self.model.columnCount()):
            self.table.resizeColumnToContents(column)
        self.table.viewport().update()

    def _update(self) -> None:
        found = self._proposal
        self.trouble.setVisible(bool(self.trouble.text()))
        shows = found is not None and bool(found.proposed)
        for button in (self.old, self.new):
            button.setEnabled(shows)
        self.apply.setEnabled(found is not None and bool(found.rows))
        kept = found.kept if found is not None and found.rows else ()
        self.takedown.setVisible(bool(kept))
        self.kept.setVisible(bool(kept))
        gone = self.takedown.isChecked()
        if kept:
            words = kept[not gone]
            more = self.tr(". This cannot be undone.") if gone else self.tr(", readable by anyone with access to it.")
            self.kept.setText(shown(f"{'▲ ' if gone else ''}{words[:1].upper()}{words[1:]}{more}"))
        colours = theme.of(self)
        self.kept.setStyleSheet(f"color: {(colours.error if gone else colours.muted).name()};")

    # --- inside ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._size_columns()

    def _typed(self) -> None:
        self.apply.setEnabled(False)
        self._soon.start()

    def _ask(self) -> None:
        if self.ready:
            self.show_busy()
            self.asked.emit()
        else:
            self.model.show_things(())
            self.show_error("")

    def _chosen(self, index: QModelIndex, _: QModelIndex) -> None:
        if index.isValid():
            self.row_chosen.emit(self.model.things[index.row()])

    def _choose(self) -> None:
        ask_files(self, self.tr("Choose files"), self.take_files)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        urls = event.mimeData().urls()
        if self.file is not None and urls and all(url.isLocalFile() for url in urls):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        if self.file is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.take_files(url.toLocalFile() for url in event.mimeData().urls())


class _ChangesTable(QTableView):
    """Table that takes the remaining height; below `LEAST` pixels the whole dialog scrolls."""

    LEAST = 90

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.LEAST)


def _listed(paths: Iterable[Path]) -> str:
    return "; ".join(map(str, paths))
