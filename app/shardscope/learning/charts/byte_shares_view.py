"""Table of the space used in a file: a row per purpose, with the number of bytes and their percentage as a bar."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import QModelIndex, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from shardcore import SectionRole
from shardcore.model.section import SECTION_LETTERS
from shardcore.model.text import grouped_digits, plural, shown
from shardcore.model.usage import USE_OF_SECTION, Share, Use
from shardscope.session.display_text import grouped, share_text
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.strip_paint import paint_ground
from shardscope.widgets.table import THING_ROLE, Column, Index, TableModel, list_rows

ROLES: Mapping[Use, SectionRole] = MappingProxyType(
    {use: role for role, use in USE_OF_SECTION.items()} | {Use.SLACK: SectionRole.PADDING}
)
"""Section role per use of bytes; the bars of a use have the colour and hatch of this role."""

LETTERS: Mapping[Use, str] = MappingProxyType(
    {use: SECTION_LETTERS[role] for use, role in ROLES.items()} | {Use.SLACK: "S", Use.DEAD: "X"}
)


ROW = 26
SWATCH = 18


class BudgetModel(TableModel):
    things: tuple[Share, ...] = ()

    def __init__(self, parent: QObject) -> None:
        super().__init__(
            parent,
            (
                Column("what", lambda share: share.name, tip=self.words, spoken=self.words),
                Column("bytes", lambda share: grouped_digits(share.size), number=True, tip=self.words),
                Column("share", lambda share: share_text(share.size, self.total), tip=self.words),
            ),
        )

    @property
    def total(self) -> int:
        return sum(share.size for share in self.things)

    def words(self, share: Share) -> str:
        where = self.tr(" in {0}").format(plural(share.stretches, "range")) if share.stretches > 1 else ""
        part = share_text(share.size, self.total)
        head = f"{share.name}: {plural(share.size, 'byte')}{where}, {part} ({share.use.value})."
        return grouped("\n".join(text for text in (head, share.doc or share.use.doc) if text))


class BudgetDelegate(QStyledItemDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        share = index.data(THING_ROLE)
        if index.column() == 1 or not isinstance(share, Share):
            super().paint(painter, option, index)
            return
        view, model = option.widget, index.model()
        assert isinstance(view, QTableView)
        assert isinstance(model, BudgetModel)
        colours = theme.of(view)
        place, text = QRectF(option.rect), str(index.data())
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        ink = option.palette.highlightedText().color() if chosen else colours.text
        left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.save()
        if chosen:
            painter.fillRect(place, option.palette.highlight())
        if index.column() == 0:
            swatch = QRectF(place.left() + 6, place.center().y() - SWATCH / 2 + 1, SWATCH, SWATCH - 2)
            paint_ground(painter, colours, ROLES[share.use], swatch)
            painter.setPen(colours.ink_on(colours.section(ROLES[share.use])))
            painter.setFont(sized(option.font, SMALL))
            painter.drawText(swatch, Qt.AlignmentFlag.AlignCenter, LETTERS[share.use])
            painter.setFont(option.font)
            painter.setPen(ink)
            room = place.adjusted(SWATCH + 14, 0, -4, 0)
            text = option.fontMetrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(room.width()))
        else:
            wide = option.fontMetrics.horizontalAdvance("100.0 %") + 10
            most = max(place.width() - wide - 8, 0.0)
            largest = max(1, *(one.size for one in model.things))
            width = max(most * share.size / largest, 2.0)
            bar = QRectF(place.left() + 4, place.center().y() - 6, width, 13)
            paint_ground(painter, colours, ROLES[share.use], bar)
            painter.setPen(ink if chosen else colours.muted)
            room = QRectF(min(bar.right() + 6, place.right() - wide + 4), place.top(), wide, place.height())
        painter.drawText(room, left, text)
        painter.restore()


class BudgetView(QTableView):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shares = BudgetModel(self)
        self.setModel(self.shares)
        self.setItemDelegate(BudgetDelegate(self))
        bars = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        list_rows(self, "budgetView", self.tr("Byte budget"), ROW, wordWrap=False, horizontalScrollBarPolicy=bars)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionsClickable(False)
        self.setMinimumSize(0, 60)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)

    def show_shares(self, shares: tuple[Share, ...]) -> None:
        self.shares.show_things(shares)
        self.fit()

    def sizeHint(self) -> QSize:
        return QSize(320, 240)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        metrics = self.fontMetrics()
        room = self.viewport().width()
        numbers = max((metrics.horizontalAdvance(grouped_digits(s.size)) for s in self.shares.things), default=0) + 14
        numbers = max(numbers, metrics.horizontalAdvance(self.tr("bytes")) + 18)
        names = max((metrics.horizontalAdvance(shown(s.name)) for s in self.shares.things), default=0) + SWATCH + 24
        bars = metrics.horizontalAdvance("100.0 %") + 46
        names = max(min(names, room - numbers - bars, max(room // 2, 120)), 60)
        for column, width in enumerate((names, numbers, max(room - names - numbers, 0))):
            self.setColumnWidth(column, width)

    def _choose(self, index: QModelIndex) -> None:
        share = index.data(THING_ROLE)
        if isinstance(share, Share):
            self.chosen.emit(share)
