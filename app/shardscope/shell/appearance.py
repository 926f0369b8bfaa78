"""How the window looks: the theme, and whether things move by themselves."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from shardscope.startup.settings import Settings
from shardscope.widgets import motion, theme


class Appearance(QObject):
    """Applies what the settings say, and what is chosen anew.

    Args:
        settings: Where the choices are remembered.
        parent: The window.
    """

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        QApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    def set_theme(self, name: str) -> None:
        """Chooses a theme, one of `settings.THEMES`, and remembers it."""
        self._settings.theme = name
        self._apply()

    def wear(self) -> None:
        """Shows the theme of the settings; nothing is remembered by that."""
        self._apply()

    def set_reduced_motion(self, reduced: bool) -> None:
        """Stops what moves by itself, or lets it move; remembers which."""
        self._settings.reduced_motion = reduced
        application = QApplication.instance()
        if isinstance(application, QApplication):
            motion.reduce(application, reduced)

    def _apply(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            chosen = self._settings.theme
            theme.apply(application, theme.system_name(application) if chosen == "system" else chosen)

    def _system_changed(self) -> None:
        if self._settings.theme == "system":
            self._apply()
