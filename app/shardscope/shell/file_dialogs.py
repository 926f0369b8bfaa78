"""Dialogs that open files and folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from shardcore.sources.remote.address import is_address
from shardcore.teaching.resource_paths import resources
from shardscope.startup.settings import Settings
from shardscope.widgets.file_dialogs import ask_files, ask_folder


class FileDialogs(QObject):
    def __init__(self, settings: Settings, chosen: Callable[[Sequence[str]], object], window: QWidget) -> None:
        super().__init__(window)
        self._settings = settings
        self._chosen = chosen
        self._window = window

    def ask_files(self) -> None:
        ask_files(self._window, self.tr("Open shards"), self._chosen, start=self._start)

    def ask_folder(self) -> None:
        take = lambda path: self._chosen([path])  # noqa: E731
        ask_folder(self._window, self.tr("Open a folder of shards"), take, start=self._start)

    def ask_xorbs(self, chosen: Callable[[str], object]) -> None:
        ask_folder(self._window, self.tr("Choose the folder that holds the xorbs"), chosen, start=self._start)

    @property
    def _start(self) -> str:
        paths = (Path(uri) for uri in self._settings.recent if not is_address(uri))
        return next((str(path.parent) for path in paths if not path.is_relative_to(resources())), "")
