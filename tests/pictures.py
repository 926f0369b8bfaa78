"""`python -m tests.pictures FOLDER [NAME…]`: create all pictures of the docs, or those named, without a display."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QWidget
from shiboken6 import delete

from shardcore import Depth, Span
from shardcore.cli.program import run
from shardcore.teaching.lessons.lesson_list import lessons
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import ScreenshotRequest, arrange, lecture, settle
from shardscope.startup.settings import Settings
from shardscope.views.structure.tree import StructureTree
from tests.remote.servers import RangeServer

WIDTH, HEIGHT, TALL = 1440, 840, 920
LOOKUP, ASKED = 0, 4
"""Numbers of two steps of the lesson, from 0: the step that looks up the key, and the step in the picture."""
ROOT = Path(__file__).parents[1]
SAMPLES = Path("resources/samples")
"""Relative path, since pictures show it."""
SWH = "swh/small.shard"
SWH_KEY = "a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda"
MDB = "mdb/cache/b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"
MDB_KEY = "5baaad9078484f22d44f82ba555ae5892233d94389ba132c81e6421fcd4e8c68"
ELEMENT = "[24,40]"
ODD = "bloscpack/odd.blp"
MESH = "neuroglancer/segmentation/mesh/0.shard"


@dataclass(frozen=True)
class Picture:
    """Picture of the window, or of one of its dialogs.

    Attributes:
        uri: Path of the open sample below the samples folder; empty for the welcome page.
        show: Part of the window that is shown; see `ScreenshotRequest`.
        select: Offset of the selected byte, or None.
        trace: Key that is looked up; empty for no lookup.
        step: Step of the lookup that is shown.
        verify: Depth of the verification; None for no verification.
        height: Height of the window in pixels.
        act: Further actions in the window; returns the widget in the picture. None: the window itself.
    """

    uri: str = ""
    show: str = ""
    select: int | None = None
    trace: str = ""
    step: int = 0
    verify: Depth | None = None
    theme: str = "light"
    height: int = HEIGHT
    act: Callable[[MainWindow], QWidget] | None = None


def in_lesson(window: MainWindow) -> QWidget:
    """Show a question of a lesson, with the drawing of the lookup."""
    panel = window.findChild(LessonPanel)
    chosen = next(one for one in lessons() if one.name == "swh-2-find-a-key")
    panel.player.start(chosen)
    for number in (LOOKUP, ASKED):
        panel.player.go(number)
        until(window, lambda: panel.player.stage is not None)
        settle(window)
    window.show_part("lessons")
    return window


def in_sandbox(window: MainWindow) -> QWidget:
    """Flip one bit of a displacement in the sandbox: shows which checks detect it, and the effect on the objects."""
    window.sandbox_shell.actions.switch.trigger()
    until(window, lambda: window.sandbox_shell.sandbox.impact is not None)
    settle(window)
    window.session.select_span(Span("", 5052, 5053))
    window.sandbox_shell.sandbox.flip(0)
    until(window, lambda: bool(window.sandbox_shell.sandbox.changes) and window.sandbox_shell.sandbox.comparing is None)
    settle(window)
    window.show_part("sandbox")
    settle(window)
    # Scroll to a fixed position: it depends on whether the bytes or their comparison were opened first.
    tree = window.findChild(StructureTree)
    tree.scrollTo(tree.currentIndex(), StructureTree.ScrollHint.PositionAtBottom)
    return window


def comparing_formats(window: MainWindow) -> QWidget:
    """Show the comparison of the same objects in six formats."""
    sheet = window.comparing.show()
    until(window, lambda: not sheet.stale)
    return sheet


def comparing_files(window: MainWindow) -> QWidget:
    """Compare two shards of an archive, and select the first object that differs."""
    found = window.diffing.compare_path(str(SAMPLES / "des/archive/20260106_2A_0000.des"))
    until(window, lambda: found.compared is not None)
    settle(window)
    found.table.selectRow(0)
    return found


def with_notes(window: MainWindow) -> QWidget:
    """Add three notes, one of them without text."""
    notes = window.session.notes
    until(window, lambda: notes.can_change)
    for span, text in (
        (Span("", 40, 48), "12 objects, as announced"),
        (Span("", 48, 56), "the same in both copies?"),
        (Span("", 4465, 4497), ""),
    ):
        notes.add(span, text)
        until(window, lambda span=span: notes.at(span) is not None)  # type: ignore[misc]
    window.session.select_span(Span("", 48, 56))
    window.show_part("notes")
    return window


def asking(act: Callable[[MainWindow], object], name: str) -> Callable[[MainWindow], QWidget]:
    """Return an action that performs `act` and returns the dialog that it opens."""

    def asked(window: MainWindow) -> QWidget:
        act(window)
        settle(window)
        return dialog(window, name)

    return asked


def remote(window: MainWindow) -> QWidget:
    """Open a shard on a server, and show the requests of one lookup."""
    with RangeServer({"/archive/small.shard": SAMPLES / SWH}) as server:
        window.open(f"{server.url}/archive/small.shard")
        settle(window)
        window.session.lookup.start(SWH_KEY)
        settle(window)
        window.session.lookup.go_to_step(window.session.lookup.walk.steps - 1)
        window.show_part("transfers")
        settle(window)
        return window


PICTURES = {
    "window": Picture(SWH, select=1175),
    "structure": Picture(MDB, "structure", select=0x60),
    "objects": Picture("des/contents.des", "objects", select=0x800),
    "hex": Picture("bloscpack/array.blp", select=0x2F6),
    "inspector": Picture("bloscpack/array.blp", "inspector", select=9),
    "trace": Picture("neuroglancer/worked", trace="9", step=4),
    "drawing": Picture(SWH, "drawing:parking", trace=SWH_KEY, step=9, height=TALL),
    "preview": Picture(MESH, "preview", select=7288),
    "contents": Picture("des/contents.des", "preview", select=0x2000),
    "charts": Picture("bloscpack/array.blp", "charts", select=0x2F6),
    "check": Picture("swh/damaged.shard", select=4465, verify=Depth.CONTENT),
    "diff": Picture("des/archive/20260105_2A_0000.des", act=comparing_files),
    "notes": Picture(SWH, act=with_notes),
    "sandbox": Picture(SWH, act=in_sandbox),
    "salvage": Picture("des/damaged/20260105_2A_0000.des", act=lambda window: window.sandbox_shell.salvaging.ask()),
    "convert": Picture("des/contents.des", act=asking(lambda window: window.new_shards.convert.trigger(), "packSheet")),
    "extract": Picture(
        "des/contents.des", act=asking(lambda window: window.objects.actions_.extract_all.trigger(), "extractSheet")
    ),
    "activity": Picture(act=remote),
    "compare": Picture(act=comparing_formats),
    "lesson": Picture(act=in_lesson),
    "lecture": Picture(SWH, "lecture", trace=SWH_KEY, step=9),
    "lecture-dark": Picture(SWH, "lecture:3", trace=SWH_KEY, step=8, theme="dark-room"),
    "themes": Picture(SWH, select=48, theme="dark-safe"),
}
"""Pictures of the window by file name."""

DRAWINGS: dict[str, tuple[str, ...]] = {
    "parking": (SWH, SWH_KEY),
    "displacement": (SWH, SWH_KEY),
    "bits": ("neuroglancer/worked", "9"),
    "address": ("des/archive", "2090"),
    "rulers": ("bloscpack/array.blp", ELEMENT),
    "block": ("bloscpack/array.blp", ELEMENT),
    "ribbons": (MDB, MDB_KEY),
    "cuts": (MDB, MDB_KEY),
    "entrance": (MDB, MDB_KEY),
    "records": ("xorb/chunks.xorb", "1"),
    "lanes": ("xorb/chunks.xorb", "1"),
    "record": (SWH, SWH_KEY, "node=header"),
    "number": (SWH, SWH_KEY, "node=header/index_position"),
    "binary": (ODD, "", "node=chunks/[1]/Blosc header/flags"),
    "lz4": (ODD, "", "chunk=0", "stream=5", "sequence=5"),
    "bitshuffle": (ODD, "", "bit=48"),
    "cell": ("neuroglancer/volume", "9"),
}
"""Sample, key and values of controls per drawing; each drawing is written in light and dark colours."""


def main(folder: str, *chosen: str) -> int:
    """Create all pictures and drawings, or those named."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    target = Path(folder).absolute()
    os.chdir(ROOT)
    target.mkdir(parents=True, exist_ok=True)
    for name, (sample, key, *values) in DRAWINGS.items():
        if not chosen or name in chosen:
            which = [str(SAMPLES / sample), *filter(None, (key,)), "--name", name]
            drawing = ["draw", *which, *(part for value in values for part in ("--set", value)), "--svg"]
            run([*drawing, str(target / f"{name}.svg")])
            run([*drawing, str(target / f"{name}-dark.svg"), "--dark"])
    qInstallMessageHandler(lambda kind, context, message: None)
    application = QApplication(sys.argv[:1])
    for name, picture in PICTURES.items():
        if not chosen or name in chosen:
            with window(picture) as made:
                (target / f"{name}.webp").write_bytes(small(shown(made, picture).grab().toImage()))
            application.processEvents()
    return 0


@contextmanager
def window(picture: Picture) -> Iterator[MainWindow]:
    """Open a window with fresh settings, without notes and finished lessons; close it at the end."""
    with TemporaryDirectory(prefix="shardscope-") as folder:
        os.environ["XDG_DATA_HOME"] = folder
        made = MainWindow(Settings(Path(folder) / "settings.json", theme=picture.theme))
        made.resize(WIDTH, picture.height)
        made.show()
        settle(made)
        try:
            yield made
        finally:
            made.sandbox_shell.sandbox.drop()
            made.close()
            QApplication.processEvents()
            delete(made)


def shown(window: MainWindow, picture: Picture) -> QWidget:
    """Bring the window into the state of a picture; return the widget to grab."""
    if picture.uri:
        window.open(str(SAMPLES / picture.uri))
        settle(window)
    names = ("select", "trace", "step", "verify", "show")
    arrange(window, ScreenshotRequest(Path(), picture.uri, **{name: getattr(picture, name) for name in names}))
    settle(window)
    if picture.show.startswith("lecture"):
        keys = picture.show.partition(":")[2]
        return lecture(window, int(keys or 0))
    seen = picture.act(window) if picture.act is not None else window
    settle(window)
    return seen


def dialog(window: MainWindow, name: str) -> QDialog:
    """Return an open dialog, after removing the repository or home folder from the paths in its fields."""
    found = window.findChild(QDialog, name)
    for line in found.findChildren(QLineEdit):
        line.setText(line.text().removeprefix(f"{ROOT}/").removeprefix(f"{Path.home()}/"))
    settle(window)
    return found


def small(image: QImage) -> bytes:
    """Return a picture as lossless WebP, which has a quarter of the size of a PNG."""
    made, rgb = io.BytesIO(), image.convertToFormat(QImage.Format.Format_RGB888)
    size, line = (rgb.width(), rgb.height()), rgb.bytesPerLine()
    picture = Image.frombytes("RGB", size, bytes(rgb.constBits()), "raw", "RGB", line)
    picture.save(made, "WEBP", lossless=True, quality=100, method=6)
    return made.getvalue()


def until(window: MainWindow, there: Callable[[], bool]) -> None:
    """Process events until a condition is true."""
    while not there():
        settle(window, 40)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
