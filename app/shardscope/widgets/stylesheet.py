"""Qt style sheet of the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from shardcore.teaching import resource_paths
from shardscope.widgets.fonts import SMALL

_PIXELS = re.compile(r"\b(\d{2,}|[3-9])px\b")

_SHEET = Template("""
QToolTip { background: $raised; color: $text; border: 1px solid $border; padding: 5px 7px; }
QMainWindow::separator, QSplitter::handle { background: $window; border: 0 solid $border; border-width: 1px 0 0 1px; }
QMainWindow::separator { width: 4px; height: 4px; }
QMainWindow::separator:hover, QSplitter::handle:hover { border-color: $accent; border-width: 2px 0 0 2px; }
QDockWidget { color: $muted; font-weight: 600;
    titlebar-close-icon: url("$close"); titlebar-normal-icon: url("$float"); }
QDockWidget::close-button, QDockWidget::float-button { border: none; border-radius: 4px; icon-size: 14px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: $border; }
QDockWidget::title { background: $window; padding: 5px 8px; border-bottom: 1px solid $border; }
QMenuBar { background: $window; border-bottom: 1px solid $border; }
QMenuBar::item { padding: 5px 10px; background: transparent; }
QMenuBar::item:selected { background: $raised; border-radius: 4px; }
QMenu { background: $raised; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 22px; border-radius: 4px; }
QMenu::item:selected { background: $accent; color: $base; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $border; margin: 4px 6px; }
QStatusBar { background: $window; border-top: 1px solid $border; color: $muted; }
QStatusBar::item { border: none; }
QToolBar { background: $window; border: none; border-bottom: 1px solid $border; spacing: 2px; padding: 0 6px; }
QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 3px 7px; }
QToolButton:hover { background: $raised; border-color: $border; }
QToolButton:checked, QToolButton:pressed { background: $raised; border-color: $accent; }
QToolButton[popupMode="2"] { padding-right: 18px; }
QToolButton[popupMode="1"] { padding-right: 20px; }
QToolButton::menu-button { border: none; width: 16px; }
QToolButton::menu-indicator { subcontrol-origin: padding; subcontrol-position: center right; right: 5px; }
QWidget#objectChips QToolButton[popupMode="2"] { padding-right: 18px; }
QWidget#objectChips QToolButton, QToolButton#editChip {
    background: $raised; border-color: $border; border-radius: 9px; padding: 1px 8px; }
QWidget#objectChips QToolButton:hover, QToolButton#editChip:hover { border-color: $accent; }
QWidget#objectChips QToolButton:checked, QToolButton#editChip:checked {
    background: $accent; color: $base; border-color: $accent; }
QWidget#bitRow QToolButton { background: $raised; border-color: $border; padding: 3px 0; font-weight: 600; }
QWidget#bitRow QToolButton:hover { border-color: $accent; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton { background: $raised; border: 1px solid $border; border-radius: 5px; padding: 4px 12px; }
QToolButton:focus { border: 2px solid $accent; padding: 2px 6px; }
QToolButton#editChip { border: none; border-radius: 6px; padding: 0 7px; }
QToolButton#editChip:focus { border: 1px solid $text; padding: 0 6px; }
SampleCard QToolButton { background: transparent; border: none; color: $accent; padding: 0 4px; }
SampleCard QToolButton[popupMode="2"] { padding: 0 0 0 4px; }
SampleCard QToolButton:hover { text-decoration: underline; }
SampleCard QToolButton:focus { border: 1px solid $accent; padding: 0 3px; }
SampleCard QToolButton::menu-indicator { image: none; }
QListView#recentList { border: 1px solid $border; border-radius: 8px; }
QListView#recentList:focus { border: 2px solid $accent; padding: 0; }
QWidget#objectChips QToolButton:focus { border: 2px solid $accent; padding: 0 7px; }
QWidget#objectChips QToolButton:checked:focus { border-color: $text; }
QToolButton#bytesLooks, QToolButton#bytesLooks:focus { padding: 0; }
QWidget#bitRow QToolButton:focus { border: 2px solid $accent; padding: 2px 0; }
LessonPanel QPushButton { padding: 4px 5px; }
LessonPanel QPushButton:focus { padding: 3px 4px; }
QPushButton:checked { background: $base; color: $accent; border-color: $accent; }
QPushButton:hover { border-color: $accent; }
QPushButton:focus { border: 2px solid $accent; padding: 3px 11px; }
QPushButton:default { background: $accent; color: $base; border-color: $accent; }
QPushButton:default:hover { border-color: $text; }
QPushButton:default:focus { border: 2px solid $text; }
QPushButton:disabled { color: $faint; background: $raised; border-color: $border; }
QLineEdit, QSpinBox { background: $base; border: 1px solid $faint; border-radius: 5px; padding: 3px 7px;
    selection-background-color: $accent; selection-color: $base; }
QLineEdit:focus, QSpinBox:focus { border: 2px solid $accent; padding: 2px 6px; }
QSpinBox::up-button, QSpinBox::down-button { width: 0; border: none; }
QPlainTextEdit { background: $base; border: 1px solid $faint; border-radius: 5px; padding: 2px; }
QPlainTextEdit:focus { border: 2px solid $accent; padding: 1px; }
QComboBox { background: $base; border: 1px solid $faint; border-radius: 5px; padding: 3px 7px; combobox-popup: 0; }
QComboBox:focus { border: 2px solid $accent; padding: 2px 6px; }
QComboBox:editable { padding: 2px 0 2px 3px; }
QComboBox:editable:focus { padding: 1px 0 1px 2px; }
QComboBox::drop-down { border: none; background: transparent; width: 20px; }
QComboBox::down-arrow { image: url("$down"); width: 12px; height: 12px; }
QComboBox:disabled { color: $faint; }
QSlider { border: 2px solid transparent; border-radius: 5px; }
QSlider:focus { border-color: $accent; }
QCheckBox:focus { border: 2px solid $accent; border-radius: 5px; }
QComboBox QAbstractItemView, QComboBox QAbstractItemView:focus { background: $raised; border: 1px solid $border;
    outline: none; selection-background-color: $accent; selection-color: $base; }
QComboBox QAbstractItemView::item { padding: 3px 4px; }
QComboBox QAbstractItemView::item:selected { background: $accent; color: $base; }
QComboBox QLineEdit { border: none; background: transparent; padding: 0; }
QCheckBox, QRadioButton { spacing: 8px; }
QCheckBox::indicator, QRadioButton::indicator { width: 13px; height: 13px; background: $base;
    border: 1px solid $muted; border-radius: 3px; }
QRadioButton::indicator { border-radius: 7px; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; }
QRadioButton::indicator:checked { background: qradialgradient(cx: 0.5, cy: 0.5, radius: 0.5, fx: 0.5, fy: 0.5,
    stop: 0 $accent, stop: 0.55 $accent, stop: 0.65 $base, stop: 1 $base); border-color: $accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border: 2px solid $accent; width: 11px; height: 11px; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $faint; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: $muted; padding: 6px 12px; border: none;
    border-bottom: 2px solid transparent; }
QTabBar[tight="true"] { font-size: ${small}px; }
QTabBar[tight="true"]::tab { padding: 6px 4px; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar:focus { border: 2px solid $accent; }
QLabel#breadcrumb { font-size: ${small}px; border: 0 solid $faint; border-left-width: 1px; padding-left: 10px; }
QToolBar#fileTabBar { padding: 0; }
QTabBar#fileTabs:focus { border: none; }
QTabBar#fileTabs::tab { padding: 4px 6px 4px 12px; min-width: 60px; max-width: 260px;
    border-right: 1px solid $border; }
QTabBar#fileTabs::tab:selected { background: $base; }
QTabBar#fileTabs::tab:hover:!selected { background: $raised; }
QTabBar#fileTabs::tab:selected:focus { border: 2px solid $accent; padding: 2px 5px 4px 10px; }
QTabBar QToolButton { padding: 0; border: none; color: $muted; }
QTabBar QToolButton:hover { color: $text; background: $raised; }
QHeaderView { background: $window; border: none; }
QHeaderView::section { background: $window; color: $muted; border: none; border-right: 1px solid $border;
    border-bottom: 1px solid $border; padding: 4px 7px; font-weight: 600; }
QTableCornerButton::section { background: $window; border: none; }
QTreeView, QTableView, QListView { background: $base; border: 2px solid $base; outline: none;
    alternate-background-color: $window; gridline-color: $border; }
QTreeView:focus, QTableView:focus, QListView:focus { border-color: $accent; }
QTreeView::item { padding: 2px 0; }
QProgressBar { background: $base; border: 1px solid $border; border-radius: 5px; text-align: center; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 12px; margin: 0; }
QScrollBar:horizontal { height: 12px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: $window; border: none; }
""")


def stylesheet(colours: Mapping[str, str], zoom: float = 1.0) -> str:
    """Return the style sheet; lines of one or two pixels are not scaled by `zoom`."""
    # Qt does not draw the arrow of a combo box with a styled border.
    icons = {name: resource_paths.path(f"icons/{name}.svg").as_posix() for name in ("close", "down", "float")}
    sheet = _SHEET.substitute(colours, **icons, small=SMALL)
    if zoom == 1:
        return sheet
    return _PIXELS.sub(lambda found: f"{round(int(found[1]) * zoom)}px", sheet)
