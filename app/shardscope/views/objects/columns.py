"""Visible columns of the object table: those whose values differ, or the user's choice per format."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from shardscope.session.object_counts import ObjectCounts
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.table import ObjectTable

ALWAYS = ("key",)

PENDING = frozenset({"state", "stored"})
"""Names of the columns hidden until the rows are counted."""


class ColumnVisibility(QObject):
    def __init__(self, session: Session, table: ObjectTable, settings: Settings) -> None:
        super().__init__(table)
        self._session = session
        self._table = table
        self._settings = settings
        self._constant: frozenset[str] = frozenset()
        self.reset_widths = QAction(self.tr("Reset column &widths"), self)
        self.reset_widths.triggered.connect(lambda _: table.reset_widths())
        self.automatic = QAction(self.tr("Choose columns &automatically"), self)
        self.automatic.triggered.connect(lambda _: self._forget())
        header = table.horizontalHeader()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._ask)
        table.objects.modelReset.connect(self._apply)

    def expect(self, *, counted: bool) -> None:
        """Set the columns of a newly opened shard; `counted` means that `learn` follows."""
        listing = self._session.listing
        plain = {"codec"} if listing is not None and tuple(listing.codecs) == ("none",) else set()
        self._constant = frozenset(plain) | (PENDING if counted else frozenset())
        self._apply()

    def learn(self, census: ObjectCounts | None) -> None:
        """Hide columns with one value; None if the rows cannot be counted."""
        self._constant = census.constant if census is not None else self._constant - PENDING
        self._apply()

    def shown(self, name: str) -> bool:
        if name in ALWAYS:
            return True
        return self._settings.columns(self._format).get(name, name not in self._constant)

    def choose(self, name: str, shown: bool) -> None:
        self._settings.set_columns(self._format, self._settings.columns(self._format) | {name: shown})
        self._apply()

    def menu(self) -> QMenu:
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in self._table.objects.columns:
            if column.name in ALWAYS:
                continue
            action = QAction(column.title, menu)
            action.setCheckable(True)
            action.setChecked(column.name in self._table.visible_columns)
            action.setToolTip(column.doc)
            # Wait until the menu is closed: this lays out the table.
            action.triggered.connect(
                lambda wanted, name=column.name: QTimer.singleShot(0, self, lambda: self.choose(name, wanted))
            )
            menu.addAction(action)
        menu.addSeparator()
        menu.addActions([self.automatic, self.reset_widths])
        return menu

    @property
    def _format(self) -> str:
        shard = self._session.shard
        return shard.format if shard is not None else ""

    def _ask(self, place: QPoint) -> None:
        self.menu().popup(self._table.horizontalHeader().mapToGlobal(place))

    def _forget(self) -> None:
        self._settings.set_columns(self._format, {})
        self._apply()

    def _apply(self) -> None:
        columns = self._table.objects.columns
        self._table.show_columns({column.name for column in columns if self.shown(column.name)})
