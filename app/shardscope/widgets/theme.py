"""Colour themes of the window, and the letters, underlines and hatches that show sections and fields without colour.

The background of a byte is the colour of its section; neighbouring fields alternate between two strengths of it. Keys,
offsets and sizes are underlined.
"""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from string import Template
from weakref import WeakKeyDictionary

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPalette, QPen
from PySide6.QtWidgets import QApplication, QHeaderView, QWidget

from shardcore import FieldRole, SectionRole
from shardcore.dataclasses import dataclass
from shardcore.model.section import SECTION_LETTERS as SECTION_LETTERS  # noqa: PLC0414 - painters take it from here
from shardcore.teaching import resource_paths
from shardscope.widgets import fonts as type_
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
QToolButton#busyJobs { border: none; padding: 0 7px; }
QToolButton#editChip { border: none; border-radius: 6px; padding: 0 7px; }
QToolButton#editChip:focus { border: 1px solid $text; padding: 0 6px; }
SampleCard QToolButton { background: transparent; border: none; color: $accent; padding: 0 4px; }
SampleCard QToolButton[popupMode="2"] { padding: 0 0 0 4px; }
SampleCard QToolButton:hover { text-decoration: underline; }
SampleCard QToolButton:focus { border: 1px solid $accent; padding: 0 3px; }
SampleCard QToolButton::menu-indicator { image: none; }
QFrame#palette { background: $raised; border: 1px solid $faint; border-radius: 6px; }
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
    """Return the style sheet of the application. Sizes of 3 pixels and more are multiplied by `zoom`."""
    # Qt does not draw the arrow of a combo box with a styled border.
    icons = {name: resource_paths.path(f"icons/{name}.svg").as_posix() for name in ("close", "down", "float")}
    sheet = _SHEET.substitute(colours, **icons, small=SMALL)
    if zoom == 1:
        return sheet
    return _PIXELS.sub(lambda found: f"{round(int(found[1]) * zoom)}px", sheet)


Rgb = tuple[float, float, float]
"""Red, green and blue in sRGB, each from 0 to 1."""


@lru_cache(maxsize=1024)
def from_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return the sRGB colour of a lightness (0 to 1), chroma (0 to 0.3, reduced if outside sRGB) and hue in degrees."""
    while True:
        linear = _linear(lightness, chroma, hue)
        if chroma <= 0 or all(-1e-6 <= part <= 1 + 1e-6 for part in linear):
            red, green, blue = (encoded(min(max(part, 0.0), 1.0)) for part in linear)
            return red, green, blue
        chroma = max(chroma - 0.005, 0.0)


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _linear(lightness: float, chroma: float, hue: float) -> Rgb:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _luminance(colour: Rgb) -> float:
    red, green, blue = (decoded(part) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def decoded(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


NAMES = ("light", "dark", "light-safe", "dark-safe", "dark-room")
"""Names of the palettes: `-safe` ones are for colour-blind users, `dark-room` is for a projector."""

_applied: list[Palette] = []
"""Palette of the application; empty before `apply`."""

_themed: WeakKeyDictionary[QWidget, str] = WeakKeyDictionary()
"""Name of the theme, for each window that does not use the theme of the application."""

_UNLIMITED = (1 << 19) - 1

_QUIET = 0.18
"""Fraction of the accent colour in the background of selected rows in a view without focus."""

FIELD_LETTERS: Mapping[FieldRole, str] = {
    FieldRole.GROUP: "g",
    FieldRole.MAGIC: "m",
    FieldRole.VERSION: "v",
    FieldRole.COUNT: "c",
    FieldRole.OFFSET: "o",
    FieldRole.SIZE: "s",
    FieldRole.KEY: "k",
    FieldRole.HASH: "h",
    FieldRole.FLAGS: "f",
    FieldRole.CODEC: "z",
    FieldRole.TIME: "t",
    FieldRole.NUMBER: "n",
    FieldRole.TEXT: "a",
    FieldRole.BITS: "b",
    FieldRole.DATA: "d",
    FieldRole.PADDING: "p",
    FieldRole.UNUSED: "u",
    FieldRole.UNKNOWN: "?",
}

HATCHES: Mapping[SectionRole, Qt.BrushStyle] = {
    SectionRole.HEADER: Qt.BrushStyle.Dense6Pattern,
    SectionRole.INDEX: Qt.BrushStyle.VerPattern,
    SectionRole.LOOKUP: Qt.BrushStyle.DiagCrossPattern,
    SectionRole.DATA: Qt.BrushStyle.NoBrush,
    SectionRole.METADATA: Qt.BrushStyle.HorPattern,
    SectionRole.FOOTER: Qt.BrushStyle.Dense7Pattern,
    SectionRole.PADDING: Qt.BrushStyle.FDiagPattern,
    SectionRole.TRAILING: Qt.BrushStyle.CrossPattern,
    SectionRole.UNKNOWN: Qt.BrushStyle.BDiagPattern,
}

HATCHED = (SectionRole.PADDING, SectionRole.TRAILING, SectionRole.UNKNOWN)
"""Sections that are hatched in all palettes. Others are hatched only in `-safe` palettes, and not behind bytes."""


UNDERLINED: Mapping[FieldRole, tuple[float, ...]] = {
    FieldRole.KEY: (),
    FieldRole.OFFSET: (2, 1),
    FieldRole.SIZE: (1, 1),
}
"""Underlined field roles and the dash patterns of their lines: keys solid, offsets dashed, sizes dotted."""

Tint = tuple[float, float, float]
"""Lightness, chroma, and hue in degrees, in OKLCH."""

_TINTS: dict[SectionRole | FieldRole, tuple[Tint, Tint, Tint, Tint]] = {
    SectionRole.HEADER: (
        (0.8062, 0.06, 237.7),
        (0.7492, 0.0746, 259.4),
        (0.3409, 0.103, 258.1),
        (0.2537, 0.0834, 259.2),
    ),
    SectionRole.INDEX: ((0.865, 0.07, 69.6), (0.8586, 0.0672, 63), (0.45, 0.0967, 48), (0.3338, 0.0737, 54.5)),
    SectionRole.LOOKUP: ((0.8923, 0.074, 315.4), (0.8726, 0.065, 290.9), (0.4234, 0.07, 315.6), (0.3861, 0.1106, 303)),
    SectionRole.DATA: ((0.9714, 0.022, 182), (0.9595, 0.0435, 183.9), (0.282, 0.02, 163), (0.3961, 0.0612, 185)),
    SectionRole.METADATA: ((0.959, 0.1235, 104.1), (0.9583, 0.1237, 105.8), (0.3942, 0.079, 122), (0.47, 0.0815, 101)),
    SectionRole.FOOTER: ((0.8, 0.1067, 3.4), (0.76, 0.0895, 10.7), (0.3325, 0.0912, 13.2), (0.2318, 0.0747, 357.5)),
    SectionRole.PADDING: ((0.905, 0.005, 260), (0.91, 0.005, 260), (0.35, 0.005, 260), (0.33, 0.005, 260)),
    SectionRole.TRAILING: ((0.88, 0.04, 28), (0.87, 0.04, 20), (0.35, 0.04, 68), (0.35, 0.04, 84)),
    SectionRole.UNKNOWN: ((0.83, 0.005, 260), (0.83, 0.005, 260), (0.43, 0.005, 260), (0.43, 0.005, 260)),
    FieldRole.KEY: ((0.78, 0.12, 292), (0.78, 0.13, 300), (0.46, 0.15, 280), (0.46, 0.14, 292)),
    FieldRole.OFFSET: ((0.83, 0.16, 100), (0.83, 0.16, 96), (0.45, 0.095, 90), (0.42, 0.09, 80)),
    FieldRole.SIZE: ((0.87, 0.13, 184), (0.8, 0.14, 184), (0.46, 0.08, 200), (0.47, 0.085, 205)),
}
"""Colours of sections and of underlined field roles, for the light, light-safe, dark and dark-safe palettes.

They were optimised so that any two sections are easy to distinguish, in safe palettes also for colour-blind users.
"""

_STRONGER = 1.22


@dataclass(frozen=True, eq=False)
class Palette:
    """Colours of one theme; `safe` palettes are for colour-blind users. Copy a returned colour before changing it.

    `zero` is for zero bytes and for letters on coloured bytes, `faint` for borders of input fields and disabled text,
    `missing` for the hatch of bytes that are not loaded.
    """

    name: str
    dark: bool
    safe: bool
    window: QColor
    base: QColor
    raised: QColor
    border: QColor
    text: QColor
    muted: QColor
    faint: QColor
    zero: QColor
    accent: QColor
    selection: QColor
    hover: QColor
    error: QColor
    warning: QColor
    note: QColor
    ok: QColor
    missing: QColor

    # Cached for the life of the program: there is one palette per theme, and painting requests thousands of tints.
    @cache  # noqa: B019
    def _tint(self, role: SectionRole | FieldRole, parity: int = 0) -> Tint:
        """Return the tint of a section, or of a role in `UNDERLINED`; parity 1 is the stronger of the two tints."""
        lightness, chroma, hue = _TINTS[role][2 * self.dark + self.safe]
        if not parity:
            return lightness, chroma, hue
        return lightness + (0.032 if self.dark else -0.03), chroma * _STRONGER, hue

    @cache  # noqa: B019
    def section(self, role: SectionRole, parity: int = 1) -> QColor:
        return colour(*self._tint(role, parity))

    @cache  # noqa: B019
    def field(self, role: FieldRole) -> QColor:
        """Return the background colour of an underlined field role, for selected bytes and drawings."""
        return colour(*self._tint(role))

    def underline(self, role: FieldRole, width: float = 2) -> QPen:
        _, chroma, hue = self._tint(role)
        pen = QPen(colour(0.8 if self.dark else 0.43, chroma, hue), width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dashes := UNDERLINED[role]:
            pen.setDashPattern(dashes)
        return pen

    def edge(self, section: SectionRole) -> QColor:
        _, chroma, hue = self._tint(section, 1)
        return colour(0.62 if self.dark else 0.6, chroma, hue)

    def hatch(self, section: SectionRole) -> QBrush:
        return QBrush(faint(self.base, 0.45), HATCHES[section])

    def brushes(self, section: SectionRole, parity: int = 1) -> list[QBrush]:
        # Hatches would look like many slots; letters and labels are enough.
        hatched = self.safe or section in HATCHED
        return [QBrush(self.section(section, parity)), *([self.hatch(section)] if hatched else ())]

    def ink_on(self, ground: QColor) -> QColor:
        return max(self.text, self.base, key=lambda ink: contrast(_rgb(ink), _rgb(ground)))


def _rgb(colour: QColor) -> Rgb:
    return colour.redF(), colour.greenF(), colour.blueF()


def colour(lightness: float, chroma: float, hue: float, alpha: float = 1.0) -> QColor:
    """Return a colour from OKLCH lightness (0 to 1), chroma (0 to 0.3) and hue (degrees)."""
    return QColor.fromRgbF(*from_oklch(lightness, chroma, hue), alpha)


_TONES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "window": ((0.965, 0.004, 260), (0.235, 0.008, 265)),
    "base": ((0.995, 0.001, 260), (0.205, 0.008, 265)),
    "raised": ((0.985, 0.002, 260), (0.290, 0.010, 265)),
    "border": ((0.875, 0.006, 260), (0.345, 0.010, 265)),
    "text": ((0.22, 0.015, 265), (0.97, 0.004, 265)),
    "muted": ((0.50, 0.015, 265), (0.715, 0.010, 265)),
    "faint": ((0.63, 0.010, 265), (0.610, 0.012, 265)),
    "zero": ((0.38, 0.010, 265), (0.875, 0.010, 265)),
    "accent": ((0.53, 0.17, 262), (0.715, 0.135, 258)),
    "selection": ((0.66, 0.18, 262, 0.42), (0.54, 0.17, 262, 0.42)),
    "hover": ((0.45, 0.05, 262, 0.11), (0.95, 0.02, 262, 0.10)),
    "error": ((0.55, 0.20, 27), (0.70, 0.17, 25)),
    "warning": ((0.55, 0.13, 60), (0.79, 0.13, 75)),
    "note": ((0.535, 0.10, 245), (0.76, 0.09, 240)),
    "ok": ((0.53, 0.12, 150), (0.76, 0.13, 152)),
    "missing": ((0.76, 0.006, 260), (0.42, 0.008, 265)),
}
"""Light and dark colour of each field of `Palette`, as lightness, chroma, hue and alpha (default: 1)."""


# Colours of single palettes that replace those of `_TONES`.
_OWN: Mapping[str, dict[str, tuple[float, ...]]] = {
    "light-safe": {"text": (0.20, 0.015, 265), "zero": (0.345, 0.010, 265)},
    "dark-safe": {"text": (0.985, 0.004, 265), "zero": (0.91, 0.010, 265)},
    "dark-room": {
        "window": (0.10, 0.004, 265),
        "base": (0.08, 0.004, 265),
        "raised": (0.19, 0.008, 265),
        "border": (0.37, 0.010, 265),
        "text": (0.99, 0.002, 265),
        "muted": (0.83, 0.008, 265),
        "faint": (0.70, 0.010, 265),
        "zero": (0.90, 0.006, 265),
        "accent": (0.78, 0.130, 250),
    },
}


@cache
def palette(name: str) -> Palette:
    if name not in NAMES:
        return palette("light")
    dark, safe = name.startswith("dark"), name.endswith("-safe")
    values = {role: pair[dark] for role, pair in _TONES.items()} | _OWN.get(name, {})
    return Palette(name, dark, safe, **{role: colour(*value) for role, value in values.items()})


def apply(application: QApplication, name: str) -> Palette:
    """Set the theme of the application; a change takes about half a second."""
    chosen = palette(name)
    # Qt polishes every widget again even for the same style sheet, which takes half a second.
    if _applied != [chosen] or application.styleSheet() != _sheet(chosen):
        with _own_fonts(application):
            _apply(application, chosen)
    return chosen


def _apply(application: QApplication, chosen: Palette) -> None:
    if not _applied:
        # A new style also polishes every widget, so set it once.
        application.setStyle("Fusion")
    _applied[:] = [chosen]
    application.setFont(type_.sized(application.font(), type_.NORMAL))
    application.setPalette(_qt_palette(chosen))
    # Removing the style sheet first is three times as fast as replacing it.
    application.setStyleSheet("")
    application.setStyleSheet(_sheet(chosen))


def set_window_theme(window: QWidget, name: str) -> None:
    """Set the theme of one window; with an empty name, it uses the theme of the application again."""
    if name:
        _themed[window] = name
    else:
        _themed.pop(window, None)
    window.setStyleSheet(_sheet(palette(name)) if name else "")
    # Set the palette last, since a style sheet resets it; children do not inherit the palette of the window.
    own = _qt_palette(palette(name)) if name else QPalette()
    for widget in (window, *window.findChildren(QWidget)):
        widget.setPalette(own)


def of(widget: QWidget) -> Palette:
    if _themed and (name := _themed.get(widget.window())):
        return palette(name)
    if _applied:
        return _applied[-1]
    return palette("dark" if widget.palette().window().color().lightnessF() < 0.5 else "light")


def _sheet(colours: Palette) -> str:
    roles = ("window", "base", "raised", "border", "text", "muted", "faint", "accent")
    return stylesheet({role: getattr(colours, role).name() for role in roles}, type_.zoom())


def zoom(application: QApplication, factor: float) -> None:
    """Set the zoom of the application: scale the fonts and fixed sizes of all existing widgets."""
    before = type_.zoom()
    type_.set_zoom(factor)
    if (ratio := type_.zoom() / before) == 1:
        return
    with _own_fonts(application, ratio) as widgets:
        fixed = [(widget, name, size) for widget in widgets for name, size in _fixed(widget)]
        if _applied:
            _apply(application, _applied[0])
    for widget, name, size in fixed:
        # Skip widgets that have resized themselves. Scale from 100 %, so that rounding does not add up.
        if (name, size) in _fixed(widget):
            getattr(widget, name)(type_.px(round(size / max(before, 1.0))))


@contextmanager
def _own_fonts(application: QApplication, ratio: float = 1.0) -> Iterator[list[QWidget]]:
    """Yield all widgets, then restore fonts set on single widgets, scaled by `ratio`: style sheets reset them."""
    was_enabled = gc.isenabled()
    # Deleting an unreferenced widget while all widgets are listed leaves dangling pointers.
    gc.disable()
    try:
        widgets = application.allWidgets()
        own = [(widget, QFont(widget.font())) for widget in widgets if _has_font(widget)]
        yield widgets
        for widget, font in own:
            font.setPointSizeF(font.pointSizeF() * ratio)
            widget.setFont(font)
    finally:
        if was_enabled:
            gc.enable()


def _has_font(widget: QWidget) -> bool:
    return widget.testAttribute(Qt.WidgetAttribute.WA_SetFont) and widget.font().pointSizeF() > 0


def _fixed(widget: QWidget) -> list[tuple[str, int]]:
    if widget.isWindow() or widget.objectName().startswith("qt_"):
        return []
    found = [
        ("setMinimumWidth", widget.minimumWidth()),
        ("setMaximumWidth", widget.maximumWidth()),
        ("setMinimumHeight", widget.minimumHeight()),
        ("setMaximumHeight", widget.maximumHeight()),
    ]
    if isinstance(widget, QHeaderView) and widget.orientation() is Qt.Orientation.Vertical:
        found.append(("setDefaultSectionSize", widget.defaultSectionSize()))
    return [(name, size) for name, size in found if 0 < size < _UNLIMITED]


def write_in(label: QWidget, tone: str) -> None:
    label.setStyleSheet(f"color: {getattr(of(label), tone).name()};")


def faint(colour: QColor, alpha: float) -> QColor:
    other = QColor(colour)
    other.setAlphaF(alpha)
    return other


def mixed(one: QColor, two: QColor, share: float) -> QColor:
    """Mix two colours; share 0 gives the first, 1 the second."""
    pairs = ((one.red(), two.red()), (one.green(), two.green()), (one.blue(), two.blue()))
    return QColor(*(round(a * (1 - share) + b * share) for a, b in pairs))


def selected(view: QWidget) -> tuple[QColor, QColor]:
    group = QPalette.ColorGroup.Active if view.hasFocus() else QPalette.ColorGroup.Inactive
    colours, role = view.palette(), QPalette.ColorRole
    return colours.color(group, role.Highlight), colours.color(group, role.HighlightedText)


def system_name(application: QApplication) -> str:
    return "dark" if application.styleHints().colorScheme() is Qt.ColorScheme.Dark else "light"


def fixed_font(size: float | None = None) -> QFont:
    """Return a copy of the monospaced font, at a size in points (default: the size of other texts)."""
    font = QFont(_mono(type_.zoom()))
    if size is not None:
        font.setPointSizeF(size)
    return font


@lru_cache(maxsize=1)
def _mono(zoom: float) -> QFont:
    return type_.mono()


def _qt_palette(colours: Palette) -> QPalette:
    role = QPalette.ColorRole
    result = QPalette()
    for source, targets in (
        (colours.window, (role.Window, role.AlternateBase)),
        (colours.base, (role.Base, role.HighlightedText)),
        (colours.raised, (role.Button, role.ToolTipBase, role.Light, role.Midlight)),
        (colours.border, (role.Mid, role.Dark, role.Shadow)),
        (colours.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText)),
        (colours.muted, (role.PlaceholderText,)),
        (colours.accent, (role.Highlight, role.Link, role.LinkVisited)),
        (colours.error, (role.BrightText,)),
    ):
        for target in targets:
            result.setColor(target, source)
    # Qt also uses the inactive colours for views without focus.
    quiet = {role.Highlight: mixed(colours.base, colours.accent, _QUIET), role.HighlightedText: colours.text}
    for target, source in quiet.items():
        result.setColor(QPalette.ColorGroup.Inactive, target, source)
    for target in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, target, colours.faint)
    return result
