"""Theme, zoom, motion and notation of the window, and looks of the bytes, as the settings keep them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from shardscope.session.display_text import set_decimal
from shardscope.startup.settings import Settings
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets import fonts, playback, theme


class Appearance(QObject):
    """Applies and changes the settings; create it before the first widget, which copies the font."""

    theme_changed = Signal(str)
    zoom_changing = Signal()
    zoom_changed = Signal()
    notation_changed = Signal()

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._settings, self._application = settings, application
        fonts.set_zoom(1.0)
        playback.set_speed(settings.play_speed)
        playback.reduce(application, settings.reduced_motion)
        set_decimal(settings.decimal_offsets)
        self._apply_theme()
        application.styleHints().colorSchemeChanged.connect(self._system_changed)

    def set_theme(self, name: str) -> None:
        """Select a theme, one of `settings.THEMES`."""
        self._settings.theme = name
        self._apply_theme()
        self.theme_changed.emit(name)

    def _apply_theme(self) -> None:
        chosen = self._settings.theme
        theme.apply(self._application, theme.system_name(self._application) if chosen == "system" else chosen)

    def _system_changed(self) -> None:
        if self._settings.theme == "system":
            self._apply_theme()

    def zoom(self, *, larger: bool) -> None:
        self.set_zoom(fonts.zoomed(fonts.zoom(), larger=larger))

    def set_zoom(self, factor: float) -> None:
        self.zoom_changing.emit()
        self.apply_zoom(factor)
        self.zoom_changed.emit()

    def apply_zoom(self, factor: float) -> None:
        theme.zoom(self._application, factor)
        self._settings.zoom = fonts.zoom()

    def set_reduced_motion(self, reduced: bool) -> None:
        self._settings.reduced_motion = reduced
        playback.reduce(self._application, reduced)

    def set_decimal_offsets(self, decimal: bool) -> None:
        """Switch between decimal and hexadecimal notation, everywhere in the window."""
        self._settings.decimal_offsets = decimal
        set_decimal(decimal)
        self.notation_changed.emit()

    def remember_bytes(self, bytes_: HexPanel) -> None:
        """Apply the settings of the bytes, and keep their changes."""
        settings = self._settings
        bytes_.state.set_zoom(settings.bytes_zoom)
        bytes_.overview.set_schematic(settings.schematic)
        bytes_.search.history.entries = settings.searches
        bytes_.drawings.remembered = settings.sketches
        bytes_.actions_.fields.setChecked(settings.fields_shown)
        bytes_.actions_.fold.setChecked(settings.rows_folded)
        for changed, name in (
            (bytes_.overview.scale_changed, "schematic"),
            (bytes_.search.history.changed, "searches"),
            (bytes_.drawings.remembered_changed, "sketches"),
            (bytes_.actions_.fields.toggled, "fields_shown"),
            (bytes_.actions_.fold.toggled, "rows_folded"),
        ):
            changed.connect(partial(setattr, settings, name))

    def save(self, bytes_: HexPanel) -> None:
        self._settings.play_speed, self._settings.bytes_zoom = playback.speed(), bytes_.state.zoom
