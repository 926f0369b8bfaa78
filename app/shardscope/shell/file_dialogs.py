"""The dialogs that ask for a file or a folder to open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from shardcore.sources.remote.address import is_address
from shardscope.session.session import Session


class FileDialogs(QObject):
    """Asks, beginning where what is open lies.

    Args:
        session: What is open.
        chosen: Takes the path.
        window: Where the dialogs stand.
    """

    def __init__(self, session: Session, chosen: Callable[[str], object], window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._chosen = chosen
        self._window = window

    def ask_file(self) -> None:
        """Asks for a file."""
        self._ask(QFileDialog.FileMode.ExistingFile, self.tr("Open a shard"))

    def ask_folder(self) -> None:
        """Asks for a folder: a data set."""
        self._ask(QFileDialog.FileMode.Directory, self.tr("Open a folder of shards"))

    def ask_xorbs(self, chosen: Callable[[str], object]) -> None:
        """Asks for the folder that holds the xorbs of a shard.

        Args:
            chosen: Takes the path.
        """
        self._ask(QFileDialog.FileMode.Directory, self.tr("Choose the folder that holds the xorbs"), chosen)

    def _ask(self, mode: QFileDialog.FileMode, title: str, chosen: Callable[[str], object] | None = None) -> None:
        dialog = QFileDialog(self._window, title)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        uri = self._session.uri
        if uri and not is_address(uri):
            dialog.setDirectory(str(Path(uri).parent))
        dialog.fileSelected.connect(chosen or self._chosen)
        dialog.open()
