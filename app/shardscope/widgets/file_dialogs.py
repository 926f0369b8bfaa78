"""Non-blocking dialogs that pass a chosen file or folder to a callback, and showing a file in the file manager."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QProcess, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from shardscope.widgets.layouts import made

Chosen = Callable[[str], object]
Mode = QFileDialog.FileMode


def ask_file(parent: QWidget, title: str, chosen: Chosen, *, start: str = "") -> QFileDialog:
    return _shown(_made(parent, title, start, Mode.ExistingFile, fileSelected=chosen))


def ask_files(parent: QWidget, title: str, chosen: Callable[[list[str]], object], *, start: str = "") -> QFileDialog:
    return _shown(_made(parent, title, start, Mode.ExistingFiles, filesSelected=chosen))


def ask_folder(parent: QWidget, title: str, chosen: Chosen, *, start: str = "") -> QFileDialog:
    dialog = _made(parent, title, start, Mode.Directory, fileSelected=chosen)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
    return _shown(dialog)


def ask_target(
    parent: QWidget,
    title: str,
    chosen: Chosen,
    *,
    name: str,
    start: str = "",
    kinds: Mapping[str, str] | None = None,
    confirms: bool = True,
) -> QFileDialog:
    """Ask for a path to write; `kinds` maps name filters such as `CSV (*.csv)` to their suffixes."""
    dialog = _made(parent, title, start, Mode.AnyFile, fileSelected=chosen)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite, not confirms)
    if kinds:
        dialog.setNameFilters(list(kinds))
        dialog.setDefaultSuffix(next(iter(kinds.values())))
        dialog.filterSelected.connect(lambda kind: dialog.setDefaultSuffix(kinds[kind]))
    dialog.selectFile(name)
    return _shown(dialog)


def _made(parent: QWidget, title: str, start: str, mode: Mode, **chosen: Any) -> QFileDialog:
    dialog = made(QFileDialog(parent, title, start), fileMode=mode, **chosen)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog


def _shown(dialog: QFileDialog) -> QFileDialog:
    dialog.open()
    return dialog


def path_of(text: str) -> Path:
    """Return a typed path as an absolute one; `~` is the home folder."""
    try:
        return Path(text.strip()).expanduser().absolute()
    except RuntimeError:
        # `~name` of an unknown user.
        return Path(text.strip()).absolute()


def show_in_folder(path: Path) -> None:
    """Select a file in the file manager of the system; if that fails, only show its folder."""
    if sys.platform in ("win32", "darwin"):
        program, option = ("explorer", "/select,") if sys.platform == "win32" else ("open", "-R")
        QProcess.startDetached(program, [option, str(path)])
        return
    from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher  # on Linux and BSD only

    def open_folder() -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))

    name, bus = "org.freedesktop.FileManager1", QDBusConnection.sessionBus()
    call = QDBusMessage.createMethodCall(name, f"/{name.replace('.', '/')}", name, "ShowItems")
    call.setArguments([[QUrl.fromLocalFile(str(path)).toString(QUrl.ComponentFormattingOption.FullyEncoded)], ""])
    if not bus.isConnected():
        open_folder()
        return
    watcher = QDBusPendingCallWatcher(bus.asyncCall(call), QApplication.instance())
    watcher.finished.connect(lambda reply: open_folder() if reply.isError() else None)
    watcher.finished.connect(watcher.deleteLater)
