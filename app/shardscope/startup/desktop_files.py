"""Desktop integration by the XDG specifications: menu entry, icons, MIME types.

Files are recognised by magic bytes, and by an extension if only one format uses it: several use `*.shard`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from shardcore.errors import SourceError, reason_of
from shardcore.teaching import resource_paths
from shardcore.writing.temporary import write_whole

ENTRY = "applications/shardscope.desktop"
TYPES = "mime/packages/shardscope.xml"
ICON = "icons/hicolor/scalable/apps/shardscope.svg"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)

UPDATES = (("update-mime-database", "mime"), ("update-desktop-database", "applications"))
"""Commands that update the caches of a desktop, with the folder of each cache."""

NOT_HERE = "this system does not support XDG desktop files (Linux and BSD do)"


def install(command: list[str], folder: Path) -> Iterator[str]:
    """Write the files into the data folder of the user; yield one line per file. Raises `SourceError`."""
    for name, content in _files(command):
        path = folder / name
        state = "replaced" if path.exists() else "installed"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"cannot create {path.parent}: {reason_of(error)}") from error
        write_whole(path, [content], force=True)
        yield f"{state} {path}"
    yield from _update(folder)


def uninstall(folder: Path) -> Iterator[str]:
    for name in (ENTRY, TYPES, ICON, *map(_icon, SIZES)):
        path = folder / name
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SourceError(f"cannot remove {path}: {reason_of(error)}") from error
        yield f"removed {path}"
    yield from _update(folder)


def running_command() -> list[str]:
    """Return the command line that starts this program again: bundle, script, or `python -m`."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    script = Path(sys.argv[0]).absolute()
    return [sys.executable, "-m", "shardscope"] if script.suffix == ".py" else [str(script)]


def _files(command: list[str]) -> Iterator[tuple[str, bytes]]:
    entry = resource_paths.path("desktop/shardscope.desktop").read_text("utf-8")
    yield ENTRY, entry.replace("Exec=shardscope ", f"Exec={' '.join(map(_quoted, command))} ").encode()
    yield TYPES, resource_paths.path("desktop/shardscope-mime.xml").read_bytes()
    drawing = resource_paths.path("icons/shardscope.svg")
    yield ICON, drawing.read_bytes()
    renderer = QSvgRenderer(str(drawing))
    for size in SIZES:
        yield _icon(size), _png(renderer, size)


def _icon(size: int) -> str:
    return f"icons/hicolor/{size}x{size}/apps/shardscope.png"


def _quoted(word: str) -> str:
    """Quote a word for `Exec` (Desktop Entry Specification, *The Exec key*)."""
    for letter in '\\"`$':
        word = word.replace(letter, f"\\{letter}")
    return f'"{word}"'.replace("\\", "\\\\").replace("%", "%%")


def _png(renderer: QSvgRenderer, size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def _update(folder: Path) -> Iterator[str]:
    for program, name in UPDATES:
        target = folder / name
        if shutil.which(program) is None:
            yield f"not updated {target}: {program} is not installed"
        elif target.is_dir():
            done = subprocess.run([program, str(target)], capture_output=True, text=True, check=False)
            yield f"updated {target}" if done.returncode == 0 else f"{program} failed: {done.stderr.strip()}"
