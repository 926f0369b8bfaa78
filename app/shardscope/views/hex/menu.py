"""The menu of the bytes: copied in every form, selected, followed, found elsewhere; their object; how rows look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from shardscope.views.hex.actions import HexActions
from shardscope.views.hex.row_choice import RowChoice
from shardscope.widgets.picture import add_picture

translate = QCoreApplication.translate


@dataclass(frozen=True)
class HexMenuActions:
    go: Callable[[], object]
    look_up: Callable[[], object]
    extract: Callable[[], object]
    told: Callable[[str, bool], object]


def add_looks(menu: QMenu, actions: HexActions, rows: RowChoice) -> None:
    rows.fill(menu)
    menu.addActions([actions.fold, actions.fields, actions.letters, actions.larger, actions.smaller])


def hex_menu(
    view: QWidget, parent: QWidget, actions: HexActions, deeds: HexMenuActions, rows: RowChoice, *, row: int | None
) -> QMenu:
    menu = QMenu(parent)
    menu.addAction(actions.copy)
    forms = menu.addMenu(translate("HexMenu", "Copy &as"))
    forms.addActions(actions.copies)
    menu.addAction(actions.copy_offset)
    menu.addActions([actions.paste, actions.fill])
    menu.addSeparator()
    menu.addActions(
        [
            actions.select_field,
            actions.select_record,
            actions.select_section,
            actions.follow,
            actions.leads,
            actions.decoded,
            actions.inside,
        ]
    )
    menu.addAction(actions.note)
    menu.addSeparator()
    for text, act in (
        (translate("HexMenu", "Go to o&bject"), deeds.go),
        (translate("HexMenu", "Look &up object"), deeds.look_up),
        (translate("HexMenu", "E&xtract object…"), deeds.extract),
    ):
        menu.addAction(text, act).setEnabled(row is not None)
    menu.addSeparator()
    menu.addActions([actions.find_these, actions.find, actions.goto])
    menu.addSeparator()
    add_looks(menu, actions, rows)
    menu.addSeparator()
    add_picture(menu, view, "bytes", deeds.told)
    return menu


def open_menu(menu: QMenu, place: QPoint) -> None:
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(place)
